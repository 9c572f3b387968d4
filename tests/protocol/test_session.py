"""Sessions in the memory engine: exactly the survivors' sum, or a named error."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from parties import (
    Listening,
    contribution,
    expected_hulls,
    identity,
    make_clients,
    make_parties,
    make_server,
    make_study,
    random_hulls,
)
from scipy import stats
from strategies import examples

from fedhull.codes.power_sums import SLOT_FIELD
from fedhull.errors import (
    BadIdentity,
    BelowThreshold,
    InvalidInput,
    SyndromeUndecodable,
    UnknownLabelSum,
)
from fedhull.protocol import messages as m
from fedhull.protocol.client import ClientSession, ClientState
from fedhull.protocol.drive import MemoryEngine, drive
from fedhull.protocol.masking import pairwise_mask, self_mask
from fedhull.rounds.round import RoundContribution

STEPS = ["advertise", "share", "announce", "upload", "confirm", "unmask"]


@given(
    n=st.integers(3, 6),
    classes=st.integers(1, 4),
    epsilon=st.sampled_from([0.05, 0.5, 2.0]),
    code=st.sampled_from(["auto", "binary", "bose-chowla:12"]),
    seed=st.integers(0, 2**32),
)
@examples(60)
def test_the_server_decodes_exactly_the_clients_hulls(n, classes, epsilon, code, seed):
    server, engine, clients, hulls = make_parties(
        n, seed=seed, classes=classes, epsilon=epsilon, code=code
    )
    try:
        result = drive(server, engine)
    except UnknownLabelSum:
        # twelve labels are the most that this code can tell apart in one bin
        meet = Counter(j for sites in hulls.values() for bins in sites for j in bins)
        assert code.startswith("bose")
        assert max(meet.values()) > 12
        return
    assert result.survivors == sorted(clients)
    assert result.total.hulls == expected_hulls(clients, hulls, result.survivors)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("n", [3, 4, pytest.param(6, marks=pytest.mark.slow)])
def test_any_subset_up_to_the_threshold_may_vanish_at_any_step(n, step):
    threshold = make_study(n).threshold
    names = sorted(make_study(n).clients)
    for size in range(n + 1):
        for gone in combinations(names, size):
            server, engine, clients, hulls = make_parties(n, vanish={step: gone})
            if n - size < threshold:
                # nobody is blamed but for having gone
                with pytest.raises(
                    BelowThreshold, match=f"step '{step}', but the .* is {threshold}$"
                ):
                    drive(server, engine)
                assert server.aggregate is None
                assert server.refused == {}
                continue
            result = drive(server, engine)
            # who vanishes after the upload is still in the sum
            left = set(names) if step in ("confirm", "unmask") else set(names) - set(gone)
            assert result.survivors == sorted(left)
            assert result.total.hulls == expected_hulls(clients, hulls, result.survivors)


@given(st.dictionaries(st.sampled_from(STEPS), st.integers(0, 2)), st.integers(0, 2**32))
def test_clients_may_vanish_at_several_steps(drops, seed):
    names = sorted(make_study(7).clients)
    vanish = {}
    for step, number in drops.items():
        vanish[step], names = names[:number], names[number:]
    server, engine, clients, hulls = make_parties(7, seed=seed, vanish=vanish)
    if sum(map(len, vanish.values())) > 2:
        with pytest.raises(BelowThreshold):
            drive(server, engine)
    else:
        result = drive(server, engine)
        assert result.total.hulls == expected_hulls(clients, hulls, result.survivors)


def test_vanished_clients_leave_no_trace_in_the_sum():
    server, engine, clients, hulls = make_parties(5, vanish={"upload": ["site-c"]})
    decoded = drive(server, engine).total.hulls
    assert decoded == expected_hulls(clients, hulls, set(clients) - {"site-c"})


def test_the_result_reaches_everybody_who_uploaded():
    server, engine, clients, _ = make_parties(4, vanish={"share": ["site-b"]})
    drive(server, engine)
    _, failures = engine.step("publish", server.publish(b"model"))
    assert not failures
    assert {n for n, c in clients.items() if c.shown == b"model"} == set(clients) - {"site-b"}
    assert clients["site-a"].state == ClientState.DONE


def test_too_many_labels_in_a_bin_end_with_the_remedy():
    study = make_study(4, code="bose-chowla:2")
    hulls = {name: [[7], [7]] for name in study.clients}
    engine = MemoryEngine(make_clients(study, hulls).values())
    with pytest.raises(UnknownLabelSum, match="larger h"):
        drive(make_server(study), engine)


def test_a_client_that_fills_more_bins_than_it_announced_spoils_nothing_silently():
    server, engine, clients, _ = make_parties(3)
    announced = contribution(server.study, [list(range(1, 5))])
    filled = contribution(server.study, [list(range(1, 41))])

    class Filled(RoundContribution):
        announced = property(lambda self: announced.announced)

    clients["site-a"]._contribution = Filled(filled.summation, filled.own)
    with pytest.raises(SyndromeUndecodable, match="filled more bins"):
        drive(server, engine)
    assert server.aggregate is None


@pytest.mark.parametrize(
    ("hulls", "words"),
    [
        ([[1], [2], [3]], "may have 2 classes in this study, got 3"),
        ([[]], "at least one"),
        ([[5, 5]], "different bins"),
        ([[0]], "between 1 and"),
        ([[10**9]], "between 1 and"),
        ([list(range(1, 102))], "have 101 corners, but the study allows 100"),
    ],
)
def test_bad_hulls_are_refused_before_anything_is_sent(hulls, words):
    study = make_study(3, most_bins=100)
    with pytest.raises(InvalidInput, match=words):
        contribution(study, hulls)


def test_an_identity_that_is_not_on_the_roster_cannot_join():
    study = make_study(3)
    for name, who in [("site-a", "somebody"), ("site-a", "site-b"), ("nobody", "site-a")]:
        with pytest.raises(BadIdentity, match="roster"):
            ClientSession(study, name, identity(who), contribution(study, [[1]]))


# What the server sees.


def uploads_of_session(n, seed=0, **options):
    server, engine, clients, hulls = make_parties(n, seed=seed, **options)
    drive(server, engine)
    return server, engine, clients, hulls


def looks_uniform(values, q):
    counts = np.bincount([v * 16 // q for v in values], minlength=16)
    return stats.chisquare(counts).pvalue > 1e-4


def test_an_upload_alone_looks_uniform():
    values = []
    for seed in range(60):
        server, engine, _, _ = uploads_of_session(3, seed=seed % 3)
        values += engine.upload_of(server, "site-a")[0].tolist()
    assert len(values) > 2000
    assert looks_uniform(values, server.study.coding.field.q)


def test_an_upload_looks_uniform_when_all_others_but_one_collude_with_the_server():
    values, slots, unmasked = [], [], []
    for seed in range(60):
        server, engine, clients, hulls = uploads_of_session(4, seed=seed % 3)
        study, layout = server.study, server._layout
        victim, friend = "site-a", "site-b"
        view = server._view
        # the server has restored the victim's own mask; the colluders know theirs with the victim
        known = layout.subtract(
            engine.upload_of(server, victim), self_mask(clients[victim]._seed, view, layout)
        )
        agreed = clients[victim]._masks
        colluders = {name: agreed[name] for name in ("site-c", "site-d")}
        known = layout.subtract(known, pairwise_mask(victim, colluders, view, layout))
        values += known[0].tolist()
        slots += known[1].tolist()
        last = pairwise_mask(victim, {friend: agreed[friend]}, view, layout)
        unmasked.append((layout.subtract(known, last), clients[victim], hulls))
    assert looks_uniform(values, study.coding.field.q)
    assert looks_uniform(slots, SLOT_FIELD.q)
    # and the test is about the right thing: without the last mask, the sums lie bare
    bare, client, hulls = unmasked[-1]
    sent = dict(zip(client.drawn.labels, hulls["site-a"], strict=True))
    assert bare[0].tolist() == study.coding.encode(
        sent, client.totals[0], study.protocol.spare_sums
    )


@pytest.mark.slow
@pytest.mark.parametrize("code", ["pairs", "binary"])
def test_which_client_holds_which_labels_is_independent_of_who_it_is(code):
    # site-a's hull is {1}, the others' are {2}, {3}: under which label {1} arrives is all that the
    # server learns about its place, and each is as likely as any other
    counts = Counter()
    study = make_study(3, classes=2, code=code)
    sixth = study.coding.space // 6
    for _ in range(300):
        hulls = {"site-a": [[1]], "site-b": [[2]], "site-c": [[3]]}
        engine = MemoryEngine(make_clients(study, hulls).values())
        result = drive(make_server(study), engine)
        counts[
            next(label for label, bins in result.total.hulls.items() if bins == [1]) // sixth
        ] += 1
    assert stats.chisquare([counts[part] for part in range(6)]).pvalue > 1e-4


def test_exchanging_two_clients_data_changes_nothing_that_the_server_can_see():
    """The kind, number and size of every message, for two ways to assign the same data."""

    def shape_of_view(hulls):
        study = make_study(3, epsilon=0.1)
        server = make_server(study)
        engine = MemoryEngine(make_clients(study, hulls).values())
        seen, outgoing = [], server.start()
        while outgoing:
            replies, _ = engine.step(server.step.value, outgoing)
            seen.append({name: len(raw) for name, raw in replies.items()})
            outgoing = server.advance(replies)
        return seen, sorted(server.aggregate.total.hulls.values())

    # of very different sizes: not even the length of a sealed message tells whose is large
    sizes = (1, 130, 300)
    a, b, c = ([list(range(1, n + 1))] for n in sizes)
    names = ("site-a", "site-b", "site-c")
    assert shape_of_view(dict(zip(names, (a, b, c), strict=True))) == shape_of_view(
        dict(zip(names, (c, a, b), strict=True))
    )


def test_a_site_may_fill_as_many_bins_as_the_study_allows():
    study = make_study(3, epsilon=0.1, most_bins=101)
    hulls = {
        name: [list(range(1 + 200 * i, 102 + 200 * i))] for i, name in enumerate(study.clients)
    }
    clients = make_clients(study, hulls)
    result = drive(make_server(study), MemoryEngine(clients.values()))
    assert result.total.hulls == expected_hulls(clients, hulls, result.survivors)


@pytest.mark.parametrize("code", ["binary", "bose-chowla:3"])
def test_labels_that_are_not_ones_own_are_noticed(code):
    server, engine, clients, _ = make_parties(4, code=code)
    honest = clients["site-a"]._contribution

    class Borrowing(RoundContribution):
        def vector(self, drawn, totals, participants):
            labels = [(label + 2) % 8 for label in drawn.labels]
            borrowed = structs.replace(drawn, place=labels[0] // 2, labels=labels)
            return super().vector(borrowed, totals, participants)

    clients["site-a"]._contribution = Borrowing(honest.summation, honest.own)
    with pytest.raises((UnknownLabelSum, SyndromeUndecodable)):
        drive(server, engine)


def test_two_sessions_share_no_key_and_no_upload():
    study = make_study(3)
    hulls = random_hulls(study, 0)
    seen = []
    for _ in range(2):
        server = make_server(study)
        engine = Listening(make_clients(study, hulls).values())
        drive(server, engine)
        seen.append((server._session, engine.upload_of(server, "site-a")[0].tolist()))
    assert seen[0][0] != seen[1][0]
    assert seen[0][1] != seen[1][1]
    assert isinstance(server._advertised["site-a"], m.Advertise)
