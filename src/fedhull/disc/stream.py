"""The hull of more points than fit into memory: CH(A ∪ B) = CH(CH(A) ∪ B), chunk by chunk."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.hull import check_rows_in_ball, disc_hull, survivors_of_sieve
from fedhull.disc.points import as_numbers, as_point_rows, check_curvature
from fedhull.disc.solid import check_dimension, solid_hull
from fedhull.errors import InvalidInput

_ROWS_AT_ONCE = 1 << 20


class HullStream:
    """The minimal hull of all points fed so far, in memory that does not grow with their number.

    `points` holds the corners, in the order of `minimal_hull`; `indices` says which of the points
    fed they were, counting from 0; `n_seen` how many were fed.

    >>> stream = HullStream()
    >>> stream.update([[0.0, 0.0], [0.5, 0.0]]).update([[0.0, 0.5], [0.1, 0.1]]).points
    array([[0.5, 0. ],
           [0. , 0.5],
           [0. , 0. ]])
    """

    def __init__(self, curvature: float = 1.0):
        self.curvature = check_curvature(curvature)
        self.points = np.empty((0, 2))
        self.indices = np.empty(0, dtype=np.int64)
        self.n_seen = 0

    def update(self, chunk: ArrayLike | Iterator[ArrayLike]) -> "HullStream":
        """Feed points (n, d): an array, a memory map of any size, or an iterator of such chunks.

        A chunk with a bad point is refused whole; the chunks before it stay."""
        if isinstance(chunk, Iterator):
            for part in chunk:
                self.update(part)
            return self
        mapped = chunk if isinstance(chunk, np.ndarray) else as_numbers(chunk, "chunk", "(n, d)")
        if mapped.ndim != 2:
            raise InvalidInput(
                f"chunk must have shape (n, d), got shape {mapped.shape}; "
                f"pass a list of chunks as iter(chunks)"
            )
        parts = [mapped[i : i + _ROWS_AT_ONCE] for i in range(0, len(mapped), _ROWS_AT_ONCE)]
        for i, part in enumerate(parts):
            self._check(as_point_rows(part, "chunk"), first_row=i * _ROWS_AT_ONCE)
        for part in parts:
            self._add(as_point_rows(part, "chunk"))
        return self

    def __repr__(self) -> str:
        return f"HullStream({self.n_seen:,} points seen, {len(self.points):,} corners)"

    def _check(self, rows: np.ndarray, first_row: int) -> None:
        if self.n_seen and rows.shape[1] != self.points.shape[1]:
            raise InvalidInput(
                f"chunk must have {self.points.shape[1]} coordinates like the chunks before it, "
                f"got {rows.shape[1]}"
            )
        check_dimension(rows)
        check_rows_in_ball(rows, self.curvature, "chunk", first_row)

    def _add(self, rows: np.ndarray) -> None:
        flat = rows.shape[1] == 2
        # in the disc, points inside the hull so far need no second look
        new = (
            survivors_of_sieve(rows, self.points, self.curvature) if flat else np.arange(len(rows))
        )
        points = np.concatenate((self.points.reshape(-1, rows.shape[1]), rows[new]))
        indices = np.concatenate((self.indices, self.n_seen + new))
        corners = (disc_hull if flat else solid_hull)(points, self.curvature)
        self.points, self.indices = points[corners], indices[corners]
        self.n_seen += len(rows)
