"""Sessions of studies with several sums: exact for any dropouts, bound to their place and basis."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parties import Listening, identity
from plain_sums import FIELD, PlainContribution, PlainSummation
from strategies import examples

from fedhull.errors import BadMessage, BelowThreshold, InvalidInput, OutOfTurn, ProtocolError
from fedhull.protocol import messages as m
from fedhull.protocol.agreement import Agreement, Cohort
from fedhull.protocol.client import ClientSession, ClientState
from fedhull.protocol.drive import MemoryEngine
from fedhull.protocol.server import ServerSession, Step

SIZE = 5


def make_study(n, **rules):
    names = [f"site-{chr(ord('a') + i)}" for i in range(n)]
    return Agreement(
        name="test",
        protocol=Cohort(**rules),
        clients={name: identity(name).public for name in names},
    )


def make_parts(study, seed):
    rng = random.Random(seed)
    return {name: [rng.randint(-(2**50), 2**50) for _ in range(SIZE)] for name in study.clients}


def make_clients(study, parts, summation=None):
    summation = summation or PlainSummation(SIZE, 1, b"start")
    return {
        name: ClientSession(
            study, name, identity(name), PlainContribution(summation, lambda part=part: part)
        )
        for name, part in parts.items()
    }


def run(server, engine):
    outgoing = server.start()
    while outgoing:
        outgoing = server.advance(engine.step(server.step.value, outgoing)[0])
    return server.aggregate


@examples(25)
@given(st.data())
def test_the_sum_is_exact_for_any_sites_and_dropouts(data):
    n = data.draw(st.integers(3, 6))
    study = make_study(n)
    parts = make_parts(study, data.draw(st.integers(0, 2**16)))
    gone = data.draw(st.sets(st.sampled_from(sorted(parts)), max_size=n - study.threshold))
    step = data.draw(st.sampled_from([s.value for s in Step if s is not Step.DONE]))
    server = ServerSession(study, summation=PlainSummation(SIZE, 1, b"start"))
    result = run(server, MemoryEngine(make_clients(study, parts).values(), {step: gone}))
    early = step in ("advertise", "share", "announce", "upload")
    assert result.survivors == sorted(set(parts) - gone if early else parts)
    in_sum = [parts[name] for name in result.survivors]
    assert result.numbers == [sum(column) for column in zip(*in_sum, strict=True)]


def test_clients_that_were_shown_different_things_never_upload():
    study = make_study(4)
    parts = make_parts(study, 0)
    clients = make_clients(study, parts)
    fooled = make_clients(study, parts, PlainSummation(SIZE, 1, b"another start"))
    mixed = [fooled[n] if n in ("site-a", "site-b") else clients[n] for n in parts]
    server = ServerSession(study, summation=PlainSummation(SIZE, 1, b"start"))
    with pytest.raises(BelowThreshold):
        run(server, MemoryEngine(mixed))
    assert ClientState.UPLOADED not in {client.state for client in mixed}


def test_an_invitation_to_another_round_is_refused():
    study = make_study(3)
    client = make_clients(study, make_parts(study, 0), PlainSummation(SIZE, 2, b"mean"))["site-a"]
    for turn in (1, 3):
        other = ServerSession(study, summation=PlainSummation(SIZE, turn, b"mean"))
        with pytest.raises(OutOfTurn, match=f"session {turn} of the study, but session 2 is"):
            client.receive(other.start()["site-a"])
    assert client.state is ClientState.READY


def test_no_message_of_one_round_is_taken_in_another():
    study = make_study(3)
    parts = make_parts(study, 0)
    seen = {"down": [], "up": []}

    class Watched(MemoryEngine):
        def step(self, kind, messages, timeout=0.0):
            replies, failures = super().step(kind, messages, timeout)
            seen["down"].append(messages["site-a"])
            seen["up"].append(replies["site-a"])
            return replies, failures

    first = PlainSummation(SIZE, 1, b"start")
    run(ServerSession(study, summation=first), Watched(make_clients(study, parts, first).values()))
    second = PlainSummation(SIZE, 2, b"mean")
    server = ServerSession(study, summation=second)
    clients = make_clients(study, parts, second)
    outgoing = server.start()
    while outgoing:
        for old in seen["up"]:
            with pytest.raises(ProtocolError):
                server.check("site-a", old)
        for old in seen["down"]:
            with pytest.raises(ProtocolError):
                clients["site-a"].receive(old)
        replies = {name: clients[name].receive(raw) for name, raw in outgoing.items()}
        outgoing = server.advance(replies)
    assert server.aggregate.survivors == sorted(parts)


def test_a_site_that_sends_more_or_fewer_numbers_is_left_out():
    study = make_study(3, threshold=2)
    parts = make_parts(study, 0)
    clients = make_clients(study, parts)
    other = PlainSummation(SIZE + 1, 1, b"start")
    longer = PlainContribution(other, lambda: [0] * (SIZE + 1))
    clients["site-c"] = ClientSession(study, "site-c", identity("site-c"), longer)
    server = ServerSession(study, summation=PlainSummation(SIZE, 1, b"start"))
    assert run(server, MemoryEngine(clients.values())).survivors == ["site-a", "site-b"]
    assert isinstance(server.refused["site-c"], BadMessage)


def test_what_goes_wrong_at_a_site_is_said_there_and_nothing_is_uploaded():
    study = make_study(4)
    clients = make_clients(study, make_parts(study, 0))

    def fail():
        raise InvalidInput("there is nothing to add up")

    summation = PlainSummation(SIZE, 1, b"start")
    failing = PlainContribution(summation, fail)
    clients["site-a"] = ClientSession(study, "site-a", identity("site-a"), failing)
    engine = MemoryEngine(clients.values())
    server = ServerSession(study, summation=summation)
    outgoing = server.start()
    for _ in range(3):
        outgoing = server.advance(engine.step(server.step.value, outgoing)[0])
    with pytest.raises(InvalidInput, match="nothing to add up"):
        clients["site-a"].receive(outgoing["site-a"])
    assert clients["site-a"].state is ClientState.ANNOUNCED


def test_only_an_upload_may_be_as_large_as_one():
    study = make_study(3)
    big = PlainSummation(10_000, 1, b"start")
    size = big.layout(0, 3).packed_size
    server = ServerSession(study, summation=big)
    with pytest.raises(BadMessage, match="at most"):
        server.check("site-a", bytes(size))
    upload = m.Upload(study=study.hash, session=server.session, view=bytes(32), vector=bytes(size))
    raw = m.encode_signed(upload, "site-a", identity("site-a"))
    with pytest.raises(BadMessage, match="at most"):
        m.decode_signed(raw, study, server.session)
    limit = m.size_limit(m.Upload, study, size)
    assert m.decode_signed(raw, study, server.session, limit)[1] == upload


def test_masked_numbers_look_uniform():
    study = make_study(3)
    values = []
    for seed in range(60):
        server = ServerSession(study, summation=PlainSummation(SIZE, 1, b"start"))
        engine = Listening(make_clients(study, make_parts(study, seed % 2)).values())
        run(server, engine)
        values += engine.upload_of(server, "site-a")[0].tolist()
    counts = np.bincount([v * 16 // FIELD.q for v in values], minlength=16)
    expected = len(values) / 16
    assert ((counts - expected) ** 2 / expected).sum() < 37.7  # χ², 15 degrees, p = 0.001


def test_those_who_are_not_invited_are_not_asked_and_count_for_the_threshold():
    study = make_study(4)
    clients = make_clients(study, make_parts(study, 0))
    summation = PlainSummation(SIZE, 1, b"start")
    server = ServerSession(study, summation=summation, invited=["site-a", "site-b", "site-c"])
    assert sorted(server.start()) == ["site-a", "site-b", "site-c"]
    assert run(server, MemoryEngine(clients.values())).survivors == ["site-a", "site-b", "site-c"]
    few = ServerSession(study, summation=summation, invited=["site-a", "site-b"])
    with pytest.raises(BelowThreshold, match="only 2 of 4"):
        run(few, MemoryEngine(make_clients(study, make_parts(study, 0)).values()))
