"""Tallies of held-out cells: they add up over sites, and say what scikit-learn says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, log_loss
from strategies import seeds

from fedhull.errors import InvalidInput
from fedhull.learn.content import Landmarks
from fedhull.learn.tally import EDGES, LEVELS, TEMPERATURES, Tally, decide, tally_size, verdict


def judged_cells(seed, n=200, candidates=3, classes=4):
    """(log-probabilities, true columns, farness) of cells, of candidates that are right mostly."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, classes, n)
    logits = rng.normal(size=(candidates, n, classes))
    logits[:, np.arange(n), true] += np.linspace(1.0, 3.0, candidates)[:, None]
    said = logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))
    return said, true, rng.gamma(2.0, 1.0, n)


def tally_of(said, true, far, named=None):
    named = np.ones(len(true), dtype=bool) if named is None else named
    return Tally.of(said, said.argmax(axis=2), true, named, far)


@given(seeds, st.integers(1, 5))
def test_tallies_of_sites_add_up_to_that_of_all_cells(seed, sites):
    said, true, far = judged_cells(seed)
    owner = np.random.default_rng(seed).integers(0, sites, len(true))
    parts = [tally_of(said[:, owner == i], true[owner == i], far[owner == i]) for i in range(sites)]
    total, whole = sum(part.packed() for part in parts), tally_of(said, true, far)
    added = Tally.unpacked(total, 3, 4)
    assert (added.confusion == whole.confusion).all()
    assert (added.far == whole.far).all()
    assert (added.levels[..., :2] == whole.levels[..., :2]).all()
    # each site rounds its sums to sixteenths, once
    assert np.abs(added.losses - whole.losses).max() <= sites / 2 + 1
    added.check(sites)


@given(seeds)
def test_confusion_and_loss_are_those_of_scikit_learn(seed):
    said, true, far = judged_cells(seed)
    tally = tally_of(said, true, far)
    for c, candidate in enumerate(said):
        expected = confusion_matrix(true, candidate.argmax(axis=1), labels=range(4))
        assert (tally.confusion[c, :-1] == expected).all()
        assert not tally.confusion[c, -1].any()
        # where no cell's loss is cut off
        at = int(np.flatnonzero(TEMPERATURES == 4.0)[0])
        tempered = np.exp(candidate / 4.0)
        tempered /= tempered.sum(axis=1, keepdims=True)
        loss = log_loss(true, tempered, labels=range(4), normalize=False)
        assert tally.log_losses[c, at] == pytest.approx(loss, abs=1 / 16)


@given(seeds)
def test_of_cells_whose_class_is_not_said_right_and_wrong_are_all_that_is_counted(seed):
    said, true, far = judged_cells(seed)
    named = true != 2
    hidden, plain = tally_of(said, true, far, named), tally_of(said, true, far)
    assert (hidden.correct == plain.correct).all()
    assert (hidden.losses == plain.losses).all()
    assert not hidden.confusion[:, 2].any()
    assert (hidden.confusion[:, -1] == plain.confusion[:, 2]).all()
    hidden.check(1)
    found = verdict(hidden, 0, 0, ["a", "b", "c"], MARKS, 1.0)
    assert found.unnamed == (~named).sum()
    assert (found.correct, found.cells) == (plain.correct[0], 200)


@given(seeds, st.integers(1, 16), st.integers(2, 12))
def test_unpacking_undoes_packing(seed, candidates, classes):
    tally = tally_of(*judged_cells(seed, 30, candidates, classes))
    packed = tally.packed()
    assert packed.shape == (tally_size(candidates, classes),)
    again = Tally.unpacked(packed.tolist(), candidates, classes)
    assert (again.packed() == packed).all()
    with pytest.raises(InvalidInput, match="numbers"):
        Tally.unpacked(packed[:-1], candidates, classes)


@given(seeds, st.integers(0, 10**6))
def test_a_tally_in_which_a_mask_is_left_is_refused(seed, where):
    tally = tally_of(*judged_cells(seed, 50))
    packed = tally.packed()
    noise = np.random.default_rng(seed).integers(0, 2**31 - 1, len(packed))
    with pytest.raises(InvalidInput):
        Tally.unpacked((packed + noise) % (2**31 - 1), 3, 4).check(3)
    # one count too many is noticed wherever it stands, except in a sum that is not counted
    counted = np.flatnonzero(Tally.none(3, 4).packed() == 0)
    changed, at = packed.copy(), counted[where % len(counted)]
    changed[at] += 1
    other = Tally.unpacked(changed, 3, 4)
    if (other.confusion != tally.confusion).any() or (other.far != tally.far).any():
        with pytest.raises(InvalidInput):
            other.check(3)


def test_no_cell_counts_for_more_than_a_loss_of_five():
    said = np.log(np.array([[[1e-12, 1.0 - 1e-12]]]))
    tally = tally_of(said, np.array([0]), np.ones(1))
    assert tally.log_losses.max() == 5.0


# The choice


MARKS = Landmarks(np.zeros((4, 2)), np.ones(4))


def test_the_first_candidate_stays_unless_another_is_clearly_better():
    said, true, far = judged_cells(0, 400)
    assert decide(tally_of(said, true, far))[0] == 2  # the surest of them is right most often
    alike = np.stack([said[0], said[0] * 1.001])
    assert decide(tally_of(alike, true, far))[0] == 0
    few = tally_of(said[:, :3], true[:3], far[:3])
    assert decide(few)[0] == 0


def test_a_candidate_that_gets_fewer_right_is_never_chosen():
    said, true, far = judged_cells(1, 400)
    worse = said[2].copy()
    worse[:40] = np.roll(worse[:40], 1, axis=1)  # surer of most, and wrong on forty more
    tally = tally_of(np.stack([said[2], 2.0 * worse]), true, far)
    assert decide(tally)[0] == 0


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_the_temperature_undoes_what_made_a_candidate_too_sure_or_not_sure_enough(factor):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(5000, 4)) * 2.0
    said = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    true = np.array([rng.choice(4, p=p) for p in np.exp(said)])
    tally = tally_of((said * factor)[None], true, np.ones(5000))
    chosen, at = decide(tally)
    assert TEMPERATURES[at] == pytest.approx(factor, rel=0.2)
    found = verdict(tally, chosen, at, ["only"], MARKS, 1.0)
    assert found.calibration_error < 0.03
    assert sum(level.cells for level in found.calibration) == found.cells == 5000


@given(seeds, st.integers(5, 400))
def test_at_most_one_held_out_cell_in_a_hundred_is_out_of_reach_and_no_smaller_reach_does(seed, n):
    said, true, far = judged_cells(seed, n)
    far = far * 20.0 ** np.random.default_rng(seed).normal()
    found = verdict(tally_of(said, true, far), 0, 0, ["a", "b", "c"], MARKS, 1.0)
    assert (far > found.reach).sum() <= 0.01 * n or found.reach > EDGES[-1]
    smaller = EDGES[found.reach > EDGES]
    if len(smaller):
        assert (far > smaller[-1]).sum() > 0.01 * n


@given(seeds)
def test_recall_and_precision_are_shares_of_rows_and_columns(seed):
    said, true, far = judged_cells(seed, 60)
    found = verdict(tally_of(said, true, far), 1, 4, ["a", "b", "c"], MARKS, 1.0)
    given = said[1].argmax(axis=1)
    for c in range(4):
        hits = ((true == c) & (given == c)).sum()
        assert found.recall[c] == (100 * hits / (true == c).sum() if (true == c).any() else None)
        right = 100 * hits / (given == c).sum() if (given == c).any() else None
        assert found.precision[c] == right
    assert found.correct == (given == true).sum()
    assert len(found.calibration) <= LEVELS
