"""What sites answer to what they are shown: the server learns the sum of all, or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parties import make_parties
from scipy import stats
from strategies import examples

from fedhull.errors import BadMessage, OutOfTurn
from fedhull.protocol import messages as m
from fedhull.protocol.drive import drive
from fedhull.rounds.counts import COUNTS, Counts

NUMBERS = st.integers(0, 10**6)
FIELD = COUNTS.parts[0][0]


def shown(n, vanish=None, seed=0, content=b"{}"):
    server, engine, clients, _ = make_parties(n, seed=seed, vanish=vanish)
    drive(server, engine)
    outgoing = server.publish(content, COUNTS)
    replies, _ = engine.step("publish", outgoing)
    assert replies == {}  # a bare session has nothing to answer with
    return server, clients


def answer(client, *numbers):
    return client.answer(COUNTS, COUNTS.vector([numbers]))


def counted(server, replies):
    counts = Counts.of(server.answers(replies), server.evaluators)
    return counts.correct, counts.tested


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=5))
@examples(15)
def test_the_server_learns_the_sum_of_the_counts(counts):
    counts = [(min(pair), max(pair)) for pair in counts]
    server, clients = shown(len(counts))
    replies = {name: answer(clients[name], *c) for name, c in zip(clients, counts, strict=True)}
    assert counted(server, replies) == (sum(c for c, _ in counts), sum(t for _, t in counts))


@pytest.mark.parametrize("step", ["share", "announce", "upload", "confirm", "unmask"])
def test_those_who_vanished_before_are_not_missed(step):
    server, clients = shown(4, vanish={step: ["site-d"]})
    assert server.evaluators == ["site-a", "site-b", "site-c"]
    replies = {name: answer(clients[name], 2, 3) for name in server.evaluators}
    assert counted(server, replies) == (6, 9)


def test_one_missing_or_strange_answer_and_nothing_is_learned():
    server, clients = shown(4)
    replies = {name: answer(client, 2, 3) for name, client in clients.items()}
    unknown = None, None
    assert counted(server, {k: v for k, v in replies.items() if k != "site-b"}) == unknown
    assert counted(server, replies | {"site-b": replies["site-a"]}) == unknown
    assert counted(server, replies | {"site-b": b"?"}) == unknown
    assert counted(server, replies) == (8, 12)


def test_a_client_that_objects_spoils_the_sum_and_nobody_can_tell_who_it_was():
    server, clients = shown(4)
    replies = {name: answer(client, 2, 3) for name, client in clients.items() if name != "site-b"}
    replies["site-b"] = clients["site-b"].answer(COUNTS, None)
    assert counted(server, replies) == (None, None)
    assert len({len(reply) for reply in replies.values()}) == 1


@pytest.mark.parametrize("asked", [b"", b"\x0f\x00", b"\x80"])
def test_who_is_asked_must_be_on_the_roster(asked):
    server, engine, clients, _ = make_parties(4)
    drive(server, engine)
    header = {"study": server.study.hash, "session": server._session}
    message = m.Publish(**header, content=b"", asked=asked)
    with pytest.raises(BadMessage, match="roster"):
        clients["site-a"].receive(m.encode_to_client(message, None))
    assert clients["site-a"].state == "unmasked"


def test_a_client_answers_once():
    _, clients = shown(3)
    answer(clients["site-a"], 1, 2)
    with pytest.raises(OutOfTurn):
        answer(clients["site-a"], 1, 2)


@pytest.mark.parametrize(
    "asked",
    [["site-a"], ["site-a", "site-b", "site-c"], ["site-a", "site-b", "site-c", "site-e"]],
    ids=["alone", "too few", "one that has vanished"],
)
def test_a_client_answers_noise_unless_enough_survivors_are_asked_with_it(asked):
    bare = set()
    for numbers in ([1, 2], [3, 4]):
        server, engine, clients, _ = make_parties(5, vanish={"upload": ["site-e"]})
        drive(server, engine)
        header = {"study": server.study.hash, "session": server._session}
        message = m.Publish(**header, content=b"", asked=server.study.marked(asked))
        clients["site-a"].receive(m.encode_to_client(message, None))
        noise = clients["site-a"]._randomness.token("noise publish")
        reply = answer(clients["site-a"], *numbers)
        _, sent = m.decode_signed(reply, server.study, server._session)
        bare.add(tuple((COUNTS.unpack(sent.numbers)[0]).tolist()))
        expected = COUNTS.add_mask(COUNTS.zeros(), noise)[0].tolist()
        assert COUNTS.unpack(sent.numbers)[0].tolist() == expected
    assert len(bare) == 2


@pytest.mark.parametrize("asked", [[], ["site-b", "site-c", "site-d"]], ids=["none", "others"])
def test_a_client_that_is_not_asked_says_nothing(asked):
    server, engine, clients, _ = make_parties(5)
    drive(server, engine)
    header = {"study": server.study.hash, "session": server._session}
    message = m.Publish(**header, content=b"", asked=server.study.marked(asked))
    clients["site-a"].receive(m.encode_to_client(message, None))
    assert answer(clients["site-a"], 1, 2) is None


def test_a_proposal_is_judged_once_and_its_answers_cannot_be_added_to_those_of_the_result():
    server, engine, clients, _ = make_parties(4)
    drive(server, engine)
    engine.step("propose", server.propose(b"candidates", COUNTS))
    judged = {name: answer(client, 1, 2) for name, client in clients.items()}
    assert counted(server, judged) == (4, 8)
    engine.step("publish", server.publish(b"candidates", COUNTS))
    answers = {name: answer(client, 1, 2) for name, client in clients.items()}
    assert counted(server, answers) == (4, 8)
    for name, client in clients.items():
        with pytest.raises(OutOfTurn):
            answer(client, 1, 2)
        # the same content, shown as something else: other masks
        assert counted(server, answers | {name: judged[name]}) == (None, None)


@pytest.mark.slow
def test_answers_look_uniform():
    values = []
    for _ in range(150):
        server, clients = shown(3)
        reply = answer(clients["site-a"], 1, 2)
        _, message = m.decode_signed(reply, server.study, server._session)
        values += COUNTS.unpack(message.numbers)[0].tolist()
    assert stats.kstest([v / FIELD.q for v in values], "uniform").pvalue > 1e-4
