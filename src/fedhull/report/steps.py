"""The method, step by step, with a study's own numbers."""

from typing import Any

from fedhull.report.class_content import AnyClassPage, ClassSitePage
from fedhull.report.hull_content import AnyHullPage, CoordinatorPage, SitePage
from fedhull.report.words import size


def steps(page: AnyHullPage) -> list[dict[str, Any]]:
    """For each step: which picture, a title, a paragraph, the numbers that matter."""
    centres = [align_step(page, [])] if page.alignments else []
    return [
        *centres, _hull(page), _bins(page), _codes(page), _sums(page),
        _decoded(page), _grouped(page), _boundary(page),
    ]  # fmt: skip


def step(picture: str, title: str, words: str, *facts: tuple[str, str]) -> dict[str, Any]:
    """A step: its picture, its title, a paragraph, and the numbers that matter."""
    return {"picture": picture, "title": title, "words": words, "facts": facts}


def align_step(page: AnyClassPage, travelled: list[tuple[str, str]]) -> dict[str, Any]:
    """How sites that were measured differently are brought together before the last sum."""
    again = " Then all of this is done once more." if page.alignments > 1 else ""
    facts = []
    if isinstance(page, ClassSitePage) and page.alignment is not None:
        facts = [
            (f"{page.alignment.moved:.3f}", "is how far the middle of your disc was moved"),
            (f"{page.alignment.turned:.1f}°", "is by how much your disc was turned"),
        ]
    return step(
        "points",
        "Sites align themselves",
        f"Other kits and machines move and turn the disc. So sites add up, inside the masks, how "
        f"many cells each class has and their mean position. The totals over all sites, the "
        f"centres of the classes, are published to all sites. Each site looks, on its own machine, "
        f"for the isometry that brings its own centres onto them, and moves its cells by it. The "
        f"isometry stays at the site; it shows only in later sums, which are of moved cells."
        f"{again}",
        *travelled,
        *facts,
    )


def judged_words(page: AnyClassPage) -> str:
    """How the model was chosen, if sites were asked."""
    if page.verdict is None:
        return ""
    return (
        f" Before that, each site tried {page.verdict.candidates} candidates on cells that it had "
        f"held out; what all of them counted together, under masks, decided."
    )


def _is_set(page: AnyHullPage) -> bool:
    """Whether hulls travelled as a set of numbers, or else as a vector of label codes."""
    return page.sums.label_code == "pairs"


def _hull(page: AnyHullPage) -> dict[str, Any]:
    facts = []
    if isinstance(page, SitePage):
        facts = [
            (f"{page.points_held:,}", "of your points are in the study"),
            (f"{page.points_guarded:,}", "of them were left out by the guard"),
        ]
    elif not isinstance(page, CoordinatorPage):
        facts = [
            (f"{page.points_total:,}", "points held by the sites in the sum"),
            (f"{page.points_guarded:,}", "of them were left out by the guard"),
        ]
    return step(
        "hull",
        "A hull around each class",
        "Each site wraps the points of each of its classes in a convex hull. Its edges are "
        "geodesics, the straight lines of the disc. Before that, the guard leaves out points that "
        f"stand apart{_grouped_words(page)}. The points inside are no longer needed: they never "
        "leave the site.",
        *facts,
    )


def _grouped_words(page: AnyHullPage) -> str:
    if "group" not in page.parameters.get("guard", ""):
        return ""
    return ", and puts the others into groups of cells, whose means stand for them from here on"


def _bins(page: AnyHullPage) -> dict[str, Any]:
    return step(
        "bins",
        "Corners become bins",
        f"The disc is cut into numbered bins; two points in one bin are at most "
        f"{page.space.epsilon:g} apart. Only the number of each corner's bin is kept, and from "
        f"here on the site works with the hull of the bins' centres.",
        (f"{page.space.quantizer.n_bins:,}", "bins"),
        (f"{page.points_sent:,}", "corners of "
         + ("your hulls" if isinstance(page, SitePage) else "all hulls")),
    )  # fmt: skip


def _codes(page: AnyHullPage) -> dict[str, Any]:
    sums = page.sums
    then = (
        "Each corner becomes one number, which names its bin and the label of its hull. To the "
        "protocol a site is the set of these numbers."
        if _is_set(page)
        else "A label has a code, a number chosen so that sums of codes can be taken apart again. "
        "A site writes the code of a hull's label into each of the hull's bins."
    )
    return step(
        "codes",
        "Each hull gets a secret label",
        f"{_places(page)} {then}",
        (f"{sums.labels:,}", "labels for all sites"),
        (sums.label_code, "label code"),
    )


def _places(page: AnyHullPage) -> str:
    if page.sums.places_drawn:
        return (
            "Each site draws a place at random, out of so many that no two draw the same, and "
            "takes its labels. Nobody else knows which place is whose, not even another site."
        )
    return (
        "The sites agree on a random order among themselves, hidden from the server, and each "
        "takes the labels of its place in that order."
    )


def _sums(page: AnyHullPage) -> dict[str, Any]:
    facts = [(f"{page.sums.n_sums:,}", f"power sums of {page.sums.field_bits} bits from each site")]
    if page.bytes_up is not None:
        whose = "sent by you" if isinstance(page, SitePage) else "the most any site sent"
        facts.append((size(page.bytes_up), f"{whose}, in all steps together"))
    first = (
        "A site does not send its numbers but their power sums: their sum, the sum of their "
        "squares, of their cubes, and so on, each modulo a prime."
        if _is_set(page)
        else "Nearly all bins are empty, so a site sends a few power sums of its vector instead of "
        "the vector."
    )
    return step(
        "sums",
        "Masked sums travel, once",
        f"{first} To each it adds masks that look random and cancel only in the sum over all "
        f"sites. Shares of the masks' keys let the others finish if a site vanishes.",
        *facts,
    )


def _decoded(page: AnyHullPage) -> dict[str, Any]:
    if isinstance(page, SitePage):
        facts = [(f"{len(page.hulls):,}", "of the hulls are yours")]
    else:
        facts = [
            (f"{len({b for hull in page.hulls for b in hull.bins}):,}", "bins that are not empty"),
            (f"{len(page.hulls):,}", "hulls, known by their labels"),
        ]
    found = (
        "As many power sums as there are numbers determine them all; each names a bin and a label, "
        "and bins with the same label are one hull."
        if _is_set(page)
        else "From the sum it finds the bins that are not empty, and from the number in each the "
        "labels there. Bins with the same label are one hull."
    )
    return step(
        "decoded",
        "The server takes the sum apart",
        f"The server adds what it received. {found} This is exact: the server gets what the "
        f"sites put in, but not which site put in what.",
        *facts,
    )


def _grouped(page: AnyHullPage) -> dict[str, Any]:
    return step(
        "grouped",
        "Hulls find their classes",
        "One site's “class 1” may be another's “class 2”. Hulls that overlap belong "
        "together, and the hulls of one place are all of different classes. So the "
        "server can assign each to a class, without knowing any class's name.",
        (f"{len(page.classes):,}", "classes"),
        (page.parameters.get("grouping", ""), "grouping"),
    )


def _boundary(page: AnyHullPage) -> dict[str, Any]:
    return step(
        "boundary",
        "A classifier for everybody",
        "The corners, each with its class, train the classifier. The server publishes it together "
        "with an entry for each place, which only its owner can open: the class of each of its "
        "labels. So each site names the classes in its own words, and nobody else learns them."
        + judged_words(page),
        (page.parameters.get("method", ""), "method"),
    )
