"""What the pages of studies of hulls and of moments say in the same words."""

from fedhull.report.class_content import (
    AnyClassPage,
    ClassCoordinatorPage,
    ClassSimulationPage,
    ClassSitePage,
)
from fedhull.report.words import Figure, colluding, count, dropouts, figure, sessions

# Rows of tables in docs/threat-model.md, in its words; a test compares them.
SETTINGS = "settings of the study"
VANISHED = "that a site vanished"
UPLOAD = "one site's upload, unmasked"
UPLOAD_OF_VANISHED = "the upload of a site that was given up as vanished"
ACCURACY_OF_ONE = "how well the model does at one site"
# Rows under "Where sites are aligned", in the same place.
CENTRES = (
    "of one set of ≥ {threshold} sites, which the server chooses, each time they align themselves: "
    "for every class the number of its cells and their mean position (its centre)"
)
PLACES = (
    "of every class of every site in one set of ≥ {threshold}, which the server chooses, where "
    "names are not agreed: the number of its cells, their middle and how they spread around it "
    "(their place, five numbers), of eight cells or more also eight sums over them (their sketch), "
    "and which of these classes are one site's"
)
HIDDEN_ISOMETRY = "by which isometry a site moves its cells, and how well it fits"
HIDDEN_CENTRES = "the centre of one site's cells of a class that other sites have as well"
# Sentences in the same place.
CENTRES_TELL = (
    "Centres. The centres of all classes that two or more sites have are published to all sites. "
    "A site can subtract its own part from any."
)
OF_PLACES = (
    "From the five numbers that leave for a class of three to seven cells, and the thirteen for "
    "one of eight or more, its cells cannot be calculated; the numbers show where the middle of "
    "these cells is and how far they spread, and more to somebody who knows most of these cells "
    "already."
)
BALLOT = (
    "of the held-out cells of one set of ≥ {threshold} sites, for each of up to 16 candidates that "
    "the server proposes: how many of each class are taken for which, how sure the candidate is, "
    "and how far they are from all classes"
)
HIDDEN_BALLOT = "how a candidate does at one site, and whether a site abstains"
# Sentences of "What is not protected", in the same place.
COLLUSION = (
    "A server that colludes with {sites} or more of the sites can work out what another site "
    "has sent."
)
BALLOT_ASKS = (
    "The ballot. Candidates are the server's: for each, it learns how many held-out cells of each "
    "class, over all sites that it asks, lie in each of the candidate's regions. A server that "
    "proposes regions instead of models learns where held-out cells lie, and can ask about a "
    "single one."
)
NOT_AUDITED = "fedhull has not been audited."


def kicker(page: AnyClassPage) -> str:
    """What kind of page this is."""
    if isinstance(page, ClassSitePage):
        return f"Study report for {page.name}"
    if isinstance(page, ClassCoordinatorPage):
        return "Study report for the coordinator"
    return "Report of a simulated study"


def centres_seen(page: AnyClassPage) -> list[str]:
    """What the server sees of classes to whose centres sites align themselves."""
    rows = ([PLACES] if page.placed else []) + ([CENTRES] if page.alignments else [])
    return [row.format(threshold=page.threshold) for row in rows]


def centres_hidden(page: AnyClassPage) -> list[str]:
    """What it does not see of that."""
    return [HIDDEN_CENTRES, HIDDEN_ISOMETRY] if page.alignments else []


def centres_unprotected(page: AnyClassPage) -> list[str]:
    """What nobody should take to be protected where sites align themselves."""
    return [CENTRES_TELL] if page.alignments else []


def ballot_hidden(page: AnyClassPage) -> list[str]:
    """What the server does not see of a ballot."""
    return [HIDDEN_BALLOT] if page.verdict is not None else []


def ballot_unprotected(page: AnyClassPage) -> list[str]:
    """What nobody should take to be protected where sites have judged candidates."""
    return [BALLOT_ASKS] if page.verdict is not None else []


def accuracy_seen(page: AnyClassPage) -> list[str]:
    """What the server sees of how well the model does."""
    if page.verdict is not None:
        return [BALLOT.format(threshold=page.threshold)]
    if isinstance(page, ClassSimulationPage) or not page.tested:
        return []
    return [f"how well the model does, as the sum of the counts over ≥ {page.threshold} sites"]


def sessions_unprotected(page: AnyClassPage) -> str:
    """What several sessions over the same data reveal."""
    return sessions(page.earlier_sessions if isinstance(page, ClassSitePage) else 0)


def collusion(page: AnyClassPage) -> str:
    """With how many sites the server could learn more."""
    return COLLUSION.format(sites=colluding(page))


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
