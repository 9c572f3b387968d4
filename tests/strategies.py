"""Points of the ball as hypothesis draws them: near the centre, near the rim, on top of each other."""

import numpy as np
from hypothesis import strategies as st

CURVATURES = [1.0, 0.25, 2.0, 1e-6, 1e6, 0.7]

curvatures = st.sampled_from(CURVATURES)
seeds = st.integers(0, 2**32 - 1)


def ball_point(rng: np.random.Generator, dimension: int, gap: float) -> np.ndarray:
    """A point of the unit ball at about 1−gap from the origin, in a random direction."""
    direction = rng.standard_normal(dimension)
    return (1.0 - gap) * direction / np.linalg.norm(direction)


@st.composite
def ball_points(draw, number: int, deepest_gap: float = 1e-6, dimensions=(1, 2, 3, 5)):
    """(curvature, `number` points of one ball): each at its own depth between centre and rim."""
    curvature = draw(curvatures)
    rng = np.random.default_rng(draw(seeds))
    dimension = draw(st.sampled_from(dimensions))
    exponents = draw(
        st.lists(st.floats(np.log10(deepest_gap), 0.0), min_size=number, max_size=number)
    )
    points = [ball_point(rng, dimension, 10.0**e) / np.sqrt(curvature) for e in exponents]
    return curvature, points


def _on_circle(rng, n):
    angles = 2 * np.pi * rng.random(n)
    return rng.choice([0.3, 0.9, 0.999]) * np.column_stack((np.cos(angles), np.sin(angles)))


def _at_rim(rng, n):
    angles = 2 * np.pi * rng.random(n)
    radii = 1.0 - 1e-13 * rng.uniform(0.01, 1.0, n)
    return radii[:, None] * np.column_stack((np.cos(angles), np.sin(angles)))


def _crowded_at_rim(rng, n):
    angles = 1e-6 * rng.random(n)
    radii = 1.0 - 1e-13 * rng.uniform(0.01, 1.0, n)
    return radii[:, None] * np.column_stack((np.cos(angles), np.sin(angles)))


def _nearly_on_ray(rng, n):
    angle = 2 * np.pi * rng.random()
    return np.outer(1.8 * rng.random(n) - 0.9, [np.cos(angle), np.sin(angle)])


def _on_diameter(rng, n):
    # multiples of a dyadic vector: exactly collinear in floats
    return np.outer(rng.integers(-7, 8, n) / 16.0, [0.75, rng.choice([0.0, 0.5, 0.75])])


def _on_geodesic(rng, n):
    # x/(1+‖x‖²) = (3/10, ·) holds exactly at these dyadic-free points only in rationals; in floats
    # the mirror pairs (a, ±b) are exactly collinear with (c, 0) chosen on the same Klein line
    radii = rng.integers(1, 8, n) / 8.0
    return np.column_stack((np.full(n, 0.5) * 0.5, radii * rng.choice([-1.0, 1.0], n) * 0.5))


def _on_grid(rng, n):
    return rng.integers(-4, 5, (n, 2)) / 8.0


def _tiny(rng, n):
    return rng.standard_normal((n, 2)) * 10.0 ** -rng.integers(5, 170)


def _tiny_cluster(rng, n):
    return np.array([0.5, 0.3]) + 1e-15 * rng.standard_normal((n, 2))


def _spread(rng, n):
    angles = 2 * np.pi * rng.random(n)
    return (
        np.sqrt(rng.random(n))[:, None] * np.column_stack((np.cos(angles), np.sin(angles))) * 0.99
    )


SHAPES = [
    _on_circle, _at_rim, _crowded_at_rim, _nearly_on_ray, _on_diameter, _on_geodesic,
    _on_grid, _tiny, _tiny_cluster, _spread,
]  # fmt: skip


@st.composite
def adversarial_discs(draw, largest: int = 60):
    """(curvature, points (n, 2)) made to mislead a hull: collinear, cocircular, repeated, at the rim."""
    curvature = draw(curvatures)
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.integers(1, largest))
    points = draw(st.sampled_from(SHAPES))(rng, n)
    if draw(st.booleans()):
        points = points[rng.integers(0, n, n)]
    # a power of two, so that what is collinear stays so, and what is inside stays inside
    return curvature, points * 2.0 ** np.floor(np.log2(1.0 / np.sqrt(curvature)))
