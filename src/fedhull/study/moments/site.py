"""A site in a study of moments: first it says what its classes are like, then it adds its
moments to the totals."""

from typing import Any

import msgspec

from fedhull.errors import BadMessage, InvalidInput
from fedhull.learn.moments import Moments
from fedhull.protocol.client import ClientState
from fedhull.protocol.keys import Identity, Randomness, digest
from fedhull.study.classes.pseudonym import Entry, Pseudonym
from fedhull.study.classes.publication import read_entries
from fedhull.study.classes.site import ClassSite
from fedhull.study.moments.holdings import MomentHoldings
from fedhull.study.moments.sum import (
    MatchContribution,
    MatchNews,
    MatchSummation,
    MomentContribution,
    MomentSummation,
)
from fedhull.study.study import Study

# What a site of a study with agreed names needs in order to use a publication that it has missed.
_NOTHING = b"agreed names"


class _Told(msgspec.Struct, frozen=True):
    """What a site has been told after the first sum: how many classes there are, which of them its
    own are, and the digest of what was published. To that sum it had sent `size` numbers."""

    n_classes: int
    entries: list[Entry]
    basis: bytes
    size: int = 0


class _Checkpoint(msgspec.Struct, frozen=True):
    """Where a site stands between the two sums."""

    pseudonym: bytes
    told: _Told


class MomentSite(ClassSite):
    """Two sums, match and learn; where names are agreed, the second only. With the `randomness` and
    the `checkpoint` of an earlier object, and the messages since, a site takes the same course."""

    holdings: MomentHoldings

    def __init__(
        self,
        study: Study,
        name: str,
        identity: Identity,
        holdings: MomentHoldings,
        randomness: Randomness | None = None,
        checkpoint: bytes | None = None,
    ):
        kept = None if checkpoint is None else _read_checkpoint(checkpoint)
        self._told = None if kept is None else kept.told
        self._n_sums = 1 if study.agreed else 2
        super().__init__(
            study,
            name,
            identity,
            holdings,
            self._n_sums,
            randomness,
            sums_done=0 if kept is None else 1,
        )
        if kept is not None:
            self._kept = Pseudonym.from_bytes(kept.pseudonym)

    def contribution(self) -> MatchContribution | MomentContribution:
        """What the site's classes are like or, once it knows which is which, its moments."""
        study, told = self.study, self._told
        if told is None and not study.agreed:
            return MatchContribution(MatchSummation(study), self.holdings.sketches)
        n_classes = len(study.agreed) if told is None else told.n_classes
        basis = b"" if told is None else told.basis
        summation = MomentSummation(study, self._n_sums, n_classes, basis)
        return MomentContribution(summation, self.own_moments)

    def own_moments(self) -> Moments:
        """The moments of the site's cells, once it knows which class is which."""
        study, told = self.study, self._told
        if told is None:
            numbers = self.holdings.agreed_numbers(study.agreed)
            return self.holdings.moments(study, numbers, len(study.agreed))
        own = [[entry.number] for entry in told.entries]
        return self.holdings.moments(study, own, told.n_classes)

    def take(self, published: bytes) -> tuple[int, int] | None:
        """Which class is which, and after the second sum the model."""
        if self.study.agreed or self._told is not None or self.done:
            return super().take(published)
        pseudonym, news = self.pseudonym, MatchNews.from_bytes(published)
        assert pseudonym is not None
        entries = read_entries(self.study, news.entries, pseudonym, news.bound_to)
        numbers = {entry.number for entry in entries}
        if len(numbers) < len(entries) or not numbers <= set(range(news.n_classes)):
            raise BadMessage("the server takes two of this site's classes for one, or for none")
        if news.n_classes > self.study.labels.classes * len(self.study.clients):
            raise BadMessage(f"the server says that there are {news.n_classes} classes")
        self._kept = pseudonym
        size = MatchSummation(self.study).size(self.session.participants)
        self._told = _Told(news.n_classes, entries, digest(published), size)
        return None

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        """How many numbers the site sent to the first sum and to the second, as far as there was
        one and the site, which may have come late, remembers it."""
        study, told = self.study, self._told
        if told is None and not study.agreed:
            return None, None
        n_classes = len(study.agreed) if told is None else told.n_classes
        second = MomentSummation(study, self._n_sums, n_classes).size
        return None if told is None else told.size, second

    @property
    def receipt(self) -> bytes | None:
        """The site's pseudonym, if it has one."""
        if self.study.agreed:
            return _NOTHING if self.session.uploaded else None
        return super().receipt

    @property
    def checkpoint(self) -> bytes | None:
        """What is to be kept when the first sum has just ended."""
        between = self.sums_done == 1 < self.n_sums and self.session.state is ClientState.READY
        if not between or self._told is None or self._kept is None:
            return None
        return msgspec.msgpack.encode(_Checkpoint(self._kept.to_bytes(), self._told))

    def take_late(self, published: bytes, receipt: bytes) -> None:
        """What a site makes of a publication that it has missed, given its receipt."""
        if not self.study.agreed:
            self._kept = Pseudonym.from_bytes(receipt)
        self._use(published, complete=False)
        self.sums_done = self.n_sums

    def result(self) -> dict[str, Any]:
        """Plain numbers and words."""
        held = self.holdings
        return super().result() | {
            "cells": held.points_held,
            "classes_withheld": list(map(str, held.withheld)),
        }


def _read_checkpoint(raw: bytes) -> _Checkpoint:
    try:
        return msgspec.msgpack.decode(raw, type=_Checkpoint)
    except msgspec.MsgspecError:
        raise InvalidInput(
            "what was kept between the two sums is damaged; start a new session with --again"
        ) from None
