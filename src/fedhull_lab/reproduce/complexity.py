"""Theorem 2 and App. D–E: the number of corners of hulls, as tables and a picture."""

from typing import TYPE_CHECKING

import numpy as np

from fedhull.extend import PALETTE, Progress, Report, new_figure
from fedhull_lab.reproduce.finding import Finding, Table
from fedhull_lab.reproduce.hull_sizes import (
    FULL_SIZES,
    QUICK_SIZES,
    Complexity,
    fitted_exponent,
    measure_complexity,
    theorem_exponent,
    trials_for,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def complexity(quick: bool, seed: int, report: Report) -> Finding:
    """Hull sizes against N^{1/3}, and with ε = N^{−c} against Theorem 2."""
    sizes = QUICK_SIZES if quick else FULL_SIZES
    total, done = sum(n * trials_for(n) for n in sizes), 0

    def advance(n: int) -> None:
        nonlocal done
        done += n
        report(Progress(f"N = {n:,}", done, total))

    result = measure_complexity(sizes, seed, advance)
    numbers = result.to_json()
    corners = Table(
        "Corners of the minimal hull of N uniform points, R = 0.95",
        ("N", "trials", "mean", "std", "mean / N^(1/3)"),
        [
            (f"{n:,}", str(trials), f"{mean:.1f}", f"{std:.1f}", f"{mean / n ** (1 / 3):.2f}")
            for n, trials, mean, std in zip(
                result.sizes, result.trials, result.hull, result.hull_std, strict=True
            )
        ],
    )
    exponents = Table(
        "Exponents of N, fitted from N = 10,000 on",
        ("", "paper, at most", "all points quantized (Thm. 2)", "corners quantized (Def. 5)"),
        [
            ("no quantization", "0.333", f"{result.hull_exponent:.3f}", ""),
            *(
                (
                    f"ε = N^-{row['c']:g}",
                    f"{row['exponent']['theorem']:.3f}",
                    f"{row['exponent']['quantized']:.3f}",
                    f"{row['exponent']['epsilon_hull']:.3f}",
                )
                for row in numbers["rates"]
            ),
        ],
    )
    return Finding(
        "Hull complexity (Theorem 2)",
        [corners, exponents],
        numbers,
        _draw(result),
        [
            "The theorem is about N → ∞. Without quantization the size per N^(1/3) still grows a "
            "little here. For c < 1/2 the ceiling is the number of sectors, reached only where "
            "N·ε² ≫ 450 (c = 0.3: N ≫ 4e6); until then the count climbs faster than the ceiling.",
        ],
    )


def _draw(result: Complexity) -> "Figure":
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
