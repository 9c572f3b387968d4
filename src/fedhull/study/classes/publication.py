"""What is published at the end: a model for all, and for each site which class is which.

The same bytes go to everybody. The model numbers its classes; a site can read the entries of its
own place only, and learns from them which of its classes got which number.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedhull.errors import BadMessage, FedhullError
from fedhull.learn.model import model_to_json, published_model
from fedhull.protocol.keys import digest
from fedhull.study.classes.matching import Match
from fedhull.study.classes.pseudonym import LOST, Entry, Pseudonym, open_entries, seal_entries
from fedhull.study.study import Study


class _Published(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    model: bytes
    entries: dict[int, bytes]


class Read(NamedTuple):
    """What a site reads: the model, {number of a class: the site's own name for it, or the agreed
    one}, and what became of each of its classes, in its own order."""

    model: Any
    names: dict[int, Any]
    entries: list[Entry]


def publish(
    study: Study, model: Any, match: Match | None, secrets: Mapping[int, Sequence[int]]
) -> bytes:
    """The model, and entries for every place, if there are places."""
    content = msgspec.json.encode(model_to_json(model))
    entries = {} if match is None else sealed_entries(study, match, secrets, content)
    return msgspec.msgpack.encode(_Published(content, entries))


def read_publication(
    study: Study,
    published: bytes,
    pseudonym: Pseudonym | None,
    classes: Sequence[Any],
    complete: bool = True,
) -> Read:
    """What a site that goes by this pseudonym reads, or, without one, a site of a study whose
    classes have agreed names; BadMessage if there is no model or it does not say what became of
    each of the site's `classes`. Only a model that need not be `complete` may lack some of them."""
    try:
        content = msgspec.msgpack.decode(published, type=_Published)
        model = published_model(content.model)
    except (msgspec.MsgspecError, UnicodeDecodeError, FedhullError):
        raise BadMessage("what the server published is not a model") from None
    known = set(model.classes_.tolist())
    if study.agreed and not known <= set(range(len(study.agreed))):
        raise BadMessage("the server's model has classes that the study has no names for")
    entries = []
    if pseudonym is not None:
        # where noise hides how many classes a site has, some of its labels stand for none
        entries = read_entries(study, content.entries, pseudonym, content.model)[: len(classes)]
    if complete and study.privacy is None and not all(entry.number in known for entry in entries):
        raise BadMessage("the server does not say what became of each of this site's classes")
    if study.agreed:
        return Read(model, {number: study.agreed[number] for number in sorted(known)}, entries)
    names = _own_names(entries, classes)
    return Read(model, {n: name for n, name in names.items() if n in known}, entries)


def sealed_entries(
    study: Study, match: Match, secrets: Mapping[int, Sequence[int]], bound_to: bytes
) -> dict[int, bytes]:
    """{place: what became of each of its labels, which its owner can open}."""
    of_label = match.entries
    return {
        place: seal_entries(
            secret,
            [of_label.get(label) for label in study.labels_of(place)],
            _context(bound_to, place),
        )
        for place, secret in sorted(secrets.items())
    }


def read_entries(
    study: Study, sealed: Mapping[int, bytes], pseudonym: Pseudonym, bound_to: bytes
) -> list[Entry]:
    """What became of each of the classes of whoever goes by this pseudonym, in its own order;
    BadMessage if that is not said."""
    place = pseudonym.place
    if place not in sealed:
        raise BadMessage("the server has published nothing on this site's classes")
    found = open_entries(pseudonym.secret, sealed[place], _context(bound_to, place))
    of_label = dict(zip(study.labels_of(place), found, strict=False))
    entries = [of_label.get(label) for label in pseudonym.labels]
    if study.privacy is not None:
        return [entry or LOST for entry in entries]
    if any(entry is None for entry in entries):
        raise BadMessage("the server does not say what became of each of this site's classes")
    return [entry for entry in entries if entry is not None]


def in_own_words(model: Any, names: Mapping[int, Any]) -> np.ndarray:
    """What a site calls the classes of the model, each by a name of its own; those that it does not
    have are "class N"."""
    taken = set(map(str, names.values()))
    called = [names.get(int(c)) for c in model.classes_]
    if all(name is not None for name in called):
        return np.array(called)
    unnamed = [f"class {int(c) + 1}" for c in model.classes_]
    unnamed = [f"{name} (not yours)" if name in taken else name for name in unnamed]
    return np.array(
        [other if name is None else str(name) for name, other in zip(called, unnamed, strict=True)]
    )


def _own_names(entries: Sequence[Entry], classes: Sequence[Any]) -> dict[int, Any]:
    """{number of a class: the site's name for it}. Some groupings take two classes of a site for
    one: then both names stand for it."""
    named: dict[int, list[Any]] = {}
    for entry, name in zip(entries, classes, strict=True):
        if not entry.known:
            continue
        named.setdefault(entry.number, []).append(name)
    return {
        number: names[0] if len(names) == 1 else " or ".join(map(str, names))
        for number, names in named.items()
    }


def _context(bound_to: bytes, place: int) -> bytes:
    """What entries are bound to: the model whose classes they name, for instance, and the place."""
    return digest(b"classes", bound_to, place.to_bytes(8, "big"))
