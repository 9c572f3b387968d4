"""What the pages of studies of hulls and of moments say in the same words."""

from fedhull.report.class_content import (
    AnyClassPage,
    ClassCoordinatorPage,
    ClassSimulationPage,
    ClassSitePage,
)
from fedhull.report.words import Figure, count, dropouts, figure

# Rows of tables in docs/threat-model.md, in its words; a test compares them.
SETTINGS = "settings of the study"
VANISHED = "that a site vanished"
UPLOAD = "one site's upload, unmasked"
UPLOAD_OF_VANISHED = "the upload of a site that was given up as vanished"
ACCURACY_OF_ONE = "how well the model does at one site"
# Sentences of "What is not protected", in the same place.
COLLUSION = (
    "A server that colludes with {sites} or more of the sites can work out what another site "
    "has sent."
)
SESSIONS = "Several sessions over the same data. Each reveals a sum."
NOT_AUDITED = "fedhull has not been audited."


def kicker(page: AnyClassPage) -> str:
    """What kind of page this is."""
    if isinstance(page, ClassSitePage):
        return f"Study report for {page.name}"
    if isinstance(page, ClassCoordinatorPage):
        return "Study report for the coordinator"
    return "Report of a simulated study"


def accuracy_seen(page: AnyClassPage) -> list[str]:
    """What the server sees of how well the model does."""
    if isinstance(page, ClassSimulationPage) or not page.tested:
        return []
    return [f"how well the model does, as the sum of the counts over ≥ {page.threshold} sites"]


def collusion(page: AnyClassPage) -> str:
    """With how many sites the server could learn more."""
    sites = min(2 * page.threshold - len(page.sites), page.threshold - 1)
    return COLLUSION.format(sites="one" if sites == 1 else sites)


def sites_figure(page: AnyClassPage, name: str = "the sum") -> Figure:
    """How many sites stayed."""
    return figure(
        f"{page.n_in_sum} of {len(page.sites)}",
        f"sites in {name}",
        dropouts(page.n_gone, f"before {name}"),
    )


def accuracy_figure(page: AnyClassPage) -> Figure:
    """How well the model does, as far as whoever writes the page knows."""
    if isinstance(page, ClassSimulationPage):
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
        if isinstance(page, ClassSitePage)
        else f"held out by {page.evaluators} sites; only the sum is known"
    )
    return figure(
        f"{100 * page.correct / page.tested:.1f} %",
        "classified correctly",
        f"{page.correct:,} of {page.tested:,} points {where}",
    )
