"""The draft of a study, with a comment on whatever is to be decided."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import files

import msgspec

from fedhull.study.study import HULLS, Disclosure

MODEL, ENCODER = "model", "encoder"


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The choices of whoever starts a study: its product, a `model` or an `encoder`, its name,
    purpose, contact, last day and sites; for a model, also the maximum number of classes of a
    site, what sites send of them, and whether an encoder places the cells."""

    product: str = MODEL
    name: str
    purpose: str
    contact: str
    valid_until: date
    sites: Sequence[str]
    classes: int = 0
    summary: str = HULLS
    places_cells: bool = False
    min_cells: int = Disclosure.__struct_defaults__[0]


def commented_draft(choices: Choices) -> str:
    """The study's draft, a TOML file that `fedhull provision` takes, for a person to read."""
    hulls = choices.summary == HULLS
    wanted = {
        "about": True,
        "encoder": choices.product == ENCODER,
        "labels": choices.product == MODEL,
        "hulls": choices.product == MODEL and hulls,
        "places_cells": choices.product == MODEL and choices.places_cells,
        "learning": choices.product == MODEL,
        "privacy": choices.product == MODEL and not hulls,
        "disclosure": True,
        "protocol": True,
        "roster": True,
    }
    said = {name: _toml(getattr(choices, name)) for name in ("name", "purpose", "contact")}
    said |= {"valid_until": str(choices.valid_until), "classes": str(choices.classes)}
    said |= {"summary": _toml(choices.summary), "min_cells": str(choices.min_cells)}
    said["roster"] = "\n".join(
        f'{_toml(site) if "." in site else site} = ""' for site in choices.sites
    )
    text = (files("fedhull.study") / "draft.txt").read_text(encoding="utf-8")
    parts = (part.partition("\n") for part in text.split("=== ")[1:])
    return "".join(part.format(**said) for name, _, part in parts if wanted[name])


def _toml(text: str) -> str:
    return msgspec.json.encode(text).decode()
