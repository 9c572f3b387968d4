"""What a page says in words, and the numbers its script computes with, for each kind of page."""

from functools import singledispatch
from typing import Any

import msgspec

from fedhull.report import encoder_words, hull_words
from fedhull.report.content import AnyHullPage, EncoderPage, HullPage, Page
from fedhull.report.steps import steps
from fedhull.report.words import DESCRIPTIONS


@singledispatch
def narrate(page: Page) -> dict[str, Any]:
    """What is added to the content of a page before it is shown."""
    raise TypeError(f"there are no words for a {type(page).__name__}")


@narrate.register(HullPage)
def _(page: AnyHullPage) -> dict[str, Any]:
    quantizer = page.space.quantizer
    added = _summary(page, hull_words) | {
        "space": msgspec.to_builtins(page.space)
        | {"angles": quantizer.n_angles, "rings": quantizer.n_rings},
        "hulls": [],
        "steps": steps(page),
        "results": "How good it is",
        "cards": [],
    }
    for hull in msgspec.to_builtins(page.hulls):
        # numbers of bins may be too large for JavaScript's, rings and sectors are not
        rings, sectors = quantizer.ring_and_sector(hull.pop("bins"))
        added["hulls"].append(hull | {"rings": rings.tolist(), "sectors": sectors.tolist()})
    if scores := getattr(page, "scores", None):
        added["scores"] = [
            msgspec.to_builtins(score) | {"name": DESCRIPTIONS.get(score.name, score.name)}
            for score in scores
        ]
    return added


@narrate.register
def _(page: EncoderPage) -> dict[str, Any]:
    cards = msgspec.to_builtins(encoder_words.cards(page))
    return _summary(page, encoder_words) | {"results": "Round by round", "cards": cards}


def _summary(page: Page, words: Any) -> dict[str, Any]:
    """What stands at the top of every page, in the words of one kind of study."""
    parts = ("kicker", "lead", "figures", "seen", "hidden", "unprotected")
    return {part: getattr(words, part)(page) for part in parts}
