"""The hull of more points than fit into memory: CH(A ∪ B) = CH(CH(A) ∪ B), chunk by chunk."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.hull import check_rows_in_ball, disc_hull, survivors_of_sieve
from fedhull.disc.points import as_point_rows, check_curvature
from fedhull.disc.solid import solid_hull
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
        """Feed points (n, d): an array, a memory map of any size, or an iterator of such chunks."""
        if isinstance(chunk, Iterator):
            for part in chunk:
                self.update(part)
            return self
        if not isinstance(chunk, np.ndarray):
            chunk = np.asarray(chunk)
        for begin in range(0, len(chunk), _ROWS_AT_ONCE) if chunk.ndim == 2 else [0]:
            self._add(as_point_rows(chunk[begin : begin + _ROWS_AT_ONCE], "chunk"))
        return self

    def _add(self, rows: np.ndarray) -> None:
        if self.n_seen and rows.shape[1] != self.points.shape[1]:
            raise InvalidInput(
                f"chunk must have {self.points.shape[1]} coordinates like the chunks before it, "
                f"got {rows.shape[1]}"
            )
        check_rows_in_ball(rows, self.curvature)
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
