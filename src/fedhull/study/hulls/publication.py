"""What is published after a sum of hulls: a model for all, and for each site which class is which.

The same bytes go to everybody. The model numbers its classes; a site can read the entry of its own
place only, and learns from it which of its classes got which number.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from fedhull.errors import BadMessage, FedhullError
from fedhull.learn.model import model_to_json, published_model
from fedhull.protocol.keys import digest
from fedhull.study.hulls.learning import Learned
from fedhull.study.hulls.pseudonym import Pseudonym, open_classes, seal_classes
from fedhull.study.hulls.sum import HullTotal
from fedhull.study.study import Study


class _Published(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    model: bytes
    classes: dict[int, bytes]


def publish(study: Study, total: HullTotal, learned: Learned) -> bytes:
    """The model, and an entry for every place."""
    model = msgspec.json.encode(model_to_json(learned.model))
    of_label = learned.class_of_label
    entries = {
        place: seal_classes(
            secret,
            [of_label.get(label) for label in study.labels_of(place)],
            _context(model, place),
        )
        for place, secret in sorted(total.secrets.items())
    }
    return msgspec.msgpack.encode(_Published(model, entries))


def read_publication(
    study: Study, published: bytes, pseudonym: Pseudonym, classes: Sequence[Any]
) -> tuple[Any, dict[int, Any]]:
    """The model, and {number of a class: the site's own name for it, or the agreed one}; BadMessage
    if there is no model or it does not say what became of each of the site's classes."""
    try:
        content = msgspec.msgpack.decode(published, type=_Published)
        model = published_model(content.model)
    except (msgspec.MsgspecError, UnicodeDecodeError, FedhullError):
        raise BadMessage("what the server published is not a model") from None
    sealed = content.classes.get(pseudonym.place)
    if sealed is None:
        raise BadMessage("the server has published nothing on this site's classes")
    context = _context(content.model, pseudonym.place)
    numbers = open_classes(pseudonym.secret, sealed, context)
    of_label: dict[int, Any] = dict(zip(study.labels_of(pseudonym.place), numbers, strict=False))
    known = set(model.classes_.tolist())
    beyond = study.agreed and not known <= set(range(len(study.agreed)))
    if beyond or not all(of_label.get(label) in known for label in pseudonym.labels):
        raise BadMessage("the server does not say what became of each of this site's classes")
    if study.agreed:
        return model, {number: study.agreed[number] for number in sorted(known)}
    own = zip(pseudonym.labels, classes, strict=True)
    return model, {of_label[label]: name for label, name in own}


def in_own_words(model: Any, names: Mapping[int, Any]) -> np.ndarray:
    """What a site calls the classes of the model; those that it does not have are "class N"."""
    called = [names.get(int(c), f"class {int(c) + 1}") for c in model.classes_]
    all_named = len(names) == len(model.classes_)
    return np.array(called, dtype=object).astype(
        type(next(iter(names.values()))) if all_named else str
    )


def _context(model: bytes, place: int) -> bytes:
    """What an entry is bound to: the model whose classes it names, and the place."""
    return digest(b"classes", model, place.to_bytes(8, "big"))
