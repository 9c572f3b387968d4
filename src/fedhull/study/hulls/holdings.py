"""What a site holds in a study of hulls, and what of it would leave."""

from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from fedhull.disc.epsilon_hull import epsilon_hull
from fedhull.disc.points import as_ball_points
from fedhull.errors import InvalidInput
from fedhull.learn.guard import Guard
from fedhull.study.study import Study


@dataclass(frozen=True, repr=False)
class HullHoldings:
    """A site's classes in its own order, the bins of their hulls, and the points behind them.

    `points_held` counts the points that the hulls were made from, `points_guarded` those of them
    that the guard left out. x : (n, 2), all points; of_class : (n,), the position of each point's
    class; test : (n,), which of them are kept for testing.
    """

    classes: list[Any]
    hulls: list[list[int]]
    points_held: int
    points_guarded: int
    x: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    of_class: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    test: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=bool))

    def __repr__(self) -> str:
        return (
            f"HullHoldings({len(self.classes)} classes, {self.points_sent} of "
            f"{self.points_held} points would leave)"
        )

    @property
    def points_sent(self) -> int:
        """How many points leave, each as its bin: the corners of all hulls."""
        return sum(map(len, self.hulls))

    @property
    def bins_filled(self) -> int:
        """How many different bins the hulls touch."""
        return len({j for bins in self.hulls for j in bins})

    @property
    def sizes(self) -> list[int]:
        """How many points each hull was made from."""
        counts = np.bincount(self.of_class[~self.test], minlength=len(self.classes))
        return counts.tolist()

    @property
    def y(self) -> np.ndarray:
        """The class of each point, in the site's own words."""
        return np.array(self.classes)[self.of_class]

    @property
    def test_x(self) -> np.ndarray:
        """The points that are kept for testing."""
        return self.x[self.test]

    @property
    def test_y(self) -> np.ndarray:
        """Their classes."""
        return self.y[self.test]

    def table(self) -> tuple[np.ndarray, list[str]]:
        """The points."""
        return self.x, ["x0", "x1"]

    def to_bytes(self) -> bytes:
        """What would leave, and the cells behind it."""
        return msgspec.msgpack.encode(
            _Packed(
                classes=self.classes,
                hulls=self.hulls,
                points_held=self.points_held,
                points_guarded=self.points_guarded,
                x=self.x.astype("<f8").tobytes(),
                of_class=self.of_class.astype("<i4").tobytes(),
                test=np.packbits(self.test).tobytes(),
            )
        )

    @classmethod
    def from_bytes(cls, raw: bytes) -> "HullHoldings":
        """The inverse of `to_bytes`."""
        try:
            packed = msgspec.msgpack.decode(raw, type=_Packed)
        except msgspec.MsgspecError:
            raise InvalidInput("what a site prepared for the session is damaged") from None
        of_class = np.frombuffer(packed.of_class, dtype="<i4")
        return cls(
            packed.classes,
            packed.hulls,
            packed.points_held,
            packed.points_guarded,
            x=np.frombuffer(packed.x, dtype="<f8").reshape(-1, 2),
            of_class=of_class,
            test=np.unpackbits(
                np.frombuffer(packed.test, dtype=np.uint8), count=len(of_class)
            ).astype(bool),
        )


class _Packed(msgspec.Struct, array_like=True):
    classes: list[Any]
    hulls: list[list[int]]
    points_held: int
    points_guarded: int
    x: bytes
    of_class: bytes
    test: bytes


def make_hulls(
    study: Study, x: np.ndarray, y: np.ndarray, classes: np.ndarray | None = None
) -> HullHoldings:
    """Guard the points and make the quantized hull of each class, in the order of `classes`."""
    classes = np.unique(y) if classes is None else classes
    guarded = Guard.of(study.learning.guard).apply(x, y, study.geometry.curvature)
    hulls = [epsilon_hull(guarded.x[guarded.y == c], study.quantizer).tolist() for c in classes]
    order = np.argsort(classes, kind="stable")
    return HullHoldings(
        classes.tolist(),
        hulls,
        points_held=len(x),
        points_guarded=len(x) - int(guarded.cells.sum()),
        x=x,
        of_class=order[np.searchsorted(classes, y, sorter=order)].astype(np.int32),
        test=np.zeros(len(x), dtype=bool),
    )


def prepare(study: Study, x: np.ndarray, y: np.ndarray) -> HullHoldings:
    """What a site would take into a study: some points of each class are kept for testing, the
    others guarded and made into hulls. The same data and study always give the same."""
    points, _ = as_ball_points(x, study.geometry.curvature, "x")
    if points.shape[1] != 2:
        raise InvalidInput(f"x must lie in the disc, shape (n, 2), got shape {points.shape}")
    study.quantizer.encode(points)  # a point beyond R is an error before anything is sent
    classes, of_class = np.unique(y, return_inverse=True)
    if len(classes) > study.labels.classes:
        raise InvalidInput(
            f"the data hold {len(classes)} classes, but the study allows {study.labels.classes} at "
            f"a site"
        )
    test = _held_out(of_class, study.learning.holdout, study.learning.seed)
    made = make_hulls(study, points[~test], y[~test])
    return replace(made, x=points, of_class=of_class.astype(np.int32), test=test)


def _held_out(of_class: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Which points are kept for testing: the share of each class, rounded down."""
    rng = np.random.default_rng(seed)
    test = np.zeros(len(of_class), dtype=bool)
    for number in range(of_class.max(initial=-1) + 1):
        members = np.flatnonzero(of_class == number)
        test[rng.permutation(members)[: int(share * len(members))]] = True
    return test
