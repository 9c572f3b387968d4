"""What aligning sites to published centres gains where they were measured differently.

    python benchmarks/alignment.py paul fashion-mnist tree olsson lung

Ten sites with Dirichlet(0.5) shares of each class. Every site's cells, training and test, are moved
by an isometry of its own: a length S in a random direction after a turn N(0, 0.4·S). A test cell
belongs to a site with the probability with which a training cell of its class does, and is moved
back by what that site has learned. The classifier is the one that the federation computes: that of
the moments of all cells, aligned. Data sets are read from FEDHULL_DATA_DIR or downloaded. Prints
tables in Markdown: mean ± 1.96 standard errors of the trials.
"""

import sys
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from fedhull.data.datasets import load_dataset
from fedhull.data.partition import partition
from fedhull.disc.isometry import rotation, translation
from fedhull.learn.centres import class_centres
from fedhull.learn.moment_classifier import MomentClassifier
from fedhull.learn.site_alignment import align_site

SITES, SHARES = 10, "dirichlet:0.5"
SHIFTS = (0.0, 0.2, 0.5)
TRIALS, ROUNDS = 3, 3
IDENTITY = translation(np.zeros(2))


class Study(NamedTuple):
    """Cells and classes of each site for training and testing, as the site measured them."""

    x: list
    y: list
    test_x: list
    test_y: list
    n_classes: int


def deal(x, y, shift, seed):
    """A study of ten sites that are moved against each other."""
    y = np.unique(y, return_inverse=True)[1]
    train, test = train_test_split(np.arange(len(y)), test_size=0.15, random_state=seed)
    rng = np.random.default_rng([seed, 1])
    owner, n_classes = partition(y[train], SITES, SHARES, seed), int(y.max()) + 1
    shares = np.zeros((n_classes, SITES))
    np.add.at(shares, (y[train], owner), 1.0)
    shares /= shares.sum(axis=1, keepdims=True)
    tester = np.array([rng.choice(SITES, p=shares[c]) for c in y[test]])
    study = Study([], [], [], [], n_classes)
    for site in range(SITES):
        angle, turn = rng.uniform(0.0, 2.0 * np.pi), rng.normal(0.0, 0.4 * shift)
        where = np.tanh(shift / 2.0) * np.array([np.cos(angle), np.sin(angle)])
        f = translation(where) @ rotation(turn)
        for cells, classes, mine in (
            (study.x, study.y, train[owner == site]),
            (study.test_x, study.test_y, test[tester == site]),
        ):
            cells.append(f.apply(x[mine]))
            classes.append(y[mine])
    return study


def accuracy(study, isometries):
    """Percent of test cells in the right class, all sites' cells moved by their isometries."""
    cells, tests = (
        np.vstack([f.apply(x) for f, x in zip(isometries, xs, strict=True)])
        for xs in (study.x, study.test_x)
    )
    model = MomentClassifier(n_features=128).fit(cells, np.concatenate(study.y))
    return 100.0 * (model.predict(tests) == np.concatenate(study.test_y)).mean()


def aligned(study, rounds):
    """The sites' isometries after 0, 1, … rounds."""
    isometries = [IDENTITY] * SITES
    yield isometries
    for _ in range(rounds):
        total = sum(
            (
                class_centres(f.apply(x), y, study.n_classes)
                for f, x, y in zip(isometries, study.x, study.y, strict=True)
            ),
            class_centres(np.zeros((0, 2)), np.zeros(0, dtype=int), study.n_classes),
        )
        isometries = [
            align_site(x, y, total, f).isometry
            for f, x, y in zip(isometries, study.x, study.y, strict=True)
        ]
        yield isometries


def spread(values):
    """Mean ± 1.96 standard errors of the trials, for each column."""
    table = np.asarray(values)
    error = 1.96 * table.std(axis=0, ddof=1) / np.sqrt(len(table))
    return [f"{m:.1f} ± {e:.1f}" for m, e in zip(table.mean(axis=0), error, strict=True)]


def agreed_names(name, x, y, shift):
    """Accuracy after 0, 1, … rounds, a row for each trial."""
    rows = []
    for seed in range(TRIALS):
        study = deal(x, y, shift, seed)
        rows.append([accuracy(study, found) for found in aligned(study, ROUNDS)])
    write(f"| {name} | {shift:g} | {' | '.join(spread(rows))} |")


def write(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(names):
    write(f"| data | S | {' | '.join(f'aligned {n} times' for n in range(ROUNDS + 1))} |")
    write("|---" * (ROUNDS + 3) + "|")
    for name in names:
        x, y = load_dataset(name, seed=0)
        for shift in SHIFTS:
            agreed_names(name, x, y, shift)


if __name__ == "__main__":
    main(sys.argv[1:])
