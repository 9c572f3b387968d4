"""What aligning sites to published centres gains where they were measured differently.

    python benchmarks/alignment.py agreed paul fashion-mnist tree olsson lung
    python benchmarks/alignment.py switched paul fashion-mnist tree olsson lung

Ten sites with Dirichlet(0.5) shares of each class. Every site's cells, training and test, are moved
by an isometry of its own: a length S in a random direction after a turn N(0, 0.4·S). A test cell
belongs to a site with the probability with which a training cell of its class does, and is moved
back by what that site has learned. The classifier is the one that the federation computes: that of
the moments of all cells, aligned. `agreed`: all sites use the same names. `switched`: names mean
nothing, and classes are found by matching slots of at least five cells. Data sets are read from
FEDHULL_DATA_DIR or downloaded. Prints a table in Markdown: mean ± 1.96 standard errors of the
trials.
"""

import sys
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.model_selection import train_test_split

from fedhull.data.datasets import load_dataset
from fedhull.disc.isometry import rotation, translation
from fedhull.learn.centres import Centres, class_centres
from fedhull.learn.grouping import share_matched
from fedhull.learn.moment_classifier import MomentClassifier
from fedhull.learn.moved_slots import match_moved_slots
from fedhull.learn.places import class_place
from fedhull.learn.site_alignment import align_site
from fedhull.learn.sketch import class_sketch, slot_means
from fedhull.learn.slots import match_slots
from fedhull.simulation.sites import partition

SITES, SHARES = 10, "dirichlet:0.5"
SHIFTS = (0.0, 0.2, 0.5)
TRIALS, ROUNDS = 3, 3
LEAST_CELLS = 5
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
        total = Centres.none(study.n_classes, 2)
        for f, x, y in zip(isometries, study.x, study.y, strict=True):
            total += class_centres(f.apply(x), y, study.n_classes)
        isometries = [
            align_site(x, y, total, f).isometry
            for f, x, y in zip(isometries, study.x, study.y, strict=True)
        ]
        yield isometries


def switched(study, match):
    """The study as sites see it whose names mean nothing: classes are those that `match` finds for
    slots of at least five cells, named by the true class that most of their slots have. Also the
    share of slots in the right class, and of those that are marked as doubtful."""
    cells, owners, truth = [], [], []
    for site, (x, y) in enumerate(zip(study.x, study.y, strict=True)):
        for c in np.unique(y):
            if (y == c).sum() >= LEAST_CELLS:
                cells.append(x[y == c])
                owners.append(site)
                truth.append(int(c))
    counts = [len(slot) for slot in cells]
    found = match(cells, counts, owners, study.n_classes)
    agree = np.zeros((found.n_classes, study.n_classes))
    np.add.at(agree, (found.groups, truth), 1.0)
    groups, classes = linear_sum_assignment(-agree)
    names = dict(zip(groups.tolist(), classes.tolist(), strict=True))
    left = iter(set(range(study.n_classes)) - set(names.values()))
    named = np.array([names[g] if g in names else next(left) for g in range(found.n_classes)])
    xs, ys = [], []
    for site in range(SITES):
        mine = [i for i, owner in enumerate(owners) if owner == site]
        xs.append(np.vstack([np.zeros((0, 2)), *(cells[i] for i in mine)]))
        labels = [np.full(counts[i], named[found.groups[i]]) for i in mine]
        ys.append(np.concatenate([np.zeros(0, dtype=int), *labels]))
    right = share_matched(found.groups, truth)
    return study._replace(x=xs, y=ys), right, float(found.doubtful.mean())


def by_sketches(cells, counts, owners, n_classes):
    return match_slots(
        slot_means([class_sketch(x) for x in cells], counts), counts, owners, n_classes
    )


def by_places(cells, counts, owners, n_classes):
    return match_moved_slots([class_place(x) for x in cells], counts, owners, n_classes)


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


def switched_names(name, x, y, shift):
    """Slots in the right class and accuracy after two rounds, by sketches and by places."""
    rows = []
    for seed in range(TRIALS):
        study = deal(x, y, shift, seed)
        *_, agreed = aligned(study, 2)
        row = [accuracy(study, agreed)]
        for match in (by_sketches, by_places):
            seen, right, doubtful = switched(study, match)
            *_, found = aligned(seen, 2)
            row += [100.0 * right, 100.0 * doubtful, accuracy(seen, found)]
        rows.append(row)
    write(f"| {name} | {shift:g} | {' | '.join(spread(rows))} |")


def write(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(kind, names):
    if kind == "agreed":
        head, measure = [f"aligned {n} times" for n in range(ROUNDS + 1)], agreed_names
    else:
        of = ("slots right", "doubtful", "accuracy")
        head = [
            "names agreed",
            *(f"{how}: {what}" for how in ("sketches", "places") for what in of),
        ]
        measure = switched_names
    write(f"| data | S | {' | '.join(head)} |")
    write("|---" * (len(head) + 2) + "|")
    for name in names:
        x, y = load_dataset(name, seed=0)
        for shift in SHIFTS:
            measure(name, x, y, shift)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
