"""A site's holdings in a study that makes an encoder: its cells, and what may leave of them."""

import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from zipfile import BadZipFile

import msgspec
import numpy as np
from scipy.sparse import csr_matrix, issparse

from fedhull.embed.cells import Cells
from fedhull.embed.features import FEWEST_TO_CORRECT, NO_CORRECTION
from fedhull.embed.layout import small_groups
from fedhull.errors import InvalidInput
from fedhull.learn.moments import MOST_CELLS
from fedhull.study.encoder_study import NeighbourStudy
from fedhull.study.gene_list import GeneList

# A site that cannot hold out this many cells holds out none: they would tell little.
FEWEST_HELD_OUT = 20
_HOLDING_OUT = 7  # which stream of random numbers


@dataclass(frozen=True, repr=False)
class CellHoldings:
    """A site's cells. `test` (n,) are those that are kept out of all sums; a gene that fewer than
    `fewest` of the others express counts as not expressed in what leaves. `donor` (n,) are numbers
    that say whose the cells are, if the site knows."""

    cells: Cells
    test: np.ndarray
    fewest: int
    donor: np.ndarray | None = None

    def __repr__(self) -> str:
        return f"CellHoldings({len(self.cells)} cells)"

    @cached_property
    def rare(self) -> np.ndarray:
        """True for the genes (g,) that some cells express, but too few."""
        x = csr_matrix(self.cells.x[~self.test])
        express = np.bincount(x.indices[x.data != 0], minlength=x.shape[1])
        return (express > 0) & (express < self.fewest)

    @cached_property
    def training(self) -> Cells:
        """The cells that sums are over, without what too few of them express."""
        x = csr_matrix(self.cells.x[~self.test], copy=True)
        x.data[self.rare[x.indices]] = 0
        x.eliminate_zeros()
        return Cells(x, self.cells.genes)

    def groups(self, features: np.ndarray, smallest: int, min_donors: int) -> list[np.ndarray]:
        """The groups whose means leave, as rows of the training cells with these features."""
        return small_groups(features, self._enough(smallest, min_donors))

    def _enough(self, smallest: int, min_donors: int) -> Callable[[np.ndarray], bool]:
        if self.donor is None:
            return lambda rows: len(rows) >= smallest
        donor = self.donor[~self.test]
        return lambda rows: len(rows) >= smallest and len(np.unique(donor[rows])) >= min_donors

    def table(self) -> tuple[Any, list[str]]:
        """The cells, gene by gene."""
        return self.cells.x, list(self.cells.genes)

    def to_bytes(self) -> bytes:
        """All of it, for the process that runs the session."""
        donor = None if self.donor is None else self.donor.astype("<i4").tobytes()
        return msgspec.msgpack.encode(
            _Packed(
                cells_to_bytes(self.cells), np.packbits(self.test).tobytes(), self.fewest, donor
            )
        )

    @classmethod
    def from_bytes(cls, raw: bytes) -> "CellHoldings":
        """The inverse of `to_bytes`."""
        try:
            packed = msgspec.msgpack.decode(raw, type=_Packed)
            cells = cells_from_bytes(packed.cells)
            test = np.unpackbits(np.frombuffer(packed.test, dtype=np.uint8), count=len(cells))
            donor = None if packed.donor is None else np.frombuffer(packed.donor, dtype="<i4")
        except (msgspec.MsgspecError, ValueError):
            raise InvalidInput("what a site prepared for the session is damaged") from None
        return cls(cells, test.astype(bool), packed.fewest, donor)


class _Packed(msgspec.Struct, array_like=True):
    cells: bytes
    test: bytes
    fewest: int
    donor: bytes | None


def cells_to_bytes(cells: Cells) -> bytes:
    """The matrix, row by row, and the names of its genes."""
    rows = csr_matrix(cells.x)
    rows.sort_indices()
    file = io.BytesIO()
    np.savez(
        file,
        allow_pickle=False,
        data=rows.data,
        indices=rows.indices,
        indptr=rows.indptr,
        shape=np.array(rows.shape),
        genes=np.array(cells.genes, dtype=str),
        sparse=np.array(issparse(cells.x)),
    )
    return file.getvalue()


def cells_from_bytes(raw: bytes) -> Cells:
    """The inverse of `cells_to_bytes`."""
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as kept:
            rows = csr_matrix(
                (kept["data"], kept["indices"], kept["indptr"]), shape=tuple(kept["shape"])
            )
            x = rows if kept["sparse"] else rows.toarray()
            return Cells(x, kept["genes"].tolist())
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        raise InvalidInput("what a site prepared for the session is damaged") from None


def hold(
    study: NeighbourStudy, genes: GeneList, cells: Cells, donors: np.ndarray | None = None
) -> CellHoldings:
    """A site's holdings for the study, some cells kept out to judge the encoder by; InvalidInput if
    nothing may leave."""
    rules = study.disclosure
    cells.check_counts()
    genes.check(cells.genes)
    least = max(rules.min_cells, 2 * rules.group_size)
    if study.encoder.correction != NO_CORRECTION:
        # later, when two sums have been given, a site with fewer would have to leave
        least = max(least, FEWEST_TO_CORRECT)
    if len(cells) < least:
        raise InvalidInput(
            f"a site needs at least {least} cells to take part in this study, got {len(cells)}"
        )
    most = MOST_CELLS // len(study.clients)
    if len(cells) > most:
        raise InvalidInput(f"a site may have at most {most:,} cells, got {len(cells):,}")
    donor = None
    if donors is not None:
        names, donor = np.unique(donors, return_inverse=True)
        if len(names) < rules.min_donors:
            raise InvalidInput(
                f"the cells come from {len(names)} donors, but nothing may leave that is made of "
                f"fewer than min_donors = {rules.min_donors}"
            )
    n = math.floor(study.encoder.holdout * len(cells))
    test = np.zeros(len(cells), dtype=bool)
    if n >= FEWEST_HELD_OUT and len(cells) - n >= least:
        rng = np.random.default_rng([study.encoder.seed, _HOLDING_OUT])
        test[rng.choice(len(cells), n, replace=False)] = True
    return CellHoldings(cells, test, rules.min_cells, donor)


def group_size(study: NeighbourStudy, cells: int) -> int:
    """The fewest cells behind any anchor, given the cells of all sites: as many as the study says,
    and more if there would be too many anchors."""
    rules = study.disclosure
    for_share = math.ceil(1.0 / rules.max_share)
    return max(rules.group_size, for_share, math.ceil(cells / study.encoder.max_anchors))
