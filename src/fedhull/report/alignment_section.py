"""How sites that were measured differently were brought together: a section that says of it what
whoever reads the page may know."""

from fedhull.report.class_content import (
    ClassCoordinatorPage,
    ClassPage,
    ClassSimulationPage,
    ClassSitePage,
    SiteAlignment,
)
from fedhull.report.content import Section, Table
from fedhull.report.page_file import AnyPage
from fedhull.report.words import number

OF_A_SITE = "How this site was aligned"
OF_ALL = "How well the sites fit together"
OF_EACH = "How the sites were aligned"
# In the words of docs/threat-model.md; a test compares them.
STAYS = "The isometry stays at the site; it shows only in later sums, which are of moved cells."
_SCATTER = (
    "How far cells lie from the centre of their class over all sites, root mean square, each time "
    "that centres were summed: the less, the better the sites fit together."
)
_NO_SINGLE_SITE = (
    "The coordinator knows this of all sites together, and nothing of single sites: neither by how "
    "much one of them was off nor whether it has moved its cells."
)


def alignment(page: AnyPage) -> Section | None:
    """What each page may say of it."""
    if not isinstance(page, ClassPage) or not page.alignments:
        return None
    if isinstance(page, ClassSitePage):
        return _at_a_site(page)
    if isinstance(page, ClassCoordinatorPage):
        return _at_the_coordinator(page)
    assert isinstance(page, ClassSimulationPage)
    return _in_a_simulation(page)


def _at_a_site(page: ClassSitePage) -> Section:
    found = page.alignment
    if found is None:
        return Section(
            title=OF_A_SITE,
            paragraphs=[
                "This site could not align itself to the centres that were published, and its "
                "cells stayed where they were measured. Nobody was told."
            ],
        )
    words = [
        f"{_times(page)} the centres of all classes over all sites were published, and this site "
        f"looked, on this machine, for the isometry that brings the centres of its own classes "
        f"onto them. {STAYS}",
        f"Its cells are {_move(found)}.",
        "The picture of the disc shows your points after that, in one frame with the model's "
        "regions. model.json holds the isometry: it is for cells of this site, and moves them "
        "before it predicts.",
    ]
    if not any(fit.before or fit.after for fit in found.rounds):
        words.append(
            "No other site has any of its classes, so there was nothing to align it to, and it "
            "stayed where it is."
        )
    return Section(title=OF_A_SITE, paragraphs=words, table=_rounds(found))


def _rounds(found: SiteAlignment) -> Table:
    return Table(
        columns=["round", "misfit as measured", "misfit after"],
        rows=[
            [f"{i}", f"{fit.before:.3f}", f"{fit.after:.3f}"]
            for i, fit in enumerate(found.rounds, start=1)
        ],
    )


def _at_the_coordinator(page: ClassCoordinatorPage) -> Section | None:
    if not page.scatter:
        return None  # learned again from a sum that was kept without the centres
    return Section(
        title=OF_ALL, paragraphs=[_SCATTER, _NO_SINGLE_SITE], table=_scatter(page.scatter)
    )


def _scatter(scatter: list[float]) -> Table:
    when = ["as measured", *(f"after round {i}" for i in range(1, len(scatter)))]
    rows = [[name, f"{value:.3f}"] for name, value in zip(when, scatter, strict=True)]
    return Table(columns=["sites", "scatter"], rows=rows)


def _in_a_simulation(page: ClassSimulationPage) -> Section | None:
    if not page.scatter:
        return None
    values = ", then ".join(f"{value:.3f}" for value in page.scatter)
    rows = [
        [
            found.site,
            *(f"{fit.before:.3f} → {fit.after:.3f}" for fit in found.rounds),
            *("–" for _ in range(page.alignments - len(found.rounds))),
            f"{found.moved:.3f}",
            f"{found.turned:.1f}°",
        ]
        for found in page.aligned
    ]
    columns = [f"misfit, round {i}" for i in range(1, page.alignments + 1)]
    return Section(
        title=OF_EACH,
        paragraphs=[
            f"{_SCATTER} In the first trial: {values}. That is all a coordinator knows.",
            "Site by site, which only a simulation can know: how far its class centres were from "
            "those of all sites, as measured and after each round, how far its isometry moves the "
            "middle of the disc, and by what angle it turns the disc.",
        ],
        table=Table(columns=["site", *columns, "moved by", "turned by"], rows=rows),
    )


def _times(page: ClassPage) -> str:
    return "Once" if page.alignments == 1 else f"{number(page.alignments).capitalize()} times"


def _move(found: SiteAlignment) -> str:
    way = "counterclockwise" if found.turned >= 0 else "clockwise"
    return (
        f"turned about the middle of the disc by {abs(found.turned):.1f}° {way}, and then moved: "
        f"the middle of the disc goes {found.moved:.3f} far"
    )
