"""Where a site stands between two sums of a study: what it went by, what it has been told, and by
which isometry it moves its cells."""

from typing import Any

import msgspec

from fedhull.disc.isometry import Isometry
from fedhull.errors import InvalidInput
from fedhull.study.classes.pseudonym import Entry, Pseudonym
from fedhull.study.study import Study

# The sums of a study, in order; the last is that of hulls or of moments.
MATCH, CENTRES, LAST = "match", "centres", "last"


def stages_of(study: Study) -> tuple[str, ...]:
    """Which sums a study has. Nothing has to be matched if names are agreed; hulls are matched in
    the last sum, unless sites are aligned before it."""
    matched = not study.agreed and (not study.has_bins or study.alignments > 0)
    return (*((MATCH,) if matched else ()), *(CENTRES,) * study.alignments, LAST)


class Told(msgspec.Struct, frozen=True):
    """What a site has been told of its classes: how many there are over all sites and which of them
    its own are. And what is wrong with that, if something is."""

    n_classes: int
    entries: list[Entry]
    objection: str = ""


class Fit(msgspec.Struct, frozen=True):
    """How far a site's centres were from those of all, root mean square, before it aligned itself
    and after."""

    before: float
    after: float


class Standing(msgspec.Struct):
    """`done` sums are over. `sizes` says how many numbers the site has sent to each; `basis` is the
    digest of what was published last, `centres` are the last that were published."""

    done: int = 0
    sizes: list[int] = []
    basis: bytes = b""
    pseudonym: bytes = b""
    told: Told | None = None
    centres: list[int] = []
    moved_by: dict[str, Any] | None = None
    fits: list[Fit] = []

    @property
    def isometry(self) -> Isometry | None:
        """By what the site moves its cells; None leaves them where they are."""
        return None if self.moved_by is None else Isometry.from_json(self.moved_by)

    @property
    def went_by(self) -> Pseudonym | None:
        """What the site went by when it said what its classes are like."""
        return Pseudonym.from_bytes(self.pseudonym) if self.pseudonym else None

    def to_bytes(self) -> bytes:
        """For a private file."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def from_bytes(cls, raw: bytes) -> "Standing":
        """The inverse of `to_bytes`."""
        try:
            return msgspec.msgpack.decode(raw, type=cls)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise InvalidInput(
                "what was kept between two sums is damaged; start a new session with --again"
            ) from None
