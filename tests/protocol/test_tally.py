"""How well the model does: the server learns the sum of the sites' counts, or nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parties import make_parties
from scipy import stats

from fedhull.errors import OutOfTurn
from fedhull.protocol import messages as m
from fedhull.protocol.drive import drive
from fedhull.protocol.masking import TALLY_FIELD

COUNTS = st.integers(0, 10**6)


def published(n, vanish=None, seed=0):
    server, engine, clients, _ = make_parties(n, seed=seed, vanish=vanish)
    drive(server, engine)
    outgoing = server.publish(b"{}")
    replies, _ = engine.step("publish", outgoing)
    assert replies == {}  # a bare session has nothing to count
    return server, clients


@given(st.lists(st.tuples(COUNTS, COUNTS), min_size=3, max_size=5))
@settings(max_examples=15)
def test_the_server_learns_the_sum_of_the_counts(counts):
    counts = [(min(pair), max(pair)) for pair in counts]
    server, clients = published(len(counts))
    replies = {name: clients[name].tally(*c) for name, c in zip(clients, counts, strict=True)}
    assert server.tally(replies) == (sum(c for c, _ in counts), sum(t for _, t in counts))


@pytest.mark.parametrize("step", ["share", "upload", "confirm", "unmask"])
def test_those_who_vanished_before_are_not_missed(step):
    server, clients = published(4, vanish={step: ["site-d"]})
    there = [name for name in clients if clients[name].may_tally]
    assert there == server.evaluators == ["site-a", "site-b", "site-c"]
    assert server.tally({name: clients[name].tally(2, 3) for name in there}) == (6, 9)


def test_one_missing_or_strange_answer_and_nothing_is_learned():
    server, clients = published(4)
    replies = {name: client.tally(2, 3) for name, client in clients.items()}
    assert server.tally({k: v for k, v in replies.items() if k != "site-b"}) is None
    assert server.tally(replies | {"site-b": replies["site-a"]}) is None
    assert server.tally(replies | {"site-b": b"?"}) is None
    assert server.tally(replies) == (8, 12)


def test_a_client_tells_its_counts_once():
    _, clients = published(3)
    clients["site-a"].tally(1, 2)
    with pytest.raises(OutOfTurn):
        clients["site-a"].tally(1, 2)


@pytest.mark.parametrize(
    "evaluators",
    [
        [],
        ["site-a"],
        ["site-b", "site-c", "site-d"],
        ["site-a", "site-b", "site-b"],
        ["site-a", "site-b", "site-e"],
        ["site-a", "site-b", "nobody"],
    ],
    ids=["none", "alone", "without-it", "twice", "vanished", "outsider"],
)
def test_a_client_tells_nothing_unless_enough_survivors_are_asked_with_it(evaluators):
    server, engine, clients, _ = make_parties(5, vanish={"upload": ["site-e"]})
    drive(server, engine)
    header = {"study": server.study.hash, "session": server._session}
    message = m.Publish(**header, result=b"", evaluators=evaluators)
    clients["site-a"].receive(m.encode_to_client(message, None))
    assert not clients["site-a"].may_tally
    with pytest.raises(OutOfTurn):
        clients["site-a"].tally(1, 2)


def test_masked_counts_look_uniform():
    values = []
    for _ in range(150):
        server, clients = published(3)
        _, message = m.decode_signed(clients["site-a"].tally(1, 2), server.study, server._session)
        values += TALLY_FIELD.to_ints(TALLY_FIELD.unpack(message.counts, 2))
    assert stats.kstest([v / TALLY_FIELD.q for v in values], "uniform").pvalue > 1e-4
