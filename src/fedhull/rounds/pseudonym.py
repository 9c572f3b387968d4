"""A site's pseudonym in a sum: a place, its labels, and a secret shared with the coordinator.

The coordinator reads what is said of each label, and which labels belong to one place, but not
whose place it is. In a slot of its place every site sends a random secret, and a tag of all that it
says under that secret. With the secret, which only it and the coordinator can know,

- the coordinator sees whether anybody has added to what is said at a place that is not its own;
- it tells the site, and nobody else, to which class each of its labels was assigned.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from fedhull.errors import BadMessage
from fedhull.protocol.keys import Randomness, digest, seal, stretch, tag, unseal
from fedhull.study.study import Study

_SECRET_NUMBERS, _TAG_NUMBERS = 3, 2
SLOT_WIDTH = _SECRET_NUMBERS + _TAG_NUMBERS
_NUMBER_BYTES, _NUMBER_BITS = 8, 60
# An entry as it is sealed: class, percent of certainty, sites; with marks for what is not there.
_ENTRY = struct.Struct(">IBI")
_UNUSED, _NOT_SAID = 2**32 - 1, 255

# What a site says of a label: the bins of its hull, if it has one, and the row of its slot.
Said = tuple[Sequence[int], Sequence[int]]


class Entry(NamedTuple):
    """A label's class, its certainty in percent, if the grouping gives one, and the number of sites
    that have that class, this one included."""

    number: int
    percent: int | None
    sites: int

    @property
    def known(self) -> bool:
        """True if there is such a class; there is none for what is lost in noise."""
        return self.number >= 0


LOST = Entry(-1, None, 0)


class ClassAssignments(msgspec.Struct, frozen=True):
    """The classes assigned to a site's own, and the number of classes over all sites."""

    n_classes: int
    entries: list[Entry]


class Pseudonym(msgspec.Struct, frozen=True):
    """A site's place, the label of each of its classes, in its own order, and its secret."""

    place: int
    labels: list[int]
    secret: tuple[int, ...]

    def __repr__(self) -> str:
        return "Pseudonym(…)"

    def __rich_repr__(self) -> list[Any]:
        return []

    @classmethod
    def draw(
        cls, study: Study, order: int, classes: Sequence[Any], randomness: Randomness
    ) -> "Pseudonym":
        """A place at random or, where the label code has too few for that, the site's own in the
        order of sites; and the labels of the site's classes."""
        below = randomness.below
        place = below("place")(study.places) if study.draws_places else order
        labels = study.labels_of(place)
        lots = {label: randomness.token(f"lot {label}") for label in labels}
        draw = below("label secret")
        secret = tuple(draw(1 << _NUMBER_BITS) for _ in range(_SECRET_NUMBERS))
        return cls(place, study.classes.labels_for(classes, labels, lots), secret)

    def slot(self, said: Mapping[int, Said]) -> list[int]:
        """The numbers in the site's slot: its secret, and the tag of what it says of each label."""
        return [*self.secret, *_tag(self.secret, self.place, said)]


def checked_secret(
    slot: Sequence[int], place: int, said: Mapping[int, Said]
) -> tuple[int, ...] | None:
    """The secret in the slot of a place, if its tag is that of what is said of each label; else
    somebody has added something that is not the owner's."""
    secret, sent = tuple(slot[:_SECRET_NUMBERS]), tuple(slot[_SECRET_NUMBERS:])
    return secret if sent == _tag(secret, place, said) else None


def seal_entries(secret: Sequence[int], entries: Sequence[Entry | None], context: bytes) -> bytes:
    """The entries of a place's labels, for its owner, and as long for few classes as for many: None
    stands for a label that is not in use."""
    content = b"".join(
        _ENTRY.pack(_UNUSED, _NOT_SAID, 0)
        if entry is None
        else _ENTRY.pack(
            entry.number, _NOT_SAID if entry.percent is None else entry.percent, entry.sites
        )
        for entry in entries
    )
    return seal(_key(secret, b"classes", context), context, content)


def open_entries(secret: Sequence[int], sealed: bytes, context: bytes) -> list[Entry | None]:
    """The inverse of `seal_entries`; BadMessage if it was made with another secret."""
    content = unseal(_key(secret, b"classes", context), context, sealed)
    if content is None or len(content) % _ENTRY.size:
        raise BadMessage("the server's entry for this site's classes does not open")
    return [
        None if number == _UNUSED else Entry(number, None if sure > 100 else sure, sites)
        for number, sure, sites in _ENTRY.iter_unpack(content)
    ]


def _tag(secret: Sequence[int], place: int, said: Mapping[int, Said]) -> tuple[int, ...]:
    content = [(label, sorted(said[label][0]), said[label][1]) for label in sorted(said)]
    message = digest(b"told", place.to_bytes(8, "big"), msgspec.msgpack.encode(content))
    bits = int.from_bytes(tag(_key(secret, b"tag"), message), "big")
    return tuple(bits >> _NUMBER_BITS * i & (1 << _NUMBER_BITS) - 1 for i in range(_TAG_NUMBERS))


def _key(secret: Sequence[int], purpose: bytes, salt: bytes = b"") -> bytes:
    # another key for every context: a key seals one message, also if a model is learned again
    drawn = b"".join(number.to_bytes(_NUMBER_BYTES, "big") for number in secret)
    return stretch(drawn, salt, b"label secret " + purpose)
