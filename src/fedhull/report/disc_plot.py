"""Figures of the Poincaré disc: points, hulls with geodesic edges, bins."""

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from fedhull.disc.maps import geodesic
from fedhull.disc.models import polar_to_poincare
from fedhull.disc.quantize import Quantizer, hyperbolic_radius
from fedhull.report.palette import PALETTE


def new_figure(width: float = 6.0, height: float = 6.0) -> Figure:
    """A figure of its own, apart from pyplot's global state, whose SVG is the same on every run."""
    matplotlib.rcParams["svg.hashsalt"] = "fedhull"
    matplotlib.rcParams["svg.fonttype"] = "none"  # letters, not outlines: small files
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Figure, path: Any) -> None:
    """Write the figure; the format follows the path's ending. SVG files carry no date."""
    metadata = {"Date": None} if str(path).endswith(".svg") else None
    figure.savefig(path, dpi=150, metadata=metadata)


def draw_disc(axes: Any, curvature: float = 1.0, radius: float | None = None) -> None:
    """The disc's rim and, dashed, the circle of radius R."""
    rim = curvature**-0.5
    axes.add_patch(Circle((0, 0), rim, fill=False, color="0.3", linewidth=1.0))
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
