"""What a data-protection officer reads first on the page of a study of hulls, exactly as strong as
the threat model says it."""

from typing import Any

from fedhull.report import class_words
from fedhull.report.hull_content import AnyHullPage, CoordinatorPage, SimulationPage, SitePage
from fedhull.report.words import Figure, bytes_figure, figure

# Rows of the table "Who learns what" in docs/threat-model.md, in its words; a test compares them.
SEEN = (
    "who takes part, when, message sizes",
    class_words.SETTINGS,
    "the bins of each hull, and which hulls are one site's",
    "how many cells stand behind each hull, and eight sums over them (their sketch)",
)
SUM = "the sum of the label vectors of one set of ≥ {threshold} sites, which the server chooses"
SEEN_IF_ONE_VANISHED = class_words.VANISHED
HIDDEN = (
    "which site a hull belongs to",
    "which classes a named site holds",
    class_words.UPLOAD,
    "points that are not corners of a hull",
    class_words.ACCURACY_OF_ONE,
)
HIDDEN_IF_ONE_VANISHED = class_words.UPLOAD_OF_VANISHED
COLLUSION_BY_ORDER = (
    "A server that colludes with a site learns whose hull is whose: with this label code every "
    "site knows the order that assigns labels to sites."
)
THE_HULLS = (
    "The hulls themselves. Corners are extreme, often rare, cells, or means of them, each known to "
    "within a bin. This is not differential privacy."
)
OWN_RESULT = (
    "This page and result.json say which hulls are this site's. Showing them to the coordinator "
    "reveals this."
)
SMALL_COHORT = (
    "Small cohorts. With two sites in the sum, each can subtract its own hulls from what is "
    "published."
)

# The share of points above which the page says why it is so large.
_MUCH = 0.5


kicker = class_words.kicker


def lead(page: AnyHullPage) -> str:
    """The study in two sentences."""
    if isinstance(page, SitePage):
        return (
            f"{page.name} took part in a study of {len(page.sites)} sites. "
            f"{page.points_sent:,} of its {page.points_held:,} points left, each rounded to a bin "
            f"of width {page.space.epsilon:g} and masked, without names or labels."
        )
    simulated = isinstance(page, SimulationPage)
    where = " Everything ran on one machine, through the whole protocol." if simulated else ""
    return (
        f"One classifier was trained on hulls from {page.n_in_sum} of {len(page.sites)} sites."
        f"{where} The server saw the sum over these sites: {len(page.hulls)} hulls with "
        f"{page.points_sent:,} corners in all, each known to within a bin of width "
        f"{page.space.epsilon:g}."
    )


def figures(page: AnyHullPage) -> list[Figure]:
    """The numbers at the top: value, what it is, a note."""
    sites = [] if isinstance(page, SitePage) else [class_words.sites_figure(page)]
    accuracy = class_words.accuracy_figure(page)
    return [*sites, _sent(page), _bins(page), *bytes_figure(page), accuracy]


def seen(page: AnyHullPage) -> list[str]:
    """What the server could see."""
    lines = list(SEEN)
    lines[2:2] = [SUM.format(threshold=page.threshold), *class_words.centres_seen(page)]
    if page.n_gone:
        lines.append(SEEN_IF_ONE_VANISHED)
    return lines + class_words.accuracy_seen(page)


def hidden(page: AnyHullPage) -> list[str]:
    """What the server could not see, on its own."""
    vanished = [HIDDEN_IF_ONE_VANISHED] if page.n_gone else []
    ballot = class_words.ballot_hidden(page)
    return [*HIDDEN, *class_words.centres_hidden(page), *ballot, *vanished]


def unprotected(page: AnyHullPage) -> list[str]:
    """What nobody should take to be protected."""
    cohort = [SMALL_COHORT] if page.n_in_sum == 2 else []
    own = [OWN_RESULT] if isinstance(page, SitePage) else []
    collusion = class_words.collusion(page) if page.sums.places_drawn else COLLUSION_BY_ORDER
    places = [class_words.OF_PLACES] if page.placed else []
    centres = class_words.centres_unprotected(page)
    ballot = class_words.ballot_unprotected(page)
    always = [THE_HULLS, class_words.sessions_unprotected(page), class_words.NOT_AUDITED]
    return [*own, collusion, *cohort, *centres, *places, *ballot, *always]


def held(page: AnyHullPage) -> dict[str, Any] | None:
    """What each site sent of what it holds, where whoever writes the page knows."""
    if not isinstance(page, SimulationPage):
        return None
    return {
        "title": "points sent, of those held",
        "of_sites": [
            f"{'none' if site.points_sent is None else f'{site.points_sent:,}'} of "
            f"{site.points_held or 0:,}"
            for site in page.sites
        ],
    }


def _sent(page: AnyHullPage) -> Figure:
    if isinstance(page, CoordinatorPage):
        return figure(
            f"{page.points_sent:,}",
            "points received, as bins",
            "the coordinator does not know how many points the sites hold",
        )
    total = page.points_held if isinstance(page, SitePage) else page.points_total
    whose = "of your points left, as bins" if isinstance(page, SitePage) else "points left, as bins"
    share = page.points_sent / total
    notes = [f"the guard left out {page.points_guarded:,}"] if page.points_guarded else []
    if share > _MUCH:
        notes.append("where a class has few points, most are corners")
    return figure(f"{page.points_sent:,} of {total:,}", f"{whose} ({share:.1%})", "; ".join(notes))


def _bins(page: AnyHullPage) -> Figure:
    note = f"{page.space.quantizer.n_bins:,} bins within radius {page.space.radius:.6g}"
    return figure(f"ε = {page.space.epsilon:g}", "width of a bin", note)


def wider(page: AnyHullPage) -> str:
    """Where bins that are wider than the study's do as well on test points, or better, and reveal
    less, the best of them; nothing where there are none, or nobody knows."""
    if not isinstance(page, SimulationPage):
        return ""
    own = next((row for row in page.tradeoff if row.epsilon == page.space.epsilon), None)
    if own is None:
        return ""
    better = [
        row
        for row in page.tradeoff
        if row.epsilon > own.epsilon
        and row.accuracy >= own.accuracy
        and row.points_sent <= own.points_sent
    ]
    if not better:
        return ""
    best = max(better, key=lambda row: (row.accuracy, row.epsilon))
    how = "better" if best.accuracy > own.accuracy else "as well"
    judged = "" if page.verdict is None else ", and at other widths no ballot was held"
    return (
        f"Wider bins of ε = {best.epsilon:g} do {how} here and reveal less: {best.accuracy:.1f} % "
        f"instead of {own.accuracy:.1f} %, with {best.points_sent:,} instead of "
        f"{own.points_sent:,} corners, each to within a wider bin. This is one trial{judged}: "
        f"try several with that width before a study."
    )
