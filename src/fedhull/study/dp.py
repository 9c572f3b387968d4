"""The privacy promise about any single cell, or donor, and the cells it is kept with.

A site's cells are in two parts by their hash: those that are trained on are in the sums of slots
and of moments, the others only in the ballot. So a cell is in one part of the releases or in the
other, never in both, whatever other cells there are, and either part may cost the whole promise.
"""

import hashlib
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from fedhull.protocol.agreement import Part

CELL = "cell"
_SPLIT = 1 << 32


class Privacy(Part, frozen=True, kw_only=True):
    """(ε, δ)-differential privacy of every `unit`: a "cell", or all cells with one value in the
    column of that name, a donor's for instance, of which at most `unit_cells` are used."""

    epsilon: Annotated[
        float, Meta(gt=0, le=100, description="With moments: hide single cells by noise, ε.")
    ]
    delta: Annotated[float, Meta(gt=0, le=1e-2, description="δ of the noise.")] = 1e-5
    unit: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=200,
            description="Unit of privacy: cell, or a column such as donor.",
        ),
    ] = CELL
    unit_cells: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Maximum number of cells of a donor.")
    ] = 20

    @property
    def donors(self) -> str | None:
        """The column that says whose cells they are, if these are protected together."""
        return None if self.unit == CELL else self.unit

    @property
    def cells(self) -> int:
        """Maximum number of cells of a unit."""
        return 1 if self.unit == CELL else self.unit_cells


def lots(x: np.ndarray, donors: np.ndarray | None, seed: int) -> np.ndarray:
    """A number from 0 to 1 for each cell (n, 2), or for all cells of a donor the same: a hash of
    where it lies, or of who the donor is. It does not depend on any other cell."""
    units: list[Any] = (
        [row.tobytes() for row in np.ascontiguousarray(x, dtype="<f8")]
        if donors is None
        else [str(donor).encode() for donor in donors.tolist()]
    )
    key = seed.to_bytes(8, "big")
    drawn = {unit: _lot(unit, key) for unit in set(units)}
    return np.array([drawn[unit] for unit in units], dtype=np.float64).reshape(len(x))


def bounded(x: np.ndarray, donors: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Mask (n,) of the cells (n, 2) to use if a donor may have at most `most` of them: those with
    the smallest hashes."""
    order = np.lexsort((lots(x, None, seed), donors.astype(str)))
    sorted_donors = donors.astype(str)[order]
    first = np.searchsorted(sorted_donors, sorted_donors, side="left")
    used = np.empty(len(x), dtype=bool)
    used[order] = np.arange(len(x)) - first < most
    return used


def _lot(unit: bytes, key: bytes) -> float:
    return int.from_bytes(hashlib.blake2b(unit, key=key, digest_size=4).digest(), "big") / _SPLIT
