"""What all sites' held-out cells say of the model, class by class; or why they do not."""

from fedhull.report.class_content import ClassPage, ClassSitePage, Verdict
from fedhull.report.content import Section, Table
from fedhull.report.moment_content import MomentPage
from fedhull.report.page_file import AnyPage
from fedhull.report.words import count

TITLE = "Judged by all sites' held-out cells"
NOT_JUDGED = "Not judged by held-out cells"
_DEFAULT = "the study's default, which no other candidate was clearly better than"


def ballot(page: AnyPage) -> Section | None:
    """Which candidate was chosen, how well it does, and how sure it may be taken to be."""
    if not isinstance(page, ClassPage):
        return None
    if page.verdict is None:
        words = f"The model is the study's default, and not calibrated: {page.unjudged}."
        return Section(title=NOT_JUDGED, paragraphs=[words])
    verdict = page.verdict
    return Section(
        title=TITLE,
        paragraphs=[
            _chosen(verdict, isinstance(page, MomentPage) and page.moments.promise is not None),
            _sure(verdict),
            _far(verdict),
            *_unnamed(verdict),
            *_whose(page),
        ],
        table=Table(
            columns=["class", "held-out cells", "found (recall)", "right (precision)"],
            rows=[
                [row.name, f"{row.cells:,}", _percent(row.recall), _percent(row.precision)]
                for row in verdict.classes
            ],
        ),
    )


def _chosen(verdict: Verdict, noisy: bool) -> str:
    chosen = _DEFAULT if verdict.is_default else verdict.candidate
    return (
        f"Before the model was published, the sites tried "
        f"{count(verdict.candidates, 'candidate')} on {verdict.cells:,} cells that nothing was "
        f"trained on. Chosen: {chosen}. It is right on {verdict.accuracy:.1f} % of these cells"
        f"{_give_or_take(verdict.tolerance, noisy)}."
    )


def _give_or_take(cells: int, noisy: bool) -> str:
    if not cells:
        return ""
    if noisy:
        return f", give or take {cells:,} cells: there is noise in what they count"
    return (
        f", give or take {cells:,} cells: for candidates that differ on very few cells of a site, "
        f"the site gives the same numbers"
    )


def _sure(verdict: Verdict) -> str:
    t = verdict.temperature
    corrected = (
        "Its probabilities needed no correction"
        if t == 1.0
        else f"Its probabilities were made {'more cautious' if t > 1.0 else 'surer'} (temperature "
        f"{t:.2g})"
    )
    off = 100.0 * verdict.calibration_error
    return f"{corrected}; on these cells they are off by {off:.1f} points on average."


def _far(verdict: Verdict) -> str:
    return (
        f"A cell that is farther from the centre of every class than {verdict.reach:.2g} times "
        f"the spread of that class is best left unassigned; at most 1 % of these cells are."
    )


def _unnamed(verdict: Verdict) -> list[str]:
    if not verdict.unnamed:
        return []
    return [
        f"{verdict.unnamed:,} of the cells are of classes of which their site holds out too few to "
        f"say which they are; they are missing from the table."
    ]


def _whose(page: ClassPage) -> list[str]:
    if isinstance(page, ClassSitePage):
        return ["These are counts over all sites together; no site's own are known to another."]
    return []


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} %"
