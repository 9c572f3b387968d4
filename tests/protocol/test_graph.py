"""Sparse graphs of masks: how large they must be, and that sums over them are exact."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parties import expected_hulls, make_clients, make_parties, make_server, make_study
from scipy import stats
from strategies import examples

from fedhull.errors import BelowThreshold, InvalidInput
from fedhull.protocol.agreement import collusion_words
from fedhull.protocol.degree import AVAILABILITY, SECURITY, _log2_tails, _separable, circle, jury
from fedhull.protocol.drive import MemoryEngine, bytes_up, drive
from fedhull.protocol.graph import _draws, graph_of
from fedhull.study.draft import draft_study
from fedhull.study.study import Study

STEPS = ["advertise", "share", "announce", "upload", "confirm", "unmask"]
SITES = 30


# How large circles and juries are.


@given(st.integers(2, 400), st.integers(0, 400), st.integers(1, 400), st.data())
def test_tails_are_those_of_the_hypergeometric_distribution(population, marked, drawn, data):
    marked, drawn = min(marked, population), min(drawn, population)
    least = data.draw(st.integers(0, drawn))
    found = _log2_tails(population, np.array([marked]), drawn, least)[0, 0]
    ways = sum(
        comb(marked, x) * comb(population - marked, drawn - x) for x in range(least, drawn + 1)
    )
    if ways == 0:
        assert found == -np.inf
    else:
        exact = np.log2(float(ways / comb(population, drawn)) or np.nan)
        assert np.isnan(exact) or found == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize(("n", "c", "k", "s"), [(9, 1, 3, 2), (10, 2, 4, 3), (11, 1, 5, 4)])
def test_no_more_graphs_can_be_separated_than_the_bound_says(n, c, k, s):
    """All sets of at most half of the honest sites are tried, on graphs drawn by other means."""
    rng, separable, tried = np.random.default_rng(0), 0, 3000
    honest = range(c, n)
    sets = [a for size in range(1, len(honest) // 2 + 1) for a in combinations(honest, size)]
    for _ in range(tried):
        holders = [
            {int(j) for j in rng.choice([j for j in range(n) if j != i], k, replace=False)}
            for i in range(n)
        ]
        separable += any(
            all(len(holders[i] & {*a, *range(c)}) >= s for i in a) for a in sets
        )  # fmt: skip
    bound = 2 ** _separable(n, c, k, s)
    assert stats.binomtest(separable, tried, min(bound, 1), alternative="greater").pvalue > 1e-4
    # and the bound is of the right size, not merely large
    assert separable > 0.02 * min(bound, 1) * tried


@pytest.mark.parametrize("n", [30, 100, 251, 1000, 10_000])
def test_circles_and_juries_keep_their_promises(n):
    c = d = n // 10
    ring, court = circle(n, 0.1, 0.1), jury(n, 0.1, 0.1)
    assert _separable(n, c, ring.members, ring.enough) <= -SECURITY
    # an independent implementation of the tails
    alone = stats.hypergeom.logsf(ring.enough - 1, n - 1, c, ring.members) / np.log(2)
    assert alone <= -SECURITY
    thin = stats.hypergeom.sf(ring.members - ring.enough, n - 1, d, ring.members) * n
    assert thin <= 2**-AVAILABILITY
    assert court.enough > court.members / 2
    both = 2 * court.enough - court.members
    assert stats.hypergeom.logsf(both - 1, n, c, court.members) / np.log(2) <= -SECURITY
    assert stats.hypergeom.sf(court.members - court.enough, n, d, court.members) <= 2**-AVAILABILITY


def test_the_numbers_of_the_documentation():
    """docs/threat-model.md has them."""
    found = {n: (circle(n, 0.1, 0.1), jury(n, 0.1, 0.1)) for n in (300, 1000, 10_000)}
    sizes = {n: (a.members, a.enough, b.members, b.enough) for n, (a, b) in found.items()}
    assert sizes == {300: (48, 30, 67, 49), 1000: (63, 40, 96, 71), 10_000: (75, 47, 109, 81)}


def test_a_roster_that_is_too_small_for_the_rates_is_refused():
    with pytest.raises(InvalidInput, match=r"4 sites are too few .* takes at least 5"):
        make_study(4, graph="sparse")
    assert make_study(5, graph="sparse").is_sparse


def test_a_graph_that_bears_no_colluding_site_says_so_and_why():
    words = collusion_words(make_study(6, graph="sparse"))
    assert words.startswith("If a single site works together with the coordinator")
    assert "A collusion of 0.1 of 6 sites is less than one site" in words
    assert "less than one site" not in collusion_words(make_study(3, threshold=2))


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (
            "graph = 'spars'",
            r"protocol.graph must be one of 'auto', 'complete', 'sparse', got 'spars'",
        ),
        ("collusion = 'x'", "protocol.collusion must be a number, got 'x'"),
    ],
)
def test_a_setting_of_the_graph_that_there_is_not_is_refused_by_its_name(setting, words):
    text = make_study(5).to_toml()
    key = setting.partition(" ")[0]
    lines = [setting if line.startswith(f"{key} =") else line for line in text.splitlines()]
    with pytest.raises(InvalidInput, match=words):
        Study.from_toml("\n".join(lines))


def test_up_to_250_sites_the_graph_is_complete():
    for sites, sparse in ((250, False), (251, True)):
        study = draft_study(sites, 2, epsilon=0.1, radius=0.9)
        assert study.is_sparse == sparse
        graph = graph_of(study, bytes(16), ordered=False)
        assert (graph.partners("site-0001") == study.clients.keys() - {"site-0001"}) != sparse
    assert draft_study(250, 2, epsilon=0.1, radius=0.9).tolerated == 83
    assert study.tolerated == 25


# The graph itself.


def sparse(n=SITES, **options):
    return make_study(n, graph="sparse", **options)


def test_all_work_out_the_same_graph_and_another_in_another_session():
    study = sparse()
    graph = graph_of(study, bytes(16), ordered=True)
    for name in study.clients:
        assert len(graph.holders[name]) == study.circle.members
        assert name not in graph.holders[name]
        assert graph.owners[name] == {o for o in study.clients if name in graph.holders[o]}
    assert len(graph.witnesses) == study.jury.members
    assert graph.dealers < graph.witnesses
    other = graph_of(study, bytes([1] * 16), ordered=True)
    assert other.holders != graph.holders
    assert other.witnesses != graph.witnesses


def test_circles_are_drawn_uniformly():
    counts = np.zeros(20)
    for row in _draws(bytes(32), b"test", 4000, 5, 20):
        assert len(set(row)) == 5
        counts[row] += 1
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.slow
def test_a_tenth_of_a_thousand_sites_may_drop_out_of_any_graph():
    study, rng = draft_study(1000, 2, epsilon=0.1, radius=0.9), np.random.default_rng(0)
    names = np.array(list(study.clients))
    for number in range(100):
        graph = graph_of(study, bytes([number] * 16), ordered=False)
        there = set(rng.permutation(names)[100:].tolist())
        assert graph.bearable(there) == there
        assert len(graph.witnesses & there) >= graph.quorum


# Sessions.


@given(st.sampled_from([20, 24, 30]), st.sampled_from(["auto", "binary"]), st.integers(0, 2**32))
@examples(10)
def test_sums_are_exact(n, code, seed):
    server, engine, clients, hulls = make_parties(n, seed=seed, graph="sparse", code=code)
    result = drive(server, engine)
    assert result.survivors == sorted(clients)
    assert result.total.hulls == expected_hulls(clients, hulls, result.survivors)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("code", ["auto", "binary"])
def test_as_many_may_drop_out_at_any_step_as_the_graph_is_made_for(code, step):
    rng = np.random.default_rng([len(step), len(code)])
    names = sorted(sparse().clients)
    gone = rng.choice(names, SITES // 10, replace=False).tolist()
    server, engine, clients, hulls = make_parties(
        SITES, graph="sparse", code=code, vanish={step: gone}
    )
    result = drive(server, engine)
    left = set(names) if step in ("confirm", "unmask") else set(names) - set(gone)
    assert result.survivors == sorted(left)
    assert result.total.hulls == expected_hulls(clients, hulls, result.survivors)


@given(st.lists(st.sampled_from(STEPS), min_size=3, max_size=3), st.integers(0, 2**32))
@examples(10)
def test_sites_may_drop_out_at_several_steps(steps, seed):
    gone = np.random.default_rng(seed).permutation(sorted(sparse().clients))[:3].tolist()
    vanish = {}
    for step, name in zip(steps, gone, strict=True):
        vanish.setdefault(step, []).append(name)
    server, engine, clients, hulls = make_parties(SITES, seed=seed, graph="sparse", vanish=vanish)
    result = drive(server, engine)
    assert result.total.hulls == expected_hulls(clients, hulls, result.survivors)


@pytest.mark.parametrize("step", STEPS)
def test_beyond_that_the_sum_is_exact_or_there_is_none(step):
    found = set()
    for share, seed in product((0.2, 0.3), range(3)):
        rng = np.random.default_rng([seed, len(step)])
        gone = rng.permutation(sorted(sparse().clients))[: int(share * SITES)].tolist()
        server, engine, clients, hulls = make_parties(SITES, graph="sparse", vanish={step: gone})
        try:
            result = drive(server, engine)
        except BelowThreshold:
            found.add("ended")
            assert server.aggregate is None
            continue
        found.add("sum")
        assert len(result.survivors) >= server.study.threshold
        assert result.total.hulls == expected_hulls(clients, hulls, result.survivors)
    assert "ended" in found


def without_a_circle(step):
    """A session in which too many of the holders of site-004 drop out at a step."""
    study = sparse(80)
    hulls = {name: [[1 + i]] for i, name in enumerate(study.clients)}
    clients = make_clients(study, hulls)
    server, engine = make_server(study), MemoryEngine(clients.values())
    missing = study.circle.members - study.circle.enough + 1
    gone = sorted(server._graph.holders["site-004"] - server._graph.witnesses)[:missing]
    engine._vanish = {step: set(gone)}
    return server, engine, clients, hulls


def test_a_site_whose_circle_drops_out_before_masks_are_used_is_left_out_and_the_rest_goes_on():
    server, engine, clients, hulls = without_a_circle("share")
    result = drive(server, engine)
    assert "site-004" not in result.survivors
    assert "shares of 'site-004' have dropped out" in str(server.refused["site-004"])
    assert len(result.survivors) > 60
    assert result.total.hulls == expected_hulls(clients, hulls, result.survivors)


@pytest.mark.parametrize("step", ["announce", "upload", "confirm", "unmask"])
def test_if_a_circle_drops_out_later_the_session_ends_in_a_sentence(step):
    server, engine, _, _ = without_a_circle(step)
    with pytest.raises(BelowThreshold, match=r"'site-004' have dropped out. Start again"):
        drive(server, engine)
    assert server.aggregate is None


def test_only_dealers_of_the_order_speak_with_everybody():
    server, engine, clients, _ = make_parties(SITES, graph="sparse", code="binary")
    drive(server, engine)
    graph, study = server._graph, server.study
    few = study.circle.members + study.jury.members
    for name, client in clients.items():
        met = len(graph.receivers(name))
        assert met == SITES if name in graph.dealers else met <= few
        assert client._order_key == clients["site-000"]._order_key != b""
    assert len(graph.dealers) == 4


def test_a_plan_counts_the_bytes_of_sites_that_are_no_witnesses_on_average():
    server, engine, clients, _ = make_parties(SITES, graph="sparse")
    drive(server, engine)
    sent = dict.fromkeys(clients, 0)
    for (_, name), raw in engine.heard.items():
        sent[name] += len(raw)
    ordinary = [sent[name] for name in clients if name not in server._graph.witnesses]
    planned = bytes_up(server.study, "site-000", server._layout)
    assert np.mean(ordinary) == pytest.approx(planned, rel=0.03)
    assert max(ordinary) < 1.2 * planned
