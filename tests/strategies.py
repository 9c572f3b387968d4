"""Points of the ball as hypothesis draws them: at the centre, at the rim, on top of each other."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

CURVATURES = [1.0, 0.25, 2.0, 1e-6, 1e6, 0.7]

curvatures = st.sampled_from(CURVATURES)
seeds = st.integers(0, 2**32 - 1)


def swept(number: int) -> int:
    """How many of `number` cases a run tries: all where the profile asks for all hundred examples,
    in proportion where it asks for fewer, but at least five."""
    return min(number, max(5, number * settings.default.max_examples // 100))


def examples(number: int) -> settings:
    """Settings for a law whose examples are dearer or cheaper than most."""
    return settings(max_examples=swept(number))


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


def _dyadic_geodesic(m: int, s: int = 64) -> np.ndarray:
    """Points with coordinates in multiples of 1/s on the geodesic (x−m/s)² + y² = (m/s)² − 1."""
    return np.array(
        [
            ((m - u) / s, v / s)
            for u in range(m)
            for v in range(-s, s + 1)
            if u * u + v * v == m * m - s * s and (m - u) ** 2 + v * v < s * s
        ]
    )


GEODESIC = _dyadic_geodesic(81)


def _on_geodesic(rng, n):
    # exactly collinear for curvature 1 and 1/4, whichever way the disc is turned by right angles
    turned = GEODESIC @ np.array([[[1, 0], [0, 1]], [[0, 1], [-1, 0]]])[rng.integers(2)]
    return turned[rng.integers(0, len(turned), n)] * rng.choice([-1.0, 1.0])


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
    """(curvature, points (n, 2)) made to mislead a hull: collinear, cocircular, repeated, …"""
    curvature = draw(curvatures)
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.integers(1, largest))
    points = draw(st.sampled_from(SHAPES))(rng, n)
    if draw(st.booleans()):
        points = points[rng.integers(0, n, n)]
    # a power of two, so that what is collinear stays so, and what is inside stays inside
    return curvature, points * 2.0 ** np.floor(np.log2(1.0 / np.sqrt(curvature)))
