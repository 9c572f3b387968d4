"""A site in a study of moments: first it says what its classes are like, then it adds its
moments to the totals."""

from typing import Any

import msgspec

from fedhull.errors import BadMessage, FedhullError, InvalidInput
from fedhull.learn.moments import Moments
from fedhull.protocol.client import ClientState
from fedhull.protocol.keys import Identity, Randomness, digest
from fedhull.protocol.summation import Totals
from fedhull.study.classes.pseudonym import Entry, Pseudonym
from fedhull.study.classes.publication import read_entries
from fedhull.study.classes.site import ClassSite
from fedhull.study.moments.holdings import MomentHoldings, extent_of
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
    own are, and the digest of what was published. To that sum it had sent `size` numbers. And what
    is wrong with what it was told, if something is."""

    n_classes: int
    entries: list[Entry]
    basis: bytes
    size: int = 0
    objection: str = ""


class _Checkpoint(msgspec.Struct, frozen=True):
    """Where a site stands between the two sums."""

    pseudonym: bytes
    told: _Told


class MomentSite(ClassSite):
    """Two sums, match and learn; where names are agreed, the second only. With the `randomness` and
    the `checkpoint` of an earlier object, and the messages since, a site takes the same course.

    If it is told nonsense about its own classes, a site that stayed away from the second sum would
    show whose classes they are. It takes part as if nothing were wrong, and adds noise: nobody can
    open that sum, or tell because of whom.
    """

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
            self._object()

    def contribution(self) -> MatchContribution | MomentContribution:
        """What the site's classes are like or, once it knows which is which, its moments."""
        study, told = self.study, self._told
        if told is None and not study.agreed:
            return MatchContribution(MatchSummation(study), self.holdings.sketches)
        n_classes = len(study.agreed) if told is None else told.n_classes
        basis = b"" if told is None else told.basis
        summation = MomentSummation(study, self._n_sums, n_classes, basis)
        return MomentContribution(
            summation,
            self.holdings.counts(self._numbers, n_classes),
            self.own_moments,
            spoiled=told is not None and told.objection != "",
        )

    def own_moments(self, totals: Totals) -> Moments:
        """What the site adds to the second sum, if all sites have so many cells of each class."""
        return self.holdings.moments(self.study, self._numbers, totals)

    @property
    def _numbers(self) -> list[list[int]]:
        """The numbers of each of the site's classes."""
        if self._told is None:
            return self.holdings.agreed_numbers(self.study.agreed)
        return [[entry.number] for entry in self._told.entries]

    def take(self, published: bytes) -> tuple[int, int] | None:
        """Which class is which, and after the second sum the model."""
        if self._told is not None and self._told.objection:
            raise BadMessage(self._told.objection)
        if self.study.agreed or self._told is not None:
            return super().take(published)
        pseudonym, news = self.pseudonym, MatchNews.from_bytes(published)
        assert pseudonym is not None
        # what is wrong for everybody may be refused by everybody
        if news.n_classes > self.study.labels.classes * len(self.study.clients):
            raise BadMessage(
                f"the server says that there are {news.n_classes} classes, more than all sites "
                f"together can have"
            )
        self._kept = pseudonym
        self._told = self._read(news, pseudonym, digest(published))
        self._object()
        return None

    def _read(self, news: MatchNews, pseudonym: Pseudonym, basis: bytes) -> _Told:
        """What the news says of the site's classes, or what is wrong with that."""
        size = MatchSummation(self.study).size(self.session.participants)
        try:
            entries = read_entries(self.study, news.entries, pseudonym, news.bound_to)
            numbers = {entry.number for entry in entries}
            if len(numbers) < len(entries) or not numbers <= set(range(news.n_classes)):
                raise BadMessage("the server takes two of this site's classes for one, or for none")
        except FedhullError as problem:
            # any classes will do for numbers that noise is added to
            anything = [Entry(i % news.n_classes, None, 0) for i in range(len(pseudonym.labels))]
            return _Told(news.n_classes, anything, basis, size, f"{problem}")
        return _Told(news.n_classes, entries, basis, size)

    def _object(self) -> None:
        if self._told is not None and self._told.objection:
            self.complaint = BadMessage(self._told.objection)

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        """How many numbers the site sent to the first sum and to the second, as far as there was
        one and the site, which may have come late, remembers it."""
        told, totals = self._told, self.session.totals
        second = extent_of(self.study, totals).size if totals else None
        return None if told is None else told.size, second

    @property
    def n_features(self) -> int:
        """How many features the totals are of; a site that came late knows how many at most."""
        totals = self.session.totals
        return extent_of(self.study, totals).features if totals else self.study.learning.features

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
