"""Bytes that a site sends, beside other ways to send the same and beside the least possible."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from fedhull import Quantizer
from fedhull.extend import choose_coding

COHORTS = [3, 10, 100, 1000]
# sites and classes that make 100, 240 and 1,000 labels
MANY_LABELS = [(20, 5), (20, 12), (100, 10)]


@dataclass(frozen=True)
class Sizes:
    """Bytes up for one site, of L alike."""

    clients: int
    labels: int
    label_code: str
    planes: int
    field_bits: int
    power_sums: int
    least: int
    dense: int
    clear: int

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return asdict(self)


def bench_bytes(
    clients: int, classes: int = 2, corners: int = 50, epsilon: float = 0.1, radius: float = 0.95
) -> Sizes:
    """Sizes for L sites that have this number of corners in all their classes together.

    `least` is the information-theoretic minimum for the sum of all vectors, log2 of the number of
    ways to fill L·K of B bins, each with one of J·L labels: whoever masks must send at least as
    much as the sum tells. `dense` sends every bin; `clear` a site's own bins, with no secrecy.
    """
    n_bins = Quantizer(epsilon, radius).n_bins
    n_labels = classes * clients
    coding, vector = (choose_coding(n_labels, n_bins, wish) for wish in ("auto", "binary"))
    filled = min(clients * corners, n_bins)
    ways = _log2_binomial(n_bins, filled) + filled * math.log2(n_labels)
    return Sizes(
        clients,
        n_labels,
        coding.name,
        coding.planes,
        coding.field.bits,
        coding.field.packed_size(coding.length(filled)),
        math.ceil(ways / 8),
        vector.field.packed_size(n_bins * vector.planes),
        math.ceil(corners * (math.log2(n_bins) + math.log2(n_labels)) / 8),
    )


def _log2_binomial(n: int, k: int) -> float:
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)
