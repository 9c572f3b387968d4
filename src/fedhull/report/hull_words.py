"""What a data-protection officer reads first on the page of a study of hulls, exactly as strong as
the threat model says it."""

from fedhull.report.content import AnyHullPage, CoordinatorPage, SimulationPage, SitePage
from fedhull.report.words import Figure, bytes_figure, count, dropouts, figure

# Rows of the table "Who learns what" in docs/threat-model.md, in its words; a test compares them.
SEEN = (
    "who takes part, when, message sizes",
    "settings of the study",
    "the bins of each hull, and which hulls are one site's",
    "how many cells stand behind each hull, and eight sums over them (their sketch)",
)
SUM = "the sum of the label vectors of one set of ≥ {threshold} sites, which the server chooses"
SEEN_IF_ONE_VANISHED = "that a site vanished"
HIDDEN = (
    "which site a hull belongs to",
    "which classes a named site holds",
    "one site's upload, unmasked",
    "points that are not corners of a hull",
    "how well the model does at one site",
)
HIDDEN_IF_ONE_VANISHED = "the upload of a site that was given up as vanished"
COLLUSION = (
    "A server that colludes with {sites} or more of the sites can work out what another site "
    "has sent."
)
COLLUSION_BY_ORDER = (
    "A server that colludes with a site learns whose hull is whose: with this label code every "
    "site knows the order that assigns labels to sites."
)
UNPROTECTED = (
    "The hulls themselves. Corners are extreme, often rare, cells, or means of them, each known to "
    "within a bin. This is not differential privacy.",
    "Several sessions over the same data. Each reveals a sum.",
    "fedhull has not been audited.",
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


def kicker(page: AnyHullPage) -> str:
    """What kind of page this is."""
    if isinstance(page, SitePage):
        return f"Study report for {page.name}"
    if isinstance(page, CoordinatorPage):
        return "Study report for the coordinator"
    return "Report of a simulated study"


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
    sites = [] if isinstance(page, SitePage) else [_sites(page)]
    return [*sites, _sent(page), _bins(page), *bytes_figure(page), _accuracy(page)]


def seen(page: AnyHullPage) -> list[str]:
    """What the server could see."""
    lines = list(SEEN)
    lines.insert(2, SUM.format(threshold=page.threshold))
    if page.n_gone:
        lines.append(SEEN_IF_ONE_VANISHED)
    if not isinstance(page, SimulationPage) and page.tested:
        lines.append(
            f"how well the model does, as the sum of the counts over ≥ {page.threshold} sites"
        )
    return lines


def hidden(page: AnyHullPage) -> list[str]:
    """What the server could not see, on its own."""
    return [*HIDDEN, HIDDEN_IF_ONE_VANISHED] if page.n_gone else list(HIDDEN)


def unprotected(page: AnyHullPage) -> list[str]:
    """What nobody should take to be protected."""
    cohort = [SMALL_COHORT] if page.n_in_sum == 2 else []
    own = [OWN_RESULT] if isinstance(page, SitePage) else []
    return [*own, _collusion(page), *cohort, *UNPROTECTED]


def _collusion(page: AnyHullPage) -> str:
    if not page.sums.places_drawn:
        return COLLUSION_BY_ORDER
    sites = min(2 * page.threshold - len(page.sites), page.threshold - 1)
    return COLLUSION.format(sites="one" if sites == 1 else sites)


def _sites(page: AnyHullPage) -> Figure:
    return figure(
        f"{page.n_in_sum} of {len(page.sites)}",
        "sites in the sum",
        dropouts(page.n_gone, "before the sum"),
    )


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


def _accuracy(page: AnyHullPage) -> Figure:
    if isinstance(page, SimulationPage):
        score = page.scores[0]
        interval = f" ± {score.ci95:.1f}" if score.trials > 1 else ""
        return figure(
            f"{score.mean:.1f} %{interval}",
            "of test points classified correctly",
            count(score.trials, "trial"),
        )
    if not page.tested or page.correct is None:
        return figure("not known", "accuracy", "a site did not answer, or no site held points out")
    where = (
        "that you held out"
        if isinstance(page, SitePage)
        else f"held out by {page.evaluators} sites; only the sum is known"
    )
    return figure(
        f"{100 * page.correct / page.tested:.1f} %",
        "classified correctly",
        f"{page.correct:,} of {page.tested:,} points {where}",
    )
