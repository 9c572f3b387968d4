"""Generated trees: one batch for each donor, mixtures as different as asked for."""

import numpy as np
import pytest

import fedhull
from fedhull.errors import InvalidInput


def lineages_by_donor(data):
    names, number = np.unique(data.y, return_inverse=True)
    counts = np.zeros((data.donor.max() + 1, len(names)))
    np.add.at(counts, (data.donor, number), 1)
    return counts / counts.sum(axis=1, keepdims=True)


def test_every_donor_has_a_mixture_of_its_own_the_smaller_mixing_the_more():
    spread = [
        lineages_by_donor(fedhull.make_tree(8_000, donors=20, mixing=mixing, seed=0)).std(axis=0)
        for mixing in (0.1, 1.0, 1e6)
    ]
    assert (spread[0] > spread[1]).all()
    assert (spread[1] > 3 * spread[2]).all()
    # with equal mixtures only chance is left: 400 cells, a sixth of each
    assert spread[2].max() < 3 * np.sqrt(5 / 36 / 400)


def test_a_donors_cells_are_of_one_batch():
    data = fedhull.make_tree(2_000, donors=6, batches=3, seed=0)
    assert sorted(set(data.donor.tolist())) == list(range(6))
    assert all(len(set(data.batch[data.donor == d].tolist())) == 1 for d in range(6))
    assert set(data.batch.tolist()) == {0, 1, 2}


def test_without_donors_all_cells_are_one_donors():
    assert not fedhull.make_tree(100, seed=0).donor.any()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"donors": 0}, "donors must be a whole number of at least 1"),
        ({"mixing": 0}, "mixing must be a number > 0, got 0"),
        ({"mixing": float("nan")}, "mixing must be a number > 0"),
    ],
)
def test_impossible_donors_are_refused_in_a_sentence(options, words):
    with pytest.raises(InvalidInput, match=words):
        fedhull.make_tree(50, **options)
