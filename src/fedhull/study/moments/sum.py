"""The sum of a study of moments. All sites know which classes are the same, so that their moments
are added up inside the masks: the server opens totals over all sites and nothing else."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedhull.codes.field import Field, from_elements, to_elements
from fedhull.errors import InvalidInput, UnknownLabelSum
from fedhull.learn.moments import MOST_CELLS, Extent, Moments
from fedhull.protocol.keys import Randomness, digest
from fedhull.protocol.summation import Layout, Totals, Vector
from fedhull.study.moments.holdings import extent_of
from fedhull.study.study import Study

# Moments of fewer than 2²⁸ cells lie between −2⁶⁰ and 2⁶⁰ (learn/moments.py).
MOMENT_FIELD = Field(2**61 - 1)


@dataclass(frozen=True, repr=False)
class MomentTotal:
    """What the server learns from the second sum, how far that goes, and who is in it."""

    moments: Moments
    extent: Extent
    survivors: list[str]


@dataclass(frozen=True)
class MomentSummation:
    """Moments of `n_classes` classes. `basis` is what was published after the last sum: a session
    in which sites were shown different things is never unmasked."""

    study: Study
    number: int
    n_classes: int
    basis: bytes = b""

    ordered = False

    @property
    def context(self) -> bytes:
        """Which classes there are, and by what they were matched."""
        return digest(b"moments", self.n_classes.to_bytes(8, "big"), self.basis)

    @property
    def most(self) -> tuple[int, ...]:
        """The cells of each class: what of it may leave depends on how many there are in all.
        Nothing, where their number is a secret."""
        if self.study.privacy is not None:
            return ()
        return (MOST_CELLS // len(self.study.clients),) * self.n_classes

    def extent(self, totals: Totals) -> Extent:
        """What may be known of so many cells."""
        return extent_of(self.study, totals, self.n_classes)

    def layout(self, totals: Totals, participants: int) -> Layout:
        """As many numbers as may be known of so many cells, in a field wide enough for any sum."""
        return Layout(((MOMENT_FIELD, self.extent(totals).size),))

    def open(
        self, vector: Vector, totals: Totals, survivors: list[str], participants: int
    ) -> MomentTotal:
        """The totals, if cells can have them; if there is noise in them, whatever they are."""
        extent = self.extent(totals)
        moments = Moments.unpacked(from_elements(vector[0], MOMENT_FIELD), extent)
        if self.study.privacy is not None:
            return MomentTotal(moments, extent, survivors)
        try:
            if (moments.counts > np.array(totals)).any():
                raise InvalidInput("there are more cells than sites have announced")
            moments.check(extent)
        except InvalidInput as problem:
            raise UnknownLabelSum(
                f"the sum is not one of moments, so some site has sent something else: {problem}"
            ) from None
        return MomentTotal(moments, extent, survivors)


@dataclass(frozen=True)
class MomentContribution:
    """A site's cells by class; `make` adds up their moments when the upload is due, given the
    totals of all sites."""

    summation: MomentSummation
    announced: Totals
    make: Callable[[Totals], Moments]

    def draw(self, place: int, randomness: Randomness) -> None:
        """Totals need no labels."""

    def vector(self, drawn: None, totals: Totals, participants: int) -> Vector:
        """The moments as elements of the field."""
        extent = self.summation.extent(totals)
        return [to_elements(self.make(totals).packed(extent), MOMENT_FIELD)]
