"""A site's reading of the final publication: the model, in the site's own words."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fedhull.learn.centres import Centres
from fedhull.rounds.pseudonym import Entry


class Reading(NamedTuple):
    """A site's reading of the final publication: the model, {number of a class: the site's own name
    for it, or the agreed one}, and what became of each of its classes, in its own order."""

    model: Any
    names: dict[int, Any]
    entries: list[Entry]


class Finding(NamedTuple):
    """A site's use of the final publication: the model in its own words, `names` and `entries` as
    in `Reading`, the model's own numbers of its classes, and the held-out points that it gets
    right, and all."""

    model: Any
    names: dict[int, Any]
    entries: list[Entry]
    numbers: np.ndarray
    correct: int
    tested: int


def centres_in(packed: list[int]) -> Centres:
    """Centres of classes in the disc, from their numbers."""
    return Centres.unpacked(np.array(packed, dtype=np.int64), len(packed) // 4)


def in_own_words(model: Any, names: Mapping[int, Any]) -> np.ndarray:
    """The site's names of the model's classes; those that it does not have are "class N"."""
    taken = set(map(str, names.values()))
    called = [names.get(int(c)) for c in model.classes_]
    if all(name is not None for name in called):
        return np.array(called)
    unnamed = [f"class {int(c) + 1}" for c in model.classes_]
    unnamed = [f"{name} (not yours)" if name in taken else name for name in unnamed]
    return np.array(
        [other if name is None else str(name) for name, other in zip(called, unnamed, strict=True)]
    )


def own_names(entries: Sequence[Entry], classes: Sequence[Any]) -> dict[int, Any]:
    """{number of a class: the site's name for it}. Some groupings take two classes of a site for
    one: then both names stand for it."""
    named: dict[int, list[Any]] = {}
    for entry, name in zip(entries, classes, strict=True):
        if entry.known:
            named.setdefault(entry.number, []).append(name)
    return {
        number: names[0] if len(names) == 1 else " or ".join(map(str, names))
        for number, names in named.items()
    }


def labels_of(site: Any) -> list[int]:
    """The labels under which a site sent its classes, in its own order, as far as it came."""
    drawn = [each.drawn for each in site.own.passed] + [site.own.drawn]
    return next((each.labels for each in reversed(drawn) if hasattr(each, "labels")), [])
