"""What a page says in words, and the numbers its script computes with, for each kind of page."""

from functools import singledispatch
from typing import Any

import msgspec

from fedhull.report import encoder_words, words
from fedhull.report.content import AnyHullPage, EncoderPage, HullPage, Page
from fedhull.report.steps import steps


@singledispatch
def narrate(page: Page) -> dict[str, Any]:
    """What is added to the content of a page before it is shown."""
    raise TypeError(f"there are no words for a {type(page).__name__}")


@narrate.register(HullPage)
def _(page: AnyHullPage) -> dict[str, Any]:
    quantizer = page.space.quantizer
    added: dict[str, Any] = {
        "space": msgspec.to_builtins(page.space)
        | {"angles": quantizer.n_angles, "rings": quantizer.n_rings},
        "hulls": [],
        "kicker": words.kicker(page),
        "lead": words.lead(page),
        "figures": words.figures(page),
        "seen": words.seen(page),
        "hidden": words.hidden(page),
        "unprotected": words.unprotected(page),
        "steps": steps(page),
    }
    for hull in msgspec.to_builtins(page.hulls):
        # numbers of bins may be too large for JavaScript's, rings and sectors are not
        rings, sectors = quantizer.ring_and_sector(hull.pop("bins"))
        added["hulls"].append(hull | {"rings": rings.tolist(), "sectors": sectors.tolist()})
    if scores := getattr(page, "scores", None):
        added["scores"] = [
            msgspec.to_builtins(score) | {"name": words.DESCRIPTIONS.get(score.name, score.name)}
            for score in scores
        ]
    return added


@narrate.register
def _(page: EncoderPage) -> dict[str, Any]:
    return {
        "kicker": encoder_words.kicker(page),
        "lead": encoder_words.lead(page),
        "figures": encoder_words.figures(page),
        "seen": encoder_words.seen(page),
        "hidden": encoder_words.hidden(page),
        "unprotected": encoder_words.unprotected(page),
    }
