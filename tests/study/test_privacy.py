"""Studies that promise differential privacy: what a cell can change, and how noise hides it."""

import json
import math

import msgspec
import numpy as np
import pytest
from commands import fedhull
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, seeds

from fedhull import simulate
from fedhull.data.generated import make_tree
from fedhull.errors import InvalidInput
from fedhull.learn.moments import Extent
from fedhull.learn.sketch import LONGEST
from fedhull.learn.tally import Tally
from fedhull.protocol.keys import Identity, Randomness
from fedhull.rounds.noise import noise_of
from fedhull.study.dp import bounded, lots
from fedhull.study.draft import draft_study, site_name
from fedhull.study.kinds import task_of
from fedhull.study.rehearsal import rehearse
from fedhull.study.study import Classes, Study

NAMES = ["lineage-1", "lineage-2", "lineage-3", "stem"]
RIM = 1.0 - 1e-9


def private_study(sites=4, agreed=True, **changes):
    usual = {"summary": "moments", "features": 24, "dp_epsilon": 4.0}
    study = draft_study(sites, len(NAMES), **usual | changes)
    return msgspec.structs.replace(study, classes=Classes(names=NAMES)) if agreed else study


def cells(seed=0, n=2000):
    tree = make_tree(n, lineages=3, seed=seed)
    return tree.x, tree.y


def held(study, x, y, donors=None):
    return task_of(study).hold(x, y, np.array(NAMES), donors)


anywhere = st.tuples(st.floats(0.0, RIM), st.floats(0.0, 2 * math.pi)).map(
    lambda polar: np.array([[polar[0] * math.cos(polar[1]), polar[0] * math.sin(polar[1])]])
)


@given(anywhere, st.sampled_from(NAMES), st.sampled_from([2, 24, 128]), seeds)
@examples(40)
def test_a_cell_changes_the_moments_by_no_more_than_the_noise_is_for(cell, name, features, seed):
    """Added to others or taken away, wherever it lies: products, sums and counts."""
    study = private_study(features=features, holdout=0.0)
    x, y = cells(seed % 3, 50)
    noise = noise_of(study)
    numbers, extent = [[i] for i in range(4)], Extent(features, (features,) * 4)
    moments_held = task_of(study).summary.moments_held
    with_it = held(study, np.vstack((x, cell)), np.append(y, name))
    ours = moments_held(with_it, numbers, extent)
    theirs = moments_held(held(study, x, y), numbers, extent)
    upper = (ours.gram - theirs.gram)[np.triu_indices(features)]
    sums, counts = ours.sums - theirs.sums, ours.counts - theirs.counts
    products = noise.longest**2 + (noise.longest << 32)
    assert 2 * sum(int(v) ** 2 for v in upper) <= products + 2
    assert sum(int(v) ** 2 for v in sums.ravel()) <= noise.longest
    assert np.square(counts).sum() == 1


@given(anywhere, seeds)
@examples(40)
def test_a_cell_changes_a_sketch_by_no_more_than_the_noise_is_for(cell, seed):
    study = private_study(4, agreed=False, holdout=0.0)
    x, _ = cells(seed % 3, 30)
    describe = task_of(study).rounds[0].slots.describe
    ours, theirs = (describe(each) for each in (np.vstack((x, cell)), x))
    count, *sums = (a - b for a, b in zip(ours, theirs, strict=True))
    assert count == 1
    assert sum(v**2 for v in sums) <= LONGEST**2


@given(anywhere, st.integers(0, 3), st.integers(1, 5), seeds)
@examples(40)
def test_a_cell_changes_a_tally_by_no_more_than_the_noise_is_for(cell, true, n_candidates, seed):
    rng = np.random.default_rng(seed)
    n = 30
    said = np.log(rng.dirichlet(np.ones(4), (n_candidates, n)))
    classes, far = rng.integers(0, 4, n), rng.uniform(0.0, 60.0, n)
    classes[-1] = true
    whole, part = (
        Tally.of(
            said[:, :m], said[:, :m].argmax(axis=2), classes[:m], np.ones(m, dtype=bool), far[:m]
        )
        for m in (n, n - 1)
    )
    changes = [a - b for a, b in zip(whole.parts, part.parts, strict=True)]
    confusion, losses, levels, farness = changes
    squares = [
        int(np.square(change).sum())
        for change in (confusion, losses, levels[..., :2], levels[..., 2], farness)
    ]
    assert all(s <= most for s, most in zip(squares, Tally.squares(n_candidates), strict=True))


@given(seeds, st.integers(1, 40))
@examples(25)
def test_whether_a_cell_is_held_out_depends_on_no_other_cell(seed, n):
    x, y = cells(seed % 5, 60)
    study = private_study(holdout=0.3)
    everything, some = held(study, x, y), held(study, x[:n], y[:n])
    assert (everything.test[:n] == some.test).all()


def test_all_cells_of_a_donor_are_held_out_together_and_only_so_many_are_used():
    x, y = cells(n=600)
    donors = np.repeat(np.arange(30), 20)
    study = private_study(dp_unit="donor", holdout=0.3)
    study = msgspec.structs.replace(
        study, privacy=msgspec.structs.replace(study.privacy, unit_cells=7)
    )
    used = bounded(x, donors, 7, 0)
    assert (np.bincount(donors[used]) == 7).all()
    made = held(study, x, y, donors)
    assert len(made.x) == 30 * 7
    tested = lots(x, donors, 0) < 0.3
    assert made.test.tolist() == tested[used].tolist()
    assert 0 < tested.sum() < len(tested)
    assert all(len(set(tested[donors == d])) == 1 for d in range(30))
    cell, donor = noise_of(private_study()), noise_of(study)
    for one, other in list(zip(cell.total_variances, donor.total_variances, strict=True))[:2]:
        assert other >= 49 * (one - 1)
    with pytest.raises(InvalidInput, match="--donor"):
        held(study, x, y)


def test_as_many_honest_sites_as_must_stay_keep_the_promise_and_fewer_keep_less():
    noise = noise_of(private_study(10))
    assert (noise.threshold, noise.tolerated) == (7, 3)
    assert noise.spent(7) == pytest.approx(4.0, rel=1e-6)
    assert noise.spent(10) < 4.0 < noise.spent(7 - 3)


@pytest.mark.parametrize("agreed", [True, False])
def test_costs_add_up_to_the_promise(agreed):
    noise = noise_of(private_study(10, agreed, features=32))
    square = noise.longest
    products = (square * square + (square << 32)) // 2 + 1
    gram, sums, counts = noise.total_variances
    spent = sum(s / (2.0 * 7 * v) for s, v in ((products, gram), (square, sums), (1, counts)))
    if not agreed:
        count, sketch = noise.slot_variances
        spent += 1 / (2.0 * count) + LONGEST**2 / (2.0 * sketch)
    # no noise is below a least variance, so that a little is left
    assert 0.9 * noise.cost < spent <= noise.cost * (1 + 1e-9)
    votes = zip(Tally.squares(3), noise.ballot_variances(3), strict=True)
    assert sum(s / (2.0 * 7 * v) for s, v in votes) <= noise.cost * (1 + 1e-9)


@pytest.mark.parametrize("gone", [0, 1])
def test_totals_have_the_noise_of_those_who_stayed(gone):
    study, (x, y) = private_study(4, holdout=0.0, ballot=False), cells()
    owner = np.arange(len(y)) % 4
    holdings = {site_name(i): held(study, x[owner == i], y[owner == i]) for i in range(4)}
    vanish = {"upload": [site_name(i) for i in range(gone)]}
    outcome = rehearse(study, holdings, vanish=vanish).outcome
    extent = Extent(24, (24,) * 4)
    numbers = [[i] for i in range(4)]
    plain = sum(
        outcome.round.moments_held(holdings[name], numbers, extent).packed(extent)
        for name in outcome.survivors
    )
    added = (outcome.total.moments.packed(extent) - plain)[: 24 * 25 // 2]
    expected = math.sqrt((4 - gone) * noise_of(study).total_variances[0])
    # a chi-square with 300 degrees of freedom
    assert 0.8 * expected < added.std() < 1.2 * expected


def site_of(study, holdings, randomness=None):
    """The first site of the study, whose key is on the roster."""
    me = Identity.generate()
    study = msgspec.structs.replace(study, clients=study.clients | {"site-0001": me.public})
    return task_of(study).site("site-0001", me, holdings, randomness)


def test_nobody_can_tell_how_many_classes_a_site_has_or_how_many_cells():
    study = private_study(4, agreed=False)
    x, y = cells()
    whole = held(study, x, y)
    few = task_of(study).hold(x[y == "stem"], y[y == "stem"], np.array(["stem"]))
    assert (len(few.classes), len(whole.classes)) == (1, 4)
    sites = [site_of(study, each) for each in (few, whole)]
    assert [len(site.round.rows(site.own)) for site in sites] == [4, 4]
    assert [site.contribution().announced for site in sites] == [(), ()]


def test_a_site_that_goes_on_after_a_stop_adds_the_same_noise():
    study = private_study(4, agreed=False)
    holdings, root = held(study, *cells()), Randomness().root
    first, again = (site_of(study, holdings, Randomness(root)) for _ in range(2))
    other = site_of(study, holdings)
    rows = [site.round.rows(site.own) for site in (first, again, other)]
    assert rows[0] == rows[1]
    assert rows[0] != rows[2]
    assert first.own.noise_key("moments") != first.own.noise_key("votes")
    assert first.own.noise_key("votes", b"one") != first.own.noise_key("votes", b"another")


def test_no_count_leaves_without_noise():
    """Neither how many test points the model gets right, without a ballot, nor cells of classes."""
    study, (x, y) = private_study(4, ballot=False), cells()
    owner = np.arange(len(y)) % 4
    holdings = {site_name(i): held(study, x[owner == i], y[owner == i]) for i in range(4)}
    made = rehearse(study, holdings)
    assert made.outcome.counts.tested is None
    assert not made.sites["site-0001"].session.totals
    model = made.sites["site-0001"].outcome.model
    published = made.outcome.to_json()
    assert published["tested"] is None
    assert model.judged_ is None


def test_classes_are_found_in_noise_and_the_model_is_nearly_that_of_all_cells():
    tree = make_tree(12_000, lineages=3, seed=4)
    settings = {"clients": 4, "epsilon": 0.1, "summary": "moments", "switch_labels": True}
    result = simulate(tree.x, tree.y, dp_epsilon=4.0, **settings)
    plain = simulate(tree.x, tree.y, align=0, **settings)
    assert result.to_json()["grouping_correct"] == 1.0
    assert result.to_json()["decoded_exactly"]
    ours, theirs = (r.accuracy["FL"]["mean"] for r in (result, plain))
    assert ours > theirs - 3.0
    dp = result.to_json()["dp"]
    assert (dp["epsilon"], dp["delta"], dp["unit"]) == (4.0, 1e-5, "cell")
    assert dp["spent"] <= 4.0 < dp["spent_against_sites"]
    assert plain.to_json()["dp"] is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"summary": "hulls", "radius": 0.9}, "moments"),
        ({"align": 1}, "align"),
        ({"dp_epsilon": None, "dp_delta": 1e-6}, "dp_epsilon"),
        ({"dp_epsilon": -1.0}, "epsilon"),
        ({"dp_delta": 0.5}, "delta"),
    ],
)
def test_what_cannot_be_promised_is_refused(changes, words):
    with pytest.raises(InvalidInput, match=words):
        private_study(**changes)


def test_where_no_class_stands_out_from_the_noise_that_is_said():
    x, y = cells(n=80)
    settings = {"clients": 3, "epsilon": 0.1, "summary": "moments", "dp_epsilon": 0.01}
    with pytest.raises(InvalidInput, match=r"epsilon = 0\.01 no class of a site stands out"):
        simulate(x, y, **settings)


def test_a_study_that_promises_nothing_keeps_its_hash():
    study = draft_study(3, 4, summary="moments")
    plain = msgspec.to_builtins(study)
    assert plain.pop("privacy") is None
    assert Study.from_plain(plain).hash == study.hash
    assert "privacy" not in study.to_toml()
    assert private_study().hash != private_study(dp_epsilon=5.0).hash


def test_a_site_whose_class_is_lost_in_noise_takes_part_all_the_same():
    study = private_study(4, agreed=False, dp_epsilon=2.0)
    x, y = cells(n=8000)
    owner = np.random.default_rng(99).integers(0, 4, len(y))
    # two cells of a class at the first site: far below what stands out
    rare = np.flatnonzero((owner == 0) & (y == "stem"))
    owner[rare[2:]] = 1
    holdings = {site_name(i): held(study, x[owner == i], y[owner == i]) for i in range(4)}
    made = rehearse(study, holdings)
    first = made.sites["site-0001"]
    assert first.complaint is None
    names = {match["name"] for match in first.result()["matches"]}
    assert names == {"lineage-1", "lineage-2", "lineage-3"}
    assert set(first.outcome.model.predict(x)) <= {
        *names,
        "class 1",
        "class 2",
        "class 3",
        "class 4",
    }


def test_a_column_of_donors_in_a_table_is_no_coordinate(tmp_path):
    x, y = cells(n=3000)
    rows = [
        f"{a},{b},{name},d{i % 1000}" for i, ((a, b), name) in enumerate(zip(x, y, strict=True))
    ]
    (tmp_path / "cells.csv").write_text("\n".join(["x0,x1,label,donor", *rows]))
    words = ["simulate", "--dataset", tmp_path / "cells.csv", "--summary", "moments", "--json"]
    made = fedhull(*words, "--features", "24", "--dp-epsilon", "50", "--dp-unit", "donor")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["dp"]["unit"] == "donor"
