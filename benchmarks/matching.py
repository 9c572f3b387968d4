"""How often slots are matched rightly, by sketches and by the centres of hulls, and how often the
number of classes is found.

    python benchmarks/matching.py fashion-mnist paul olsson lung synthetic tree

Data sets are read from FEDHULL_DATA_DIR or downloaded. Five splits of each into training and test
cells, dealt out to sites; slots of at least five cells. Prints a table in Markdown.
"""

import sys

import numpy as np
from sklearn.model_selection import train_test_split

import fedhull
from fedhull.data.datasets import load_dataset
from fedhull.learn.grouping import match_hulls, share_matched
from fedhull.learn.guard import Guard
from fedhull.learn.sketch import slot_means, slot_sketch
from fedhull.learn.slots import match_slots
from fedhull.simulation.sites import partition

SITES = [
    (10, "dirichlet:0.5"), (10, "dirichlet:0.1"), (10, "dirichlet:5"),
    (5, "dirichlet:0.5"), (20, "dirichlet:0.5"), (3, "iid"),
]  # fmt: skip
TRIALS = 5
LEAST_CELLS = 5


def measure(x, y, sites, how, seed):
    """Shares of slots matched rightly and by how much the number found is off, in one trial."""
    train, _ = train_test_split(np.arange(len(y)), test_size=0.15, random_state=seed)
    x, y = x[train], y[train]
    owner = partition(y, sites, how, seed)
    guard = Guard.of("edit+trim:0.02")
    slots, hulls = [], []
    for site in range(sites):
        mine = owner == site
        guarded = guard.apply(x[mine], y[mine])
        classes = np.unique(y[mine])
        for c in np.random.default_rng([seed, site]).permutation(classes):
            cells = x[mine & (y == c)]
            if len(cells) >= LEAST_CELLS:
                slots.append((site, c, len(cells), slot_sketch(cells, seed=seed)))
                left = guarded.x[guarded.y == c]
                hulls.append(left[fedhull.minimal_hull(left)])
    owners, truth, counts, sums = map(list, zip(*slots, strict=True))
    means = slot_means(sums, counts)
    n_classes, seen = len(np.unique(y)), len(set(truth))
    told = match_slots(means, counts, owners, n_classes)
    found = match_slots(means, counts, owners)
    return (
        share_matched(match_hulls(hulls, owners, n_classes).groups, truth),
        share_matched(told.groups, truth),
        share_matched(found.groups, truth),
        found.n_classes - seen,
        float(told.doubtful.mean()),
    )


def write(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(names):
    write("| data | sites | corners | sketches | number not told | number found | doubtful |")
    write("|---|---|---|---|---|---|---|")
    for name in names:
        x, y = load_dataset(name)
        for sites, how in SITES:
            rows = np.array([measure(x, y, sites, how, seed) for seed in range(TRIALS)])
            corners, told, found, off, doubtful = rows.T
            shares = " | ".join(f"{100 * column.mean():.1f}" for column in (corners, told, found))
            right = f"{int((off == 0).sum())} of {TRIALS} ({off.astype(int).tolist()})"
            cells = f"{name} | {sites} {how} | {shares} | {right} | {100 * doubtful.mean():.1f}"
            write(f"| {cells} |")


if __name__ == "__main__":
    main(sys.argv[1:])
