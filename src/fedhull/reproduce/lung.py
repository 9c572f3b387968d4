"""Table 1 of the paper, Lung-Human: five classes and six subsets of them.

The paper's embedding is not published. Here the raw counts are normalised, log-transformed, reduced
to two dimensions by a truncated SVD, and laid into the disc from its tangent plane at the origin: a
stand-in, not a hyperbolic embedding.
"""

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD

from fedhull.data.datasets import find_published
from fedhull.disc.maps import exp_map
from fedhull.reproduce.accuracy import DataSet, compare
from fedhull.reproduce.finding import Finding, Tell, counted

SUBSETS = {
    "0-4": ([0, 1, 2, 3, 4], ("72.11", "65.99", "69.52 ± 2.82", "63.54 ± 2.24")),
    "0 1 2 3": ([0, 1, 2, 3], ("61.94", "61.94", "61.42 ± 3.19", "60.22 ± 3.34")),
    "0 1 2 4": ([0, 1, 2, 4], ("78.52", "70.37", "74.15 ± 5.23", "67.19 ± 5.98")),
    "0 1 3 4": ([0, 1, 3, 4], ("70.99", "61.07", "66.87 ± 8.42", "60.99 ± 6.96")),
    "0 2 3 4": ([0, 2, 3, 4], ("73.33", "67.41", "75.19 ± 1.44", "71.70 ± 3.86")),
    "1 2 3 4": ([1, 2, 3, 4], ("69.64", "66.07", "65.00 ± 2.10", "64.11 ± 3.73")),
}
_SPREAD = 1.0


def lung(quick: bool, seed: int, tell: Tell) -> Finding:
    """The table for each subset of labels."""
    x, y = _embedded()
    subsets = dict(list(SUBSETS.items())[:2]) if quick else SUBSETS
    step = counted(tell, 2 * len(subsets))
    tables, numbers = [], {}
    for words, (classes, paper) in subsets.items():
        kept = np.isin(y, classes)
        named = dict(zip(("CP", "CE", "FLP", "FLE"), paper, strict=True))
        data = DataSet("lung", named)
        table, found = compare(data, x[kept], y[kept], quick, seed, step, f"Lung-Human, {words}")
        tables.append(table)
        numbers[words] = found
    return Finding(
        "Lung-Human (Table 1)",
        tables,
        numbers,
        remarks=[
            "The embedding differs from the paper's, so the columns cannot be compared digit by "
            "digit. The largest class alone gives more than some of the paper's own numbers.",
        ],
    )


def _embedded() -> tuple[np.ndarray, np.ndarray]:
    with np.load(
        find_published("lung_human/lung_human_ask440_counts.npz"), allow_pickle=False
    ) as f:
        counts = csr_matrix((f["data"], f["indices"], f["indptr"]), shape=tuple(f["shape"]))
        labels = f["paper_label"]
    kept = labels >= 0
    counts = counts[kept].astype(np.float64)
    totals = np.asarray(counts.sum(axis=1)).ravel()
    counts = csr_matrix(counts.multiply(1e4 / totals[:, None])).log1p()
    flat = TruncatedSVD(3, random_state=0).fit_transform(counts)[:, 1:]
    flat = _SPREAD * (flat - flat.mean(axis=0)) / flat.std()
    return exp_map(np.zeros(2), flat / 2.0), labels[kept].astype(np.int64)
