"""Isometries of the Poincaré ball: apply, invert, compose.

Every isometry is x ↦ p ⊕ Qx with a point p, to which the origin goes, and an orthogonal Q. Its
Lorentz matrix has entries as large as 1/(1−k‖p‖²), whose rounding moves a point at the rim by far
more than the rounding of the point itself. So p and Q are stored; `Isometry.matrix` is the other
form.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.maps import mobius_add
from fedhull.disc.points import (
    as_ball_points,
    as_vectors,
    check_alike,
    check_curvature,
)
from fedhull.disc.rim import pull_inside
from fedhull.errors import InvalidInput

_ORTHOGONAL = 1e-9


@dataclass(frozen=True, eq=False)
class Isometry:
    """x ↦ shift ⊕ turn·x, a map of the ball of curvature −k that keeps all distances.

    shift : (d,), where the origin goes; turn : (d, d), orthogonal.

    >>> quarter = rotation(np.pi / 2)
    >>> (translation([0.5, 0.0]) @ quarter).apply([[0.5, 0.0], [0.0, 0.5]]).round(6) + 0.0
    array([[0.588235, 0.352941],
           [0.      , 0.      ]])
    """

    shift: np.ndarray
    turn: np.ndarray
    curvature: float = 1.0

    def __post_init__(self) -> None:
        k = check_curvature(self.curvature)
        shift, _ = as_ball_points(self.shift, k, "shift")
        turn = as_vectors(self.turn, "turn")
        if shift.ndim != 1 or turn.shape != 2 * shift.shape:
            raise InvalidInput(
                f"shift and turn must have shapes (d,) and (d, d), got {shift.shape}, {turn.shape}"
            )
        if np.abs(turn.T @ turn - np.eye(len(turn))).max() > _ORTHOGONAL:
            raise InvalidInput(
                "turn must be an orthogonal matrix: columns of length 1 at right angles"
            )
        object.__setattr__(self, "shift", shift)
        object.__setattr__(self, "turn", turn)
        object.__setattr__(self, "curvature", k)

    @property
    def reflects(self) -> bool:
        """True if left and right are swapped."""
        return bool(np.linalg.det(self.turn) < 0.0)

    @property
    def matrix(self) -> np.ndarray:
        """The Lorentz matrix (d+1, d+1) that does the same to points of the hyperboloid.

        >>> translation([0.5, 0.0]).matrix.round(6)
        array([[1.666667, 1.333333, 0.      ],
               [1.333333, 1.666667, 0.      ],
               [0.      , 0.      , 1.      ]])
        """
        _, gap = as_ball_points(self.shift, self.curvature)
        time, space = (2.0 - gap) / gap, 2.0 * np.sqrt(self.curvature) * self.shift / gap
        # SSᵀ/(1+X₀), without squaring what is large
        stretch = np.eye(len(space)) + np.outer(np.sqrt(self.curvature) * self.shift, space)
        boost = np.block([[time, space[None]], [space[:, None], stretch]])
        boost[:, 1:] = boost[:, 1:] @ self.turn
        return boost

    def apply(self, points: ArrayLike) -> np.ndarray:
        """The points (..., d) after the map."""
        x, _ = as_ball_points(points, self.curvature)
        check_alike(points=x, shift=self.shift)
        turned = pull_inside(x @ self.turn.T, self.curvature)
        return mobius_add(self.shift, turned, self.curvature)

    def inverse(self) -> "Isometry":
        """The map back: (−Qᵀp, Qᵀ).

        >>> translation([0.5, 0.0]).inverse().apply([0.8, 0.0])
        array([0.5, 0. ])
        """
        shift = pull_inside(-self.shift @ self.turn, self.curvature)
        return Isometry(shift, self.turn.T, self.curvature)

    def __matmul__(self, other: "Isometry") -> "Isometry":
        """First `other`, then this one: with q the other's shift, (p ⊕ Qq, gyr[p, Qq]·QQ')."""
        if self.curvature != other.curvature or self.shift.shape != other.shift.shape:
            raise InvalidInput(
                f"isometries must be of one ball to be combined, got curvatures {self.curvature:g} "
                f"and {other.curvature:g}, dimensions {len(self.shift)} and {len(other.shift)}"
            )
        k = self.curvature
        moved = pull_inside(self.turn @ other.shift, k)
        turn = _gyration(self.shift, moved, k) @ self.turn @ other.turn
        # a Newton step towards the nearest orthogonal matrix, so that long chains do not drift
        turn = turn @ (1.5 * np.eye(len(turn)) - 0.5 * turn.T @ turn)
        return Isometry(mobius_add(self.shift, moved, k), turn, k)

    def to_json(self) -> dict[str, Any]:
        """Plain values, from which `from_json` makes the same map bit for bit."""
        return {
            "curvature": self.curvature,
            "shift": self.shift.tolist(),
            "turn": self.turn.tolist(),
        }

    @classmethod
    def from_json(cls, values: Any) -> "Isometry":
        """The isometry that `to_json` described.

        >>> Isometry.from_json(rotation(1.0).to_json()).reflects
        False
        """
        if not isinstance(values, dict) or set(values) != {"curvature", "shift", "turn"}:
            raise InvalidInput("an isometry must be described by exactly curvature, shift and turn")
        return cls(values["shift"], values["turn"], values["curvature"])


def translation(p: ArrayLike, curvature: float = 1.0) -> Isometry:
    """x ↦ p ⊕ x, which moves the origin to p along their geodesic.

    >>> translation([0.5, 0.0]).apply([0.5, 0.0])
    array([0.8, 0. ])
    """
    shift = as_vectors(p, "p")
    return Isometry(shift, np.eye(shift.shape[-1]), curvature)


def rotation(angle: float, curvature: float = 1.0) -> Isometry:
    """The disc turned about the origin by an angle in radians, counterclockwise.

    >>> rotation(np.pi / 2).apply([0.5, 0.0]).round(6) + 0.0
    array([0. , 0.5])
    """
    if not np.isfinite(angle):
        raise InvalidInput(f"angle must be a finite number of radians, got {angle!r}")
    cos, sin = np.cos(angle), np.sin(angle)
    return Isometry(np.zeros(2), np.array([[cos, -sin], [sin, cos]]), curvature)


def random_isometry(length: float, rng: np.random.Generator, curvature: float = 1.0) -> Isometry:
    """The disc moved by `length`, in units of 1/√k, in a random direction, after a turn by
    N(0, 0.4·length) radians: how sites that are measured differently differ.

    >>> f = random_isometry(0.5, np.random.default_rng(0))
    >>> float(2 * np.arctanh(np.hypot(*f.shift)).round(6))
    0.5
    """
    angle, turn = rng.uniform(0.0, 2.0 * np.pi), rng.normal(0.0, 0.4 * length)
    radius = np.tanh(length / 2.0) / np.sqrt(curvature)
    where = radius * np.array([np.cos(angle), np.sin(angle)])
    return translation(where, curvature) @ rotation(turn, curvature)


def _gyration(a: np.ndarray, b: np.ndarray, k: float) -> np.ndarray:
    """gyr[a, b] with a ⊕ (b ⊕ z) = (a ⊕ b) ⊕ gyr[a, b]z: a turn in the plane of a and b.

    In the disc it is (1+k·a·b̄)/(1+k·ā·b). With s = 1+k⟨a,b⟩, A = k(abᵀ−baᵀ) and A³ = −ω²A that
    is I + 2(sA + A²)/(s²+ω²) in any dimension.
    """
    _, a_gap = as_ball_points(a, k)
    _, b_gap = as_ball_points(b, k)
    total = a + b
    # both vanish for a = −b at the rim, and keep their digits written with a+b
    s = 0.5 * (a_gap + b_gap + k * total @ total)
    plane = k * (np.outer(a, total) - np.outer(total, a))
    square = s * s + 0.5 * (plane * plane).sum()
    return np.eye(len(a)) + 2.0 * (s * plane + plane @ plane) / square
