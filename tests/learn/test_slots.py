"""Matching slots: the sibling constraint, missing classes, how many there are, and how certain."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, seeds

import fedhull
from fedhull.data.datasets import load_dataset
from fedhull.errors import InvalidInput
from fedhull.learn.grouping import share_matched
from fedhull.learn.sketch import class_sketch, slot_means
from fedhull.learn.slots import match_slots
from fedhull.simulation.sites import partition


def study(seed, sites=8, classes=6, spread=0.15, held=0.7, least=5, most=300):
    """Slots of classes that lie about the disc: mean sketches, counts, owners, true classes."""
    rng = np.random.default_rng(seed)
    centres = fedhull.sample_uniform(classes, 0.95, seed=seed)
    means, counts, owners, truth = [], [], [], []
    for site in range(sites):
        for c in rng.permutation(classes):
            if rng.random() < held:
                n = int(np.exp(rng.uniform(np.log(least), np.log(most))))
                cells = fedhull.exp_map(np.zeros(2), spread * rng.normal(size=(n, 2)))
                cells = fedhull.mobius_add(centres[c], cells)
                means.append(slot_means([class_sketch(cells, seed=seed)], [n])[0])
                counts.append(n)
                owners.append(site)
                truth.append(int(c))
    return np.array(means), np.array(counts), np.array(owners), truth


def random_slots(seed, n):
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.7, 0.7, (n, 8)), rng.integers(1, 100, n), rng.integers(0, 5, n)


@given(seeds, st.integers(1, 25), st.booleans())
@examples(60)
def test_two_slots_of_a_site_are_never_of_one_class_and_no_class_is_empty(seed, n, known):
    means, counts, owners = random_slots(seed, n)
    largest = int(np.bincount(owners).max())
    found = match_slots(means, counts, owners, largest + 1 if known else 0)
    pairs = list(zip(owners.tolist(), found.groups.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert sorted(set(found.groups.tolist())) == list(range(found.n_classes))
    assert largest <= found.n_classes <= (largest + 1 if known else n)
    assert ((found.certainty >= 0.0) & (found.certainty <= 1.0)).all()


@given(seeds)
@examples(15)
def test_the_order_of_slots_and_the_names_of_sites_do_not_matter(seed):
    means, counts, owners, truth = study(seed, sites=5)
    rng = np.random.default_rng(seed)
    order, names = rng.permutation(len(truth)), rng.permutation(100)
    first = match_slots(means, counts, owners)
    second = match_slots(means[order], counts[order], names[owners[order]])
    assert share_matched(second.groups, first.groups[order].tolist()) == 1.0
    assert second.n_classes == first.n_classes
    np.testing.assert_allclose(second.certainty, first.certainty[order], atol=1e-6)


@pytest.mark.parametrize("known", [True, False])
def test_classes_are_matched_where_sites_lack_some_and_sizes_differ(known):
    shares, right = [], []
    for seed in range(20):
        means, counts, owners, truth = study(seed)
        n_classes = len(set(truth))
        found = match_slots(means, counts, owners, n_classes if known else 0)
        shares.append(share_matched(found.groups, truth))
        right.append(found.n_classes == n_classes)
    assert np.mean(shares) >= 0.985
    assert np.mean(right) >= 0.9


def test_a_class_that_only_one_site_has_is_a_class():
    for seed in range(10):
        means, counts, owners, truth = study(seed, sites=6, held=1.0, spread=0.08, least=20)
        single = [i for i, c in enumerate(truth) if c != 0 or owners[i] == 3]
        found = match_slots(means[single], counts[single], owners[single])
        assert share_matched(found.groups, [truth[i] for i in single]) == 1.0
        assert found.n_classes == 6


def test_a_class_that_was_withheld_everywhere_is_not_made_up():
    means, counts, owners, truth = study(4, held=1.0, spread=0.08, least=20)
    seen = [i for i, c in enumerate(truth) if c != 2]
    found = match_slots(means[seen], counts[seen], owners[seen], n_classes=6)
    assert found.n_classes == 5
    assert share_matched(found.groups, [truth[i] for i in seen]) == 1.0


def test_sites_that_each_hold_one_class_of_their_own_are_kept_apart():
    means, counts, _, truth = study(1, sites=1, classes=12, held=1.0, spread=0.05, least=20)
    found = match_slots(means, counts, np.arange(len(truth)))
    assert found.n_classes == 12


def test_certain_matches_are_right_and_most_wrong_ones_are_marked():
    certain, doubtful = [], []
    for seed in range(40):
        # classes that overlap, and slots of few cells
        means, counts, owners, truth = study(seed, classes=8, spread=0.5, most=30)
        found = match_slots(means, counts, owners, 8)
        right = rightly_matched(found.groups, truth)
        certain += right[~found.doubtful].tolist()
        doubtful += right[found.doubtful].tolist()
    assert np.mean(certain) >= 0.97
    assert np.mean(doubtful) < np.mean(certain) - 0.1
    assert len(doubtful) < 0.3 * len(certain)


def rightly_matched(groups, truth):
    """Which slots are of the class that most of their group are of."""
    truth = np.array(truth)
    commonest = [np.bincount(truth[groups == g]).argmax() for g in range(groups.max() + 1)]
    return truth == np.array(commonest)[groups]


def test_a_slot_between_two_classes_is_doubtful_and_the_others_are_not():
    means, counts, owners, truth = study(2, sites=6, classes=2, held=1.0, spread=0.1, least=40)
    a, b = (means[np.array(truth) == c].mean(axis=0) for c in (0, 1))
    # whoever has both must have one of each; this site has one only
    found = match_slots(np.vstack((means, (a + b) / 2)), [*counts, 5], [*owners, 99], 2)
    assert found.doubtful.tolist() == [False] * len(truth) + [True]


@pytest.mark.slow
def test_a_thousand_sites_with_ten_classes_are_matched():
    rng = np.random.default_rng(0)
    angle = 2 * np.pi * rng.random((10, 4))
    middles = 0.7 * np.stack((np.cos(angle), np.sin(angle)), axis=2).reshape(10, 8)
    sizes = rng.integers(5, 11, 1000)
    truth = np.concatenate([rng.permutation(10)[:size] for size in sizes])
    owners, counts = np.repeat(np.arange(1000), sizes), rng.integers(5, 200, len(truth))
    noise = rng.normal(size=(len(truth), 8)) * np.sqrt(0.25 / counts)[:, None]
    means = np.clip(middles[truth] + noise, -1.0, 1.0)
    for n_classes in (10, 0):
        found = match_slots(means, counts, owners, n_classes)
        assert found.n_classes == 10
        assert share_matched(found.groups, truth.tolist()) >= 0.999


@pytest.mark.parametrize("name", ["paul", "fashion-mnist"])
def test_cells_of_ten_unequal_sites_are_matched(name, data_dir):
    x, y = load_dataset(name)
    shares = []
    for seed in range(3):
        owner = partition(y, 10, "dirichlet:0.5", seed)
        slots = [(o, c, x[(owner == o) & (y == c)]) for o in range(10) for c in np.unique(y)]
        owners, truth, cells = zip(*[slot for slot in slots if len(slot[2]) >= 5], strict=True)
        counts = [len(part) for part in cells]
        means = slot_means([class_sketch(part, seed=seed) for part in cells], counts)
        for n_classes in (10, 0):
            found = match_slots(means, counts, owners, n_classes)
            shares.append(share_matched(found.groups, list(truth)))
    assert min(shares) >= 0.97


def test_slots_that_are_all_alike_or_single_are_matched():
    assert match_slots([[0.5] * 8], [3], ["a"]).groups.tolist() == [0]
    same = match_slots([[0.5] * 8] * 6, [5] * 6, [0, 1, 2, 3, 4, 5])
    assert same.groups.tolist() == [0] * 6
    siblings = match_slots([[0.5] * 8] * 3, [5] * 3, [0, 0, 0])
    assert siblings.groups.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_classes": 1}, "n_classes must be at least 2"),
        ({"means": [[0.1] * 3] * 3}, r"shape \(n, 2p\)"),
        ({"means": [[3.0] * 8] * 3}, "from −1 to 1"),
        ({"means": [[np.nan] * 8] * 3}, "from −1 to 1"),
        ({"counts": [1, 0, 2]}, "counts must be 3 numbers"),
        ({"owners": [0, 1]}, "owners must be 3 names"),
    ],
)
def test_what_cannot_be_matched_is_refused(change, words):
    slots = {"means": [[0.1] * 8] * 3, "counts": [1, 2, 3], "owners": [0, 0, 1]}
    with pytest.raises(InvalidInput, match=words):
        match_slots(**(slots | change))
