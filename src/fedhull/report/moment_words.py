"""What a data-protection officer reads first on the page of a study of moments, exactly as strong
as the threat model says it."""

from typing import Any

from fedhull.learn.places import LENGTH as PLACE_LENGTH
from fedhull.learn.sketch import LENGTH as SKETCH_LENGTH
from fedhull.report import class_words
from fedhull.report.moment_content import (
    AnyMomentPage,
    MomentCoordinatorPage,
    MomentSimulationPage,
    MomentSitePage,
)
from fedhull.report.words import Figure, bytes_figure, count, figure, number

# Rows of the table under "Studies of moments" in docs/threat-model.md; a test compares them.
SEEN = (
    "who takes part in which sum, when, message sizes",
    class_words.SETTINGS,
)
SLOTS = (
    "of every class of every site in one set of ≥ {threshold}, which the server chooses: the "
    "number of its cells and eight sums over them (their sketch), and which of these classes are "
    "one site's"
)
TOTALS = (
    "of all cells of one set of ≥ {threshold} sites, which the server chooses: the total of every "
    "product of two features, and for every class the number of its cells and the total of every "
    "feature"
)
COUNTS = "how many cells each class has, over all sites together"
# With noise in them, in the same place under "Studies with differential privacy".
SLOTS_IN_NOISE = (
    "of every class of every site in one set of ≥ {threshold}, which the server chooses, with "
    "noise: the number of its cells and eight sums over them (their sketch), and which of these "
    "classes are one site's; some of them are noise alone"
)
TOTALS_IN_NOISE = (
    "of all cells of one set of ≥ {threshold} sites, which the server chooses, with noise: the "
    "total of every product of two features, and for every class the number of its cells and the "
    "total of every feature"
)
SEEN_IF_ONE_LEFT = "of a site that drops out on the way: how many cells of each class it holds"
SEEN_IF_ONE_VANISHED = class_words.VANISHED
HIDDEN = (
    class_words.UPLOAD,
    "products of features, summed over the cells of one site",
    "features, summed over one site's cells of a class that other sites have as well",
)
HIDDEN_OF_SLOTS = "whose a count and a sketch are, unless that site drops out on the way"
HIDDEN_OF_PLACES = "whose a count and a place are, unless that site drops out on the way"
HIDDEN_CLASSES = "which classes a named site holds, unless it drops out on the way"
HIDDEN_ACCURACY = class_words.ACCURACY_OF_ONE
HIDDEN_IF_ONE_VANISHED = class_words.UPLOAD_OF_VANISHED
# Sentences of "What is not protected", in the same place.
TOTALS_THEMSELVES = (
    "The totals themselves. They say how the cells of each class lie in the disc, over all sites "
    "together. This is not differential privacy."
)
ONE_SITE = (
    "Classes of one site. The totals of a class that only one site has are that site's alone."
)
DROPOUTS = (
    "Dropouts on the way. The server knows how many cells of each class all sites hold together. "
    "If one of them is not in the totals, the difference is how many cells of each class it holds, "
    "exactly, and fewer cells stand behind as many numbers. The server can bring this about by "
    "ignoring a site."
)
DROPOUTS_OF_SKETCHES = (
    "Where no other site has the same counts, this also tells which sketches are its own."
)
DROPOUTS_OF_PLACES = (
    "Where no other site has the same counts, this also tells which places are its own."
)
AGREED = (
    "Rare classes. Where names are agreed, all learn how many cells every class has, also one with "
    "fewer than the minimum, of which nothing else leaves."
)
# What stands at the head of "Sketches and totals: what can be solved for", in the same place.
OF_SKETCHES = (
    "From the eight numbers that leave for a class of five or more cells, its cells cannot be "
    "calculated; the numbers show roughly where the cells lie, and more to somebody who knows most "
    "of these cells already or has a short list of candidates."
)
OF_TOTALS = (
    "Totals over all sites always hold fewer numbers than the cells behind them have coordinates; "
    "somebody who knew beforehand roughly where each cell lies could still place a few of them, up "
    "to one in ten, precisely."
)
# Under "Where sites are aligned", in the same place.
CENTRES_ADD = (
    "Centres come on top of the totals of moments, and the rule by which these hold fewer numbers "
    "than the cells have coordinates does not count them: three more numbers of every class, each "
    "time"
)
FEW_IN_A_SKETCH = (
    "Small sketches. Sketches of four cells or fewer left, whose eight numbers are as many as the "
    "cells have coordinates."
)
FEW_IN_A_PLACE = (
    "Small places. Places of two cells or fewer left, whose five numbers are as many as the cells "
    "have coordinates."
)
LYING_IN_NOISE = (
    "False numbers. With noise in the totals the server cannot tell whether cells can have them: a "
    "site that lies about its own data can spoil the model unnoticed."
)
SMALL_COHORT = (
    "Small cohorts. With two sites in a sum, the server and one of them together have the other's "
    "part."
)
OWN_RESULT = (
    "This page and result.json say which classes this site holds, and how many cells of each. "
    "Showing them to the coordinator reveals this."
)

kicker = class_words.kicker


def lead(page: AnyMomentPage) -> str:
    """The study in two or three sentences."""
    n_sums = page.alignments + (1 if page.agreed else 2)
    sums = f"{number(n_sums)} masked {'sum' if n_sums == 1 else 'sums'}"
    of_each = "where its cells lie" if page.placed else "a sketch"
    if isinstance(page, MomentSitePage):
        return (
            f"{page.name} took part in a study of {len(page.sites)} sites.{no_position(page)} "
            f"What left were {sums} over its cells, without names: the server reads totals over "
            f"all sites{'' if page.agreed else f', and of each class a count and {of_each}'}."
        )
    where = (
        " Everything ran on one machine, through the whole protocol."
        if isinstance(page, MomentSimulationPage)
        else ""
    )
    return (
        f"One classifier was fitted to totals over the cells of {page.n_in_sum} of "
        f"{len(page.sites)} sites.{where}{no_position(page)} Each site sent {sums} over its cells."
    )


def no_position(page: AnyMomentPage) -> str:
    """That no cell's position left. Totals always hold fewer numbers than their cells have
    coordinates; sketches do if they are of five cells or more, places of three or more."""
    return " No cell's position left." if _slots_are_safe(page) else ""


def _slots_are_safe(page: AnyMomentPage) -> bool:
    if page.moments.promise is not None:
        return True
    fewest, numbers = page.moments.fewest, PLACE_LENGTH if page.placed else SKETCH_LENGTH
    return page.agreed or (fewest is not None and 2 * fewest > numbers)


def figures(page: AnyMomentPage) -> list[Figure]:
    """The numbers at the top: value, what it is, a note."""
    last = "the sum" if page.agreed and not page.alignments else "the last sum"
    sites = [] if isinstance(page, MomentSitePage) else [class_words.sites_figure(page, last)]
    accuracy = class_words.accuracy_figure(page)
    return [*sites, _cells(page), _numbers(page), *bytes_figure(page), accuracy]


def seen(page: AnyMomentPage) -> list[str]:
    """What the server could see."""
    if page.moments.promise is not None:
        lines = [] if page.agreed else [SLOTS_IN_NOISE]
        read = [line.format(threshold=page.threshold) for line in (*lines, TOTALS_IN_NOISE)]
        gone = [SEEN_IF_ONE_VANISHED] if page.n_gone else []
        return [*SEEN, *read, *gone, *class_words.accuracy_seen(page)]
    slots = [] if page.agreed or page.placed else [SLOTS.format(threshold=page.threshold)]
    totals = TOTALS.format(threshold=page.threshold)
    lines = [*SEEN, *slots, *class_words.centres_seen(page), totals, COUNTS]
    if page.n_gone:
        lines += [SEEN_IF_ONE_LEFT, SEEN_IF_ONE_VANISHED]
    return lines + class_words.accuracy_seen(page)


def hidden(page: AnyMomentPage) -> list[str]:
    """What the server could not see, on its own."""
    slots = [] if page.agreed else [HIDDEN_OF_PLACES if page.placed else HIDDEN_OF_SLOTS]
    vanished = [HIDDEN_IF_ONE_VANISHED] if page.n_gone else []
    centres = class_words.centres_hidden(page)
    accuracy = [HIDDEN_ACCURACY, *class_words.ballot_hidden(page)]
    return [*HIDDEN, *slots, *centres, HIDDEN_CLASSES, *accuracy, *vanished]


def unprotected(page: AnyMomentPage) -> list[str]:
    """What nobody should take to be protected."""
    own = [OWN_RESULT] if isinstance(page, MomentSitePage) else []
    if page.moments.promise is not None:
        always = [class_words.sessions_unprotected(page), class_words.NOT_AUDITED]
        promised = page.moments.promise.words
        return [*own, *promised, LYING_IN_NOISE, class_words.collusion(page), *always]
    solved = [OF_TOTALS] if page.agreed else [_of_slots(page), OF_TOTALS]
    of_slots = DROPOUTS_OF_PLACES if page.placed else DROPOUTS_OF_SKETCHES
    names = [DROPOUTS, AGREED] if page.agreed else [f"{DROPOUTS} {of_slots}"]
    counted = [f"{CENTRES_ADD}."] if page.alignments else []
    centres = [*counted, *class_words.centres_unprotected(page)]
    cohort = [SMALL_COHORT] if page.n_in_sum == 2 else []
    always = [class_words.sessions_unprotected(page), class_words.NOT_AUDITED]
    collusion = class_words.collusion(page)
    ballot = class_words.ballot_unprotected(page)
    told = [TOTALS_THEMSELVES, *solved, ONE_SITE, *centres, *ballot]
    return [*own, *told, *names, collusion, *cohort, *always]


def _of_slots(page: AnyMomentPage) -> str:
    """What can be solved for from what is said of each class of each site."""
    if page.placed:
        return class_words.OF_PLACES if _slots_are_safe(page) else FEW_IN_A_PLACE
    return OF_SKETCHES if _slots_are_safe(page) else FEW_IN_A_SKETCH


def held(page: AnyMomentPage) -> dict[str, Any] | None:
    """How many of each site's cells were summed, where whoever writes the page knows."""
    if not isinstance(page, MomentSimulationPage):
        return None
    return {
        "title": "cells summed",
        "of_sites": [
            f"{'none' if site.cells_summed is None else f'{site.cells_summed:,}'} of "
            f"{site.points_held or 0:,}"
            for site in page.sites
        ],
    }


def _cells(page: AnyMomentPage) -> Figure:
    if isinstance(page, MomentSitePage):
        summed = sum(row.smallest for row in page.by_class if not row.withheld)
        return figure(
            f"{summed:,} of {page.points_held:,}",
            "of your cells were summed",
            "no cell left by itself",
        )
    cells = page.moments.cells or []
    note = f"in {count(len(cells), 'class', 'classes')}"
    if isinstance(page, MomentCoordinatorPage):
        return figure(f"{sum(cells):,}", "cells in the totals", note)
    return figure(f"{sum(cells):,} of {page.points_total:,}", "cells in the totals", note)


def _numbers(page: AnyMomentPage) -> Figure:
    """How much travelled."""
    facts = page.moments
    centres = [facts.centres] * page.alignments
    travelled = [each.numbers for each in (facts.match, *centres, facts.learn) if each is not None]
    known = [f"{numbers:,}" for numbers in travelled if numbers is not None]
    words = ", ".join(known[:-1]) + " and " * (len(known) > 1) + "".join(known[-1:])
    note = f"{words} masked numbers from each site" if known else ""
    return figure(f"{facts.features:,}", "features of each cell", note)
