"""The picture of the hull complexity experiment: sizes against N, on logarithmic axes."""

import numpy as np
from matplotlib.figure import Figure

from fedhull.report.disc_plot import PALETTE, new_figure
from fedhull.reproduce.complexity import Complexity, fitted_exponent, theorem_exponent


def draw_complexity(result: Complexity) -> Figure:
    """Left: corners of the plain hull. Right: with ε = N^{−c}, the theorem's count and Def. 5's."""
    figure = new_figure(12.0, 4.8)
    left, right = figure.subplots(1, 2)
    sizes = np.array(result.sizes, dtype=float)
    left.errorbar(sizes, result.hull, yerr=result.hull_std, fmt="o", color=PALETTE[0], capsize=2)
    left.plot(
        sizes,
        result.hull_constant * np.cbrt(sizes),
        color="0.4",
        label=f"{result.hull_constant:.1f} · $N^{{1/3}}$",
    )
    left.set_title(f"Corners of the hull, ± 1 std; fitted exponent {result.hull_exponent:.3f}")
    for color, marker, c in zip(PALETTE, "osD^v", result.quantized, strict=False):
        quantized, sent = result.quantized[c], result.epsilon_hull[c]
        fitted = fitted_exponent(result.sizes, quantized)
        right.plot(
            sizes,
            quantized,
            marker + "-",
            color=color,
            markersize=6,
            fillstyle="none",
            label=f"c = {c:g}: {fitted:.2f} here, at most {theorem_exponent(c):.2f} as N → ∞",
        )
        right.plot(sizes, sent, ":", color=color)
    right.set_title("ε = $N^{-c}$: all points quantized (solid), corners only (dotted)")
    for axes in (left, right):
        axes.set(xscale="log", yscale="log", xlabel="points N", ylabel="corners")
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(frameon=False)
    return figure
