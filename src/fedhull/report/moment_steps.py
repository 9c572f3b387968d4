"""The method of moments, step by step, with a study's own numbers."""

from typing import Any

from fedhull.report.moment_content import AnyMomentPage, MaskedSum, MomentSitePage
from fedhull.report.steps import align_step, judged_words, step
from fedhull.report.words import count, size


def moment_steps(page: AnyMomentPage) -> list[dict[str, Any]]:
    """For each step: which picture, a title, a paragraph, the numbers that matter."""
    told = [_places(page) if page.placed else _sketches(page), _matched(page), _told(page)]
    centres = [_centres(page)] if page.alignments else []
    first = [_agreed(page)] if page.agreed else told
    return [*first, *centres, _moments(page), _totals(page), _classifier(page)]


def _agreed(page: AnyMomentPage) -> dict[str, Any]:
    return step(
        "matched",
        "Names are agreed",
        "The sites have agreed on the names of the classes, and each has mapped its own onto them. "
        "So nobody has to find out whose class is whose.",
        (f"{len(page.classes):,}", "classes"),
    )


def _sketches(page: AnyMomentPage) -> dict[str, Any]:
    return step(
        "cross",
        "A sketch of each class",
        "Seen from a point on the rim, every cell lies on a horocycle, a circle that touches the "
        "rim there. For four such points a site adds up, over the cells of a class, the cosine and "
        "the sine of the horocycle's distance from the middle. These eight sums and the number of "
        "cells are all that leaves at first, masked, without names. "
        + (
            "Smaller classes than the study allows are withheld."
            if page.moments.promise is None
            else "Noise, which the site adds before, hides every single cell, and also which of "
            "the classes are empty."
        ),
        *_travelled(page.moments.match),
        *_fewest(page),
    )


def _fewest(page: AnyMomentPage) -> list[tuple[str, str]]:
    least = page.parameters.get("fewest cells of a class")
    return [] if least is None else [(least, "cells, at least, in each sketch")]


def _places(page: AnyMomentPage) -> dict[str, Any]:
    return step(
        "points",
        "Where each class lies",
        "A site finds the middle of the cells of each class, and how far and in which direction "
        "they spread: five numbers, to which a class of eight cells or more adds a sketch of "
        "eight. These and the number of cells are all that leaves at first, masked, without names. "
        "Places can be moved, so that classes can be matched although sites "
        "were measured differently. Smaller classes than the study allows are withheld.",
        *_travelled(page.moments.match),
        (page.parameters.get("fewest cells of a class", ""), "cells, at least, in each place"),
    )


def _centres(page: AnyMomentPage) -> dict[str, Any]:
    return align_step(page, _travelled(page.moments.centres))


def _matched(page: AnyMomentPage) -> dict[str, Any]:
    return step(
        "matched",
        "The server finds out which is which",
        "One site's “class 1” may be another's “class 2”. From the sum the server reads every "
        f"class's count and {'place' if page.placed else 'sketch'}, and which of them are one "
        f"site's, but not whose. Classes {_alike(page)} belong together, and those of one site are "
        f"all different. So the server numbers the classes, without knowing any class's name.",
        (f"{len(page.classes):,}", "classes"),
        (page.parameters.get("grouping", ""), "grouping"),
    )


def _alike(page: AnyMomentPage) -> str:
    if page.placed:
        return "that lie in the same place, once every site is moved as a whole,"
    return "with similar sketches"


def _told(page: AnyMomentPage) -> dict[str, Any]:
    return step(
        "sealed",
        "Each site is told, sealed",
        "The server publishes an entry for each unnamed site, which only its owner can open: the "
        "number of each of its classes, how many sites have that class, and how certain the match "
        "is. From here on all speak of the same classes.",
    )


def _moments(page: AnyMomentPage) -> dict[str, Any]:
    facts = []
    if isinstance(page, MomentSitePage):
        summed = sum(row.smallest for row in page.by_class if not row.withheld)
        facts = [(f"{summed:,}", "of your cells are in the sums")]
    return step(
        "waves",
        "Moments, added up inside the masks",
        f"A site makes each cell{', moved by its isometry,' if page.alignments else ''} into "
        f"{page.moments.features:,} features, waves over horocycles of as many points of the rim. "
        f"It adds up the products of any two of them over all its cells, and the features "
        f"themselves class by class. To each sum it adds {_noise(page)}masks that look random and "
        f"cancel only in the total over all sites.",
        (f"{page.moments.features:,}", "features"),
        *facts,
    )


def _noise(page: AnyMomentPage) -> str:
    return "" if page.moments.promise is None else "its share of the noise, which stays, and "


def _totals(page: AnyMomentPage) -> dict[str, Any]:
    facts = list(_travelled(page.moments.learn))
    if page.moments.cells is not None:
        facts.append((f"{sum(page.moments.cells):,}", "cells in the totals"))
    if page.bytes_up is not None:
        whose = "sent by you" if isinstance(page, MomentSitePage) else "the most any site sent"
        facts.append((size(page.bytes_up), f"{whose}, in all steps together"))
    return step(
        "sums",
        "The server opens totals",
        "The server adds what it received, the masks cancel, and what it reads are totals over all "
        f"sites{'' if page.moments.promise is None else ', noise included'}. They are exact, and "
        "no site's own part can be told from them, except for classes that only one site has. "
        "Shares of the masks' keys let the others finish if a site vanishes.",
        *facts,
    )


def _classifier(page: AnyMomentPage) -> dict[str, Any]:
    return step(
        "boundary",
        "A classifier for everybody",
        f"The totals are all that a ridge regression has to know of the cells. So the classifier "
        f"is {'' if page.moments.promise is None else 'nearly '}the one that all cells together "
        f"would have given, if the classes were matched rightly. "
        "Each site names its classes in its own words." + judged_words(page),
        (count(len(page.classes), "class", "classes"), "in the model"),
    )


def _travelled(sent: MaskedSum | None) -> list[tuple[str, str]]:
    if sent is None or sent.numbers is None:
        return []
    return [(f"{sent.numbers:,}", f"numbers of {sent.bits} bits from each site")]
