"""What a page says in words, and the numbers its script computes with, for each kind of page."""

from functools import singledispatch
from typing import Any

import msgspec

from fedhull.report import hull_words, moment_words, neighbour_words
from fedhull.report.class_content import ClassPage, ClassSimulationPage
from fedhull.report.content import Page
from fedhull.report.hull_content import AnyHullPage, HullPage
from fedhull.report.moment_content import AnyMomentPage, MomentPage
from fedhull.report.moment_steps import moment_steps
from fedhull.report.neighbour_content import NeighbourPage
from fedhull.report.palette import by_name, colours_of
from fedhull.report.steps import steps
from fedhull.report.words import DESCRIPTIONS


@singledispatch
def narrate(page: Any) -> dict[str, Any]:
    """What is added to the content of a page before it is shown."""
    raise TypeError(f"there are no words for a {type(page).__name__}")


@narrate.register(HullPage)
def _(page: AnyHullPage) -> dict[str, Any]:
    quantizer = page.space.quantizer
    added = _of_classes(page, hull_words) | {
        "space": msgspec.to_builtins(page.space)
        | {"angles": quantizer.n_angles, "rings": quantizer.n_rings},
        "hulls": [],
        "steps": steps(page),
        "wider": hull_words.wider(page),
    }
    for hull in msgspec.to_builtins(page.hulls):
        # numbers of bins may be too large for JavaScript's, rings and sectors are not
        rings, sectors = quantizer.ring_and_sector(hull.pop("bins"))
        added["hulls"].append(hull | {"rings": rings.tolist(), "sectors": sectors.tolist()})
    return added


@narrate.register(MomentPage)
def _(page: AnyMomentPage) -> dict[str, Any]:
    learn = page.moments.learn
    return _of_classes(page, moment_words) | {
        "hulls": [],
        "steps": moment_steps(page),
        # what the picture of masked sums writes below it
        "sums": {"n_sums": learn.numbers, "modulus": f"2^{learn.bits} − 1"},
    }


@narrate.register
def _(page: NeighbourPage) -> dict[str, Any]:
    cards = msgspec.to_builtins(neighbour_words.cards(page))
    return _summary(page, neighbour_words) | {"results": "What came of it", "cards": cards}


def _summary(page: Page, words: Any) -> dict[str, Any]:
    """What stands at the top of every page, in the words of one kind of study."""
    parts = ("kicker", "lead", "figures", "seen", "hidden", "unprotected")
    return {part: getattr(words, part)(page) for part in parts}


def _of_classes(page: ClassPage, words: Any) -> dict[str, Any]:
    """What pages of hulls and of moments add alike."""
    added = {
        "results": "How good it is",
        "cards": [],
        "held": words.held(page),
        "colours": _colours(page),
    }
    if isinstance(page, ClassSimulationPage):
        added["scores"] = [
            msgspec.to_builtins(score) | {"name": DESCRIPTIONS.get(score.name, score.name)}
            for score in page.scores
        ]
    return _summary(page, words) | added


def _colours(page: ClassPage) -> dict[str, str]:
    """The colour of each class. In a study it goes by the class's number, which the coordinator and
    all sites share, whatever each of them calls it. Simulations of the same data number classes
    differently: there it goes by name, and names that no test point has come last."""
    testing = getattr(page, "testing", None)
    tested = [] if testing is None else testing.names
    if not isinstance(page, ClassSimulationPage):
        return colours_of([*page.classes, *tested])
    real = [name for name, row in zip(tested, page.testing.confusion, strict=False) if sum(row)]
    return colours_of([*by_name(real), *by_name([*tested, *page.classes])])
