"""Figures for papers: `disc`, `hulls`, `bins`, `boundaries`, `tradeoff`.

Data are points (n, 2) with labels (n,), or an AnnData object with ``obsm['X_poincare']`` and the
name of a column of ``obs`` for the labels. Every function draws on the Axes `ax`, or on new ones,
and returns them; nothing is shown or written. Everything is drawn as lines and areas, so that
``ax.figure.savefig("figure.pdf")`` has no pixels in it. Drawing needs the extra ``plot``.
"""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.hull import epsilon_hull, minimal_hull
from fedhull.disc.points import as_ball_points, check_curvature
from fedhull.disc.quantize import Quantizer
from fedhull.errors import InvalidInput
from fedhull.report.palette import PALETTE
from fedhull.report.sections import Disc, Tradeoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Colors = Mapping[Any, str]
# Letters in a line of the legend, and lines for one class.
_LEGEND_WIDTH, _LEGEND_LINES = 24, 3


def disc(
    data: Any,
    labels: Any = None,
    *,
    curvature: float = 1.0,
    radius: float | None = None,
    colors: Colors | None = None,
    size: float = 4.0,
    ax: "Axes | None" = None,
) -> "Axes":
    """Points in the Poincaré disc, a colour for each class; dashed, the circle of radius R."""
    x, y = _points(data, labels, curvature)
    ax = _axes(ax, curvature, radius)
    shades = _colors(y, colors)
    for name, color in shades.items():
        east, north = x[y == name].T
        ax.scatter(east, north, s=size, color=color, linewidths=0, zorder=2)
    _legend(ax, shades if labels is not None else {})
    return ax


def hulls(
    data: Any,
    labels: Any = None,
    *,
    sites: Any = None,
    epsilon: float | None = None,
    radius: float | None = None,
    curvature: float = 1.0,
    colors: Colors | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """The convex hull of each class, or of each class at each site, with geodesic edges.

    With `epsilon`, hulls are quantized, as they leave a site, and drawn over their bins. Instead of
    data, the result of `simulate` can be given: then these are the hulls that the server decoded.
    """
    from fedhull.report.disc_plot import draw_bins, draw_hull

    shapes, quantizer, curvature = _hulls(data, labels, sites, epsilon, radius, curvature)
    ax = _axes(ax, curvature, radius if quantizer is None else quantizer.radius)
    shades = _colors([hull.name for hull in shapes], colors)
    for hull in shapes:
        draw_hull(ax, hull.corners, curvature, shades[hull.name], zorder=3)
        if quantizer is not None:
            draw_bins(ax, hull.bins, quantizer, shades[hull.name])
    _legend(ax, shades)
    return ax


def bins(
    data: Any,
    labels: Any = None,
    *,
    epsilon: float | None = None,
    sites: Any = None,
    radius: float | None = None,
    curvature: float = 1.0,
    colors: Colors | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """The bins that the corners of the quantized hulls fall into: all that leaves the sites. Of
    data, which need an `epsilon`, or of the result of `simulate`."""
    from fedhull.report.disc_plot import draw_bins

    shapes, quantizer, curvature = _hulls(data, labels, sites, epsilon, radius, curvature)
    if quantizer is None:
        raise InvalidInput("epsilon must be given: the width of the bins; try 0.1")
    ax = _axes(ax, curvature, quantizer.radius)
    shades = _colors([hull.name for hull in shapes], colors)
    for hull in shapes:
        draw_bins(ax, hull.bins, quantizer, shades[hull.name])
    _legend(ax, shades)
    return ax


def boundaries(
    model: Any,
    *,
    radius: float | None = None,
    references: bool = False,
    colors: Colors | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """The regions of a fitted classifier within radius R, shaded where it is at least 50, 70 and
    90 percent sure, and the boundaries between them. With `references`, also the reference points
    and the geodesics through them, if the classifier has any.

    Of a site's own model, which moves points before it predicts, these are the regions among the
    site's points as they were measured; those of ``model.model`` go with ``model.moved(points)``.
    """
    from fedhull.report.disc_plot import draw_boundaries

    if references and hasattr(model, "isometry"):
        raise InvalidInput(
            "references cannot be drawn of a model that moves points first; draw "
            "boundaries(model.model, references=True) over model.moved(points)"
        )
    curvature = check_curvature(getattr(model, "curvature", 1.0))
    if radius is None:
        radius = 0.99 / np.sqrt(curvature)
    ax = _axes(ax, curvature, radius)
    shades = _colors(model.classes_, colors)
    draw_boundaries(ax, model, shades, radius, curvature, references)
    _legend(ax, shades)
    return ax


def tradeoff(
    results: Any,
    accuracy: ArrayLike | None = None,
    *,
    label: str | None = None,
    color: str = PALETTE[0],
    ax: "Axes | None" = None,
) -> "Axes":
    """Accuracy against leakage, the share of points that left, both in percent.

    `results` is a list of results of `simulate`, one for each width of bins; or one result that was
    made with ``tradeoff=True``; or shares between 0 and 1, with `accuracy` in percent beside them.
    """
    from fedhull.report.disc_plot import new_axes

    rows = _tradeoff_rows(results, accuracy)
    if ax is None:
        ax = new_axes(width=4.5, height=3.4)
    share, scores, spread, _ = zip(*rows, strict=True)
    ax.errorbar(
        100.0 * np.array(share), scores, yerr=spread if any(spread) else None,
        marker="o", markersize=4, linewidth=1.0, capsize=2, color=color, label=label,
    )  # fmt: skip
    for (x, y, _, name), above in zip(rows, np.resize([6, -11], len(rows)), strict=True):
        ax.annotate(
            name, (100.0 * x, y), (0, above), textcoords="offset points", ha="center", fontsize=7
        )
    ax.set(xlabel="points sent, %", ylabel="accuracy, %")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


class _Hull(NamedTuple):
    name: Any
    corners: np.ndarray
    bins: np.ndarray


def _points(data: Any, labels: Any, curvature: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and labels of arrays or of an AnnData object."""
    if hasattr(data, "obsm"):
        if "X_poincare" not in data.obsm:
            raise InvalidInput("data has no obsm['X_poincare']; embed the cells in the disc first")
        data, labels = data.obsm["X_poincare"], _column(data, labels)
    x, _ = as_ball_points(data, check_curvature(curvature), "data")
    if x.ndim != 2 or x.shape[1] != 2:
        raise InvalidInput(f"data must be points of the disc, shape (n, 2), got {x.shape}")
    y = np.zeros(len(x), dtype=int) if labels is None else np.asarray(labels)
    if y.shape != (len(x),):
        raise InvalidInput(f"labels must have shape ({len(x)},), one for each point, got {y.shape}")
    return x, y


def _column(data: Any, name: Any) -> Any:
    """A column of an AnnData object by its name; anything else is the column itself."""
    if not isinstance(name, str):
        return name
    if name not in data.obs:
        raise InvalidInput(f"data has no obs[{name!r}]; it has {', '.join(map(str, data.obs))}")
    return np.asarray(data.obs[name])


def _hulls(
    data: Any, labels: Any, sites: Any, epsilon: float | None, radius: float | None, k: float
) -> tuple[list[_Hull], Quantizer | None, float]:
    """Hulls in the order of classes, and the bins they are made of, if they are."""
    if hasattr(data, "page"):
        if not data.study.has_bins:
            raise InvalidInput(
                f"data is a simulation of {data.study.learning.summary}, in which no hulls leave; "
                f"draw its boundaries(result.model), or simulate with summary='hulls'"
            )
        disc = data.page().find(Disc)
        quantizer = disc.space.quantizer
        return [
            _Hull(disc.classes[h.column], quantizer.decode(np.array(h.bins)), np.array(h.bins))
            for h in disc.hulls
        ], quantizer, quantizer.curvature  # fmt: skip
    x, y = _points(data, labels, k)
    owner = _column(data, sites) if hasattr(data, "obs") else sites
    owner = np.zeros(len(x), dtype=int) if owner is None else np.asarray(owner)
    if owner.shape != y.shape:
        raise InvalidInput(f"sites must have shape {y.shape}, one for each point")
    parts = [
        (name, x[(y == name) & (owner == site)])
        for name in np.unique(y)
        for site in np.unique(owner[y == name])
    ]
    if epsilon is None:
        return [_Hull(n, p[minimal_hull(p, k)], np.empty(0)) for n, p in parts], None, k
    quantizer = Quantizer(epsilon, radius or float(np.hypot(*x.T).max()) * (1 + 1e-12), k)
    numbers = [(name, epsilon_hull(part, quantizer)) for name, part in parts]
    return [_Hull(n, quantizer.decode(b), b) for n, b in numbers], quantizer, k


def _tradeoff_rows(results: Any, accuracy: Any) -> list[tuple[float, float, float, str]]:
    """(share, accuracy, half width of the interval, what to write beside it), by share."""
    if accuracy is not None:
        shares, scores = np.ravel(results), np.ravel(accuracy)
        if shares.shape != scores.shape or not len(shares):
            raise InvalidInput("accuracy must hold one number for each share in results")
        rows = [(float(s), float(a), 0.0, "") for s, a in zip(shares, scores, strict=True)]
    elif hasattr(results, "page"):
        swept = results.page().find(Tradeoff)
        rows = [
            (row.points_sent / row.points_total, row.accuracy, 0.0, f"ε = {row.epsilon:g}")
            for row in ([] if swept is None else swept.rows)
        ]
    else:
        rows = [_tradeoff_row(result) for result in results]
    if not rows:
        raise InvalidInput(
            "results must hold at least one result; one that was made with tradeoff=True is "
            "enough, if points left"
        )
    return sorted(rows)


def _tradeoff_row(result: Any) -> tuple[float, float, float, str]:
    score = result.accuracy["FL"]
    return (
        result.leakage["ratio"],
        score["mean"],
        score["ci95"],
        f"ε = {result.geometry.epsilon:g}"
        if result.study.has_bins
        else result.study.learning.summary,
    )


def _axes(ax: "Axes | None", curvature: float, radius: float | None) -> "Axes":
    from fedhull.report.disc_plot import RIM, draw_disc, new_axes

    if ax is None:
        ax = new_axes(width=6.0, height=5.0)
    if not any(patch.get_gid() == RIM for patch in ax.patches):
        draw_disc(ax, curvature, radius)
    return ax


def _colors(labels: Sequence[Any] | np.ndarray, colors: Colors | None) -> dict[Any, str]:
    """A colour for each class, in the order of their names."""
    names = sorted(set(np.asarray(labels).tolist()))
    given = dict(colors or {})
    return {name: given.get(name, PALETTE[i % len(PALETTE)]) for i, name in enumerate(names)}


def _legend(ax: "Axes", colors: Colors) -> None:
    """Beside the disc, one entry for each class, however many functions have drawn it."""
    there = ax.get_legend_handles_labels()[1]
    for name, color in colors.items():
        if str(name) not in there:
            ax.plot([], [], "o", markersize=5, color=color, label=str(name))
    if colors:
        handles, names = ax.get_legend_handles_labels()
        ax.legend(
            handles, list(map(_wrapped, names)), loc="center left", bbox_to_anchor=(1.0, 0.5),
            frameon=False, fontsize=8, handletextpad=0.2,
        )  # fmt: skip


def _wrapped(name: str) -> str:
    """A class's name in a few short lines, cut if it is longer: the disc needs the room."""
    return "\n".join(wrap(name, _LEGEND_WIDTH, max_lines=_LEGEND_LINES, placeholder=" …")) or name
