"""Figures of the Poincaré disc: points, hulls with geodesic edges, bins."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedhull.disc.maps import geodesic, mobius_add
from fedhull.disc.models import polar_to_poincare
from fedhull.disc.quantize import Quantizer, hyperbolic_radius
from fedhull.errors import MissingExtra
from fedhull.report.palette import PALETTE

try:
    import matplotlib
    from matplotlib import pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle
except ImportError:
    raise MissingExtra("figures need matplotlib: pip install 'fedhull[plot]'") from None

# What the rim is called in SVG files.
RIM = "rim"


def new_figure(width: float = 6.0, height: float = 6.0) -> Figure:
    """A figure of its own, apart from pyplot's global state, whose SVG is the same on every run."""
    matplotlib.rcParams["svg.hashsalt"] = "fedhull"
    matplotlib.rcParams["svg.fonttype"] = "none"  # letters, not outlines: small files
    return Figure(figsize=(width, height), layout="constrained")


def new_axes(width: float, height: float) -> Axes:
    """Axes of a new figure that pyplot knows, so that notebooks show it by themselves."""
    axes: Axes = plt.subplots(figsize=(width, height), layout="constrained")[1]
    return axes


def save_figure(figure: Figure, path: Any) -> None:
    """Write the figure; the format follows the path's ending. SVG files carry no date."""
    metadata = {"Date": None} if str(path).endswith(".svg") else None
    figure.savefig(path, dpi=150, metadata=metadata)


def draw_disc(axes: Any, curvature: float = 1.0, radius: float | None = None) -> None:
    """The disc's rim and, dashed, the circle of radius R."""
    rim = curvature**-0.5
    axes.add_patch(Circle((0, 0), rim, fill=False, color="0.3", linewidth=1.0, gid=RIM))
    if radius is not None:
        axes.add_patch(
            Circle((0, 0), radius, fill=False, color="0.6", linewidth=0.8, linestyle="--")
        )
    axes.set(xlim=(-1.02 * rim, 1.02 * rim), ylim=(-1.02 * rim, 1.02 * rim), aspect="equal")
    axes.set_axis_off()


def draw_hull(
    axes: Any, corners: np.ndarray, curvature: float = 1.0, color: str = PALETTE[0], **line: Any
) -> None:
    """A closed polygon with geodesic edges through corners (n, 2), lightly filled."""
    ends = np.roll(corners, -1, axis=0)
    # long edges bend, short ones do not
    counts = 2 + (60 * np.hypot(*(ends - corners).T) * np.sqrt(curvature)).astype(int)
    path = np.concatenate(
        [
            geodesic(a, b, np.linspace(0.0, 1.0, count, endpoint=False), curvature)
            for a, b, count in zip(corners, ends, counts, strict=True)
        ]
    )
    axes.fill(*path.T, facecolor=(color, 0.08), edgecolor=color, **{"linewidth": 0.7, **line})


def draw_bins(axes: Any, bins: np.ndarray, quantizer: Quantizer, color: str = PALETTE[0]) -> None:
    """The outlines of ε-quantizer bins, filled."""
    rings, sectors = quantizer.ring_and_sector(bins)
    depth = hyperbolic_radius(quantizer.radius, quantizer.curvature) / quantizer.n_rings
    width = 2.0 * np.pi / quantizer.n_angles
    along = np.linspace(0.0, 1.0, 6)
    angles = (sectors[:, None] - 1 + along) * width
    outer = np.stack(np.broadcast_arrays(rings[:, None] * depth, angles), axis=-1)
    inner = np.stack(np.broadcast_arrays((rings[:, None] - 1) * depth, angles[:, ::-1]), axis=-1)
    outlines = polar_to_poincare(np.concatenate((outer, inner), axis=1), quantizer.curvature)
    axes.add_collection(
        PolyCollection(list(outlines), facecolor=(color, 0.45), edgecolor=color, linewidth=0.5)
    )


def draw_regions(
    axes: Any, model: Any, colors: Mapping[Any, str], radius: float, cells: int = 160
) -> None:
    """The classifier's regions within radius R, lightly shaded, stronger where it is surer."""
    ticks = np.linspace(-radius, radius, cells)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1)
    inside = np.hypot(grid[..., 0], grid[..., 1]) < radius
    probabilities = model.predict_proba(grid[inside])
    best = probabilities.argmax(axis=1)
    image = np.zeros((cells, cells, 4))
    shades = np.array([to_rgba(colors[c]) for c in model.classes_])[best]
    shades[:, 3] = 0.22 * probabilities[np.arange(len(best)), best]
    image[inside] = shades
    extent = (-radius, radius, -radius, radius)
    axes.imshow(image, extent=extent, origin="lower", interpolation="none", zorder=0)


def draw_boundaries(
    axes: Any,
    model: Any,
    colors: Mapping[Any, str],
    radius: float,
    curvature: float = 1.0,
    references: bool = False,
    cells: int = 120,
) -> None:
    """The classifier's regions and boundaries within radius R as areas and lines: no pixels.

    A class's region is shaded in steps, where it is the likeliest and where it has at least 50, 70
    and 90 percent. With `references`, the reference points between neighbours and their geodesics.
    """
    ticks = np.linspace(-radius, radius, cells) * (1.0 + 4.0 / cells)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1)
    norm = np.hypot(grid[..., 0], grid[..., 1])
    # beyond R the values of the nearest point of the circle: contours cross it undisturbed
    inside = grid * np.minimum(1.0, radius / np.maximum(norm, 1e-300))[..., None]
    shares = model.predict_proba(inside.reshape(-1, 2)).reshape(cells, cells, -1)
    logits = np.log(np.maximum(shares, 1e-300))
    frame = Circle((0, 0), radius, transform=axes.transData)
    for j, name in enumerate(model.classes_):
        margin = logits[..., j] - np.delete(logits, j, axis=-1).max(axis=-1)
        layers = [(margin, 0.0), *((shares[..., j], level) for level in (0.5, 0.7, 0.9))]
        for values, level in layers:
            if values.max() > level:
                area = axes.contourf(
                    ticks, ticks, values, [level, np.inf], colors=[colors[name]], alpha=0.08,
                    zorder=0,
                )  # fmt: skip
                area.set_clip_path(frame)
        if margin.min() < 0.0 < margin.max():
            line = axes.contour(
                ticks, ticks, margin, [0.0], colors="0.25", linewidths=0.8, zorder=1
            )
            line.set_clip_path(frame)
    if references:
        best = np.where(norm <= radius, shares.argmax(axis=-1), -1)
        for p, w in _references(model, best):
            _draw_reference(axes, p, w, curvature)


def _references(model: Any, best: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Reference points and normals: between classes that touch in the grid `best`, or, for the
    paper's SVM, of each class against the rest."""
    if hasattr(model, "boundary"):
        sides = [(best[1:], best[:-1]), (best[:, 1:], best[:, :-1])]
        pairs = {
            (int(min(i, j)), int(max(i, j)))
            for a, b in sides
            for i, j in np.unique(np.stack((a[a != b], b[a != b])), axis=1).T
        }
        found = [model.boundary(*model.classes_[[i, j]]) for i, j in sorted(pairs) if i >= 0]
        return [(p, w) for p, w, _ in filter(None, found)]
    scores = [scorer.score for scorer in getattr(model, "scorers_", [])]
    return [(score.p, score.w) for score in scores if hasattr(score, "p")]


def _draw_reference(axes: Any, p: np.ndarray, w: np.ndarray, curvature: float) -> None:
    across = np.array([-w[1], w[0]]) / np.hypot(*w) / np.sqrt(curvature)
    line = mobius_add(p, np.tanh(np.linspace(-8.0, 8.0, 201))[:, None] * across, curvature)
    axes.plot(*line.T, color="0.25", linewidth=0.7, linestyle=":", zorder=2)
    axes.plot(*p, "o", color="0.1", markersize=3, zorder=4)
