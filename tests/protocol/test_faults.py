"""Damaged, replayed, reordered and forged messages; a server that lies. Never a wrong sum."""

import itertools
from collections import Counter
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parties import (
    expected_hulls,
    identity,
    make_client,
    make_clients,
    make_parties,
    make_server,
    make_study,
    random_hulls,
)
from strategies import examples

from fedhull.errors import (
    BadIdentity,
    BadMessage,
    BadShares,
    BelowThreshold,
    FedhullError,
    InconsistentView,
    OutOfTurn,
    ProtocolError,
)
from fedhull.protocol import messages as m
from fedhull.protocol.client import ClientState
from fedhull.protocol.drive import drive
from fedhull.protocol.memory import MemoryEngine
from fedhull.protocol.server import Step
from fedhull.study.counts import COUNTS

STEPS = [step.value for step in Step if step is not Step.DONE]


class Tampering(MemoryEngine):
    """A memory engine with somebody in the middle."""

    def __init__(self, clients, down=None, up=None):
        super().__init__(clients)
        self.down = down or (lambda kind, name, raw: raw)
        self.up = up or (lambda kind, name, raw: raw)
        self.failures = Counter()

    def step(self, kind, messages, timeout=0.0):
        messages = {name: self.down(kind, name, raw) for name, raw in messages.items()}
        replies, failures = super().step(kind, messages, timeout)
        self.failures.update(failures.values())
        return {name: self.up(kind, name, raw) for name, raw in replies.items()}, failures


def run(n=4, down=None, up=None, seed=0):
    study = make_study(n)
    hulls = random_hulls(study, seed)
    clients = make_clients(study, hulls)
    server, engine = make_server(study), Tampering(clients.values(), down, up)
    result = drive(server, engine)
    assert result.hulls == expected_hulls(clients, hulls, result.survivors)
    return server, engine, result


def only(step, victim, change):
    return lambda kind, name, raw: change(raw) if (kind, name) == (step, victim) else raw


def flip(raw, place=None):
    place = len(raw) // 2 if place is None else place % len(raw)
    return raw[:place] + bytes([raw[place] ^ 0x10]) + raw[place + 1 :]


DAMAGE = {
    "truncated": lambda raw: raw[:-7],
    "empty": lambda raw: b"",
    "bit flipped": flip,
    "extended": lambda raw: raw + b"\0",
    "oversized": lambda raw: raw + bytes(70_000_000),
    "noise": lambda raw: bytes(range(256)) * 4,
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("step", STEPS)
def test_a_damaged_reply_costs_its_sender_the_study_and_nobody_else(step, damage):
    server, _, result = run(up=only(step, "site-b", DAMAGE[damage]))
    assert isinstance(server.refused["site-b"], (BadMessage, BadIdentity))
    assert ("site-b" in result.survivors) == (step in ("confirm", "unmask"))


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("step", STEPS)
def test_a_damaged_message_to_a_client_is_refused_by_it(step, damage):
    # a flipped bit in the middle of a list may hit another's signed entry, or a sealed message
    _, engine, result = run(down=only(step, "site-b", DAMAGE[damage]))
    assert set(engine.failures) <= {"BadMessage", "BadIdentity", "InconsistentView"}
    assert ("site-b" in result.survivors) == (step in ("confirm", "unmask"))


@given(st.sampled_from(STEPS), st.booleans(), st.integers(0, 10**6))
@examples(150)
def test_any_flipped_bit_gives_the_survivors_sum_or_a_named_error(step, upwards, place):
    change = only(step, "site-c", lambda raw: flip(raw, place))
    with suppress(FedhullError):
        run(**{"up" if upwards else "down": change})


@pytest.mark.parametrize(("earlier", "later"), list(itertools.permutations(STEPS, 2)))
def test_replayed_and_reordered_replies_are_refused(earlier, later):
    seen = {}

    def replay(kind, name, raw):
        seen[kind, name] = raw
        return seen.get((earlier, name), raw) if (kind, name) == (later, "site-b") else raw

    server, _, _ = run(up=replay)
    if STEPS.index(earlier) < STEPS.index(later):
        # something else than was asked for, or longer than that can be
        assert isinstance(server.refused["site-b"], (OutOfTurn, BadMessage))


def test_replies_of_an_earlier_session_are_refused():
    old = {}
    run(up=lambda kind, name, raw: old.setdefault((kind, name), raw))
    for step in STEPS:
        server, _, _ = run(up=only(step, "site-b", lambda raw, s=step: old[s, "site-b"]))
        assert "another session" in str(server.refused["site-b"])


def test_one_client_cannot_speak_for_another():
    seen = {}

    def steal(kind, name, raw):
        seen[kind, name] = raw
        return seen[kind, "site-a"] if name == "site-b" else raw

    server, _, _ = run(up=steal)
    assert "is signed by 'site-a'" in str(server.refused["site-b"])


def test_a_client_with_another_study_file_is_refused():
    study = make_study(4)
    clients = make_clients(study, random_hulls(study, 0))
    other = make_study(4, epsilon=0.4)
    clients["site-b"] = make_client(other, "site-b", [[1]])
    engine = Tampering(clients.values())
    assert "site-b" not in drive(make_server(study), engine).survivors
    assert engine.failures["BadMessage"] == 1


def test_a_signature_by_a_stranger_is_refused():
    study = make_study(3)
    server = make_server(study)
    server.start()
    forged = m.encode_signed(
        m.Advertise(
            study=study.hash,
            session=server._session,
            channel_key=bytes(32),
            mask_key=bytes(32),
            seed_commitment=bytes(32),
        ),
        "site-a",
        identity("stranger"),
    )
    with pytest.raises(BelowThreshold, match="does not belong to the identity on the roster"):
        server.advance({"site-a": forged})


def test_two_clients_with_one_identity_do_not_both_take_part():
    # the second process answers in the first one's place from some step on: its keys are others
    study = make_study(4)
    hulls = random_hulls(study, 0)
    clients = make_clients(study, hulls)
    twin = make_client(study, "site-b", [[3]])
    answers = {}

    def down(kind, name, raw):
        if name == "site-b":
            try:
                answers[kind] = twin.receive(raw)
            except ProtocolError as problem:
                answers[kind] = problem
        return raw

    def up(kind, name, raw):
        return answers["advertise"] if (kind, name) == ("advertise", "site-b") else raw

    server, engine = make_server(study), Tampering(clients.values(), down, up)
    result = drive(server, engine)
    # the first process finds foreign keys under its name and leaves
    assert "site-b" not in result.survivors
    assert engine.failures["InconsistentView"] == 1
    assert result.hulls == expected_hulls(clients, hulls, result.survivors)


# A server that lies.


def edit(raw, study, **changes):
    message = m.decode_to_client(raw, study)
    return m.encode_to_client(msgspec.structs.replace(message, **changes), None)


def lie(step, change, n=4):
    """Run with a server whose message of `step` is changed for each client; the named failures."""
    study = make_study(n)
    clients = make_clients(study, random_hulls(study, 0))
    engine = Tampering(
        clients.values(),
        down=lambda kind, name, raw: change(study, name, raw) if kind == step else raw,
    )
    server = make_server(study)
    with pytest.raises(ProtocolError):
        drive(server, engine)
    assert server.aggregate is None
    return engine.failures, clients


def without(mapping, name):
    return {k: v for k, v in mapping.items() if k != name}


def test_different_key_lists_for_different_clients_are_noticed_before_any_upload():
    def change(study, name, raw):
        if name in ("site-a", "site-b"):
            listed = m.decode_to_client(raw, study).advertisements
            return edit(raw, study, advertisements=without(listed, "site-d"))
        return raw

    # the sealed messages are bound to the list that was seen: they do not open, or are missing
    _, clients = lie("share", change)
    assert ClientState.UPLOADED not in {c.state for c in clients.values()}


def test_a_key_list_with_foreign_keys_is_refused():
    def change(study, name, raw):
        listed = dict(m.decode_to_client(raw, study).advertisements)
        listed["site-a"], listed["site-b"] = listed["site-b"], listed["site-a"]
        return edit(raw, study, advertisements=listed)

    failures, _ = lie("share", change)
    assert failures == {"BadMessage": 4}


def test_too_short_a_key_list_is_refused():
    def change(study, name, raw):
        listed = m.decode_to_client(raw, study).advertisements
        others = [k for k in listed if k != name][:1]
        return edit(raw, study, advertisements={k: listed[k] for k in [name, *others]})

    failures, _ = lie("share", change)
    assert failures == {"BelowThreshold": 4}


def test_different_participants_for_different_clients_are_noticed_before_any_upload():
    def change(study, name, raw):
        if name in ("site-a", "site-b"):
            sealed = m.decode_to_client(raw, study).sealed
            return edit(raw, study, sealed=without(sealed, "site-d"))
        return raw

    _, clients = lie("announce", change)
    assert ClientState.UPLOADED not in {c.state for c in clients.values()}


def test_different_survivors_for_different_clients_are_noticed_before_unmasking():
    def change(study, name, raw):
        survivors = m.decode_to_client(raw, study).survivors
        drop = "site-d" if name in ("site-a", "site-b") else "site-a"
        return edit(raw, study, survivors=[s for s in survivors if s != drop or s == name])

    _, clients = lie("confirm", change)
    assert ClientState.UNMASKED not in {c.state for c in clients.values()}


@pytest.mark.parametrize(
    ("survivors", "failure"),
    [
        (["site-a"], "BelowThreshold"),
        (["site-a", "site-a", "site-b", "site-c"], "InconsistentView"),
        (["site-a", "site-b", "site-c", "stranger"], "InconsistentView"),
        (["site-b", "site-c", "site-d"], "InconsistentView"),
    ],
)
def test_an_impossible_list_of_survivors_is_refused(survivors, failure):
    study = make_study(4)
    clients = make_clients(study, random_hulls(study, 0))
    change = only("confirm", "site-a", lambda raw: edit(raw, study, survivors=survivors))
    engine = Tampering(clients.values(), down=change)
    drive(make_server(study), engine)
    assert engine.failures == {failure: 1}
    assert clients["site-a"].state == ClientState.UPLOADED


def test_confirmations_of_another_list_are_refused():
    def change(study, name, raw):
        confirmations = m.decode_to_client(raw, study).confirmations
        # repeat one's own under another name, or hold one back below the threshold
        return edit(raw, study, confirmations=dict(list(confirmations.items())[:2]))

    failures, _ = lie("unmask", change)
    assert failures == {"BelowThreshold": 4}


def test_a_second_upload_or_a_second_unmasking_is_never_made():
    study = make_study(4)
    hulls = random_hulls(study, 0)
    clients = make_clients(study, hulls)
    server, engine = make_server(study), MemoryEngine(clients.values())
    outgoing, history = server.start(), []
    while outgoing:
        history.append(outgoing["site-a"])
        outgoing = server.advance(engine.step(server.step.value, outgoing)[0])
    for raw in history:
        with pytest.raises(OutOfTurn):
            clients["site-a"].receive(raw)


def test_wrong_shares_are_noticed():
    study = make_study(4)
    hulls = random_hulls(study, 0)
    clients = make_clients(study, hulls)

    def up(kind, name, raw):
        if (kind, name) != ("unmask", "site-a"):
            return raw
        _, message = m.decode_signed(raw, study, clients[name]._session, 10**6)
        wrong = dict.fromkeys(message.seed_shares, bytes(33))
        message = msgspec.structs.replace(message, seed_shares=wrong)
        return m.encode_signed(message, name, identity(name))

    # with four sites and a threshold of three, the honest three are enough
    result = drive(make_server(study), Tampering(clients.values(), up=up))
    assert result.hulls == expected_hulls(clients, hulls, result.survivors)
    # with one of them missing, nothing can be restored, and nothing is
    clients = make_clients(study, hulls)
    server = make_server(study)
    engine = Tampering(clients.values(), up=up)
    engine._vanish = {"unmask": {"site-d"}}
    with pytest.raises(BadShares, match="do not fit"):
        drive(server, engine)
    assert server.aggregate is None


def test_a_malformed_upload_costs_its_sender_the_study_and_nobody_else():
    study = make_study(4)
    hulls = random_hulls(study, 0)
    clients = make_clients(study, hulls)

    def up(kind, name, raw):
        if (kind, name) != ("upload", "site-a"):
            return raw
        _, message = m.decode_signed(raw, study, clients[name]._session, 10**6)
        # every element all ones: not below q
        message = msgspec.structs.replace(message, vector=b"\xff" * len(message.vector))
        return m.encode_signed(message, name, identity(name))

    server = make_server(study)
    result = drive(server, Tampering(clients.values(), up=up))
    assert result.hulls == expected_hulls(clients, hulls, ["site-b", "site-c", "site-d"])
    assert "malformed" in str(server.refused["site-a"])


def test_a_key_that_nothing_can_be_derived_from_is_refused_at_once():
    study = make_study(4)
    hulls = random_hulls(study, 0)
    clients = make_clients(study, hulls)

    def up(kind, name, raw):
        if (kind, name) != ("advertise", "site-a"):
            return raw
        _, message = m.decode_signed(raw, study, clients[name]._session)
        message = msgspec.structs.replace(message, mask_key=bytes(32))
        return m.encode_signed(message, name, identity(name))

    server = make_server(study)
    result = drive(server, Tampering(clients.values(), up=up))
    assert result.survivors == ["site-b", "site-c", "site-d"]
    assert "exchange key is not valid" in str(server.refused["site-a"])


def test_who_was_not_asked_is_not_heard():
    study = make_study(4)
    clients = make_clients(study, random_hulls(study, 0))
    server, engine = make_server(study), MemoryEngine(clients.values())
    outgoing = server.start()
    replies, _ = engine.step("advertise", outgoing)
    late = replies.pop("site-d")
    outgoing = server.advance(replies)
    replies, _ = engine.step("share", outgoing)
    server.advance({**replies, "site-d": late})
    assert "was not asked" in str(server.refused["site-d"])


def test_both_kinds_of_share_are_never_given_for_one_client():
    server, engine, clients, _ = make_parties(5, vanish={"upload": ["site-e"]})
    seen = {}

    watched = Tampering(
        [clients[n] for n in clients if n != "site-e"],
        up=lambda kind, name, raw: seen.setdefault((kind, name), raw),
    )
    outgoing = server.start()
    while outgoing:
        chosen = watched if server.step is Step.UNMASK else engine
        outgoing = server.advance(chosen.step(server.step.value, outgoing)[0])
    assert len(seen) == 4
    for (_, name), raw in seen.items():
        _, unmask = m.decode_signed(raw, server.study, clients[name]._session, 10**6)
        assert set(unmask.key_shares) == {"site-e"}
        assert set(unmask.seed_shares) == set(clients) - {"site-e"}


# The table of states and events.


def sample_messages(study, session):
    header = {"study": study.hash, "session": session}
    return {
        "invite": m.Invite(**header),
        "key-list": m.KeyList(**header, advertisements={}),
        "sealed-list": m.SealedList(**header, sealed={}),
        "size": m.Size(**header, totals=[2**40], announcements={}),
        "survivor-list": m.SurvivorList(**header, survivors=[]),
        "confirmation-list": m.ConfirmationList(**header, confirmations={}),
        "propose": m.Propose(**header, content=b"", asked=[]),
        "publish": m.Publish(**header, content=b"", asked=[]),
    }


TAKES = {
    ClientState.READY: {"invite"},
    ClientState.ADVERTISED: {"key-list"},
    ClientState.SHARED: {"sealed-list"},
    ClientState.ANNOUNCED: {"size"},
    ClientState.UPLOADED: {"survivor-list", "publish"},
    ClientState.CONFIRMED: {"confirmation-list", "publish"},
    ClientState.UNMASKED: {"propose", "publish"},
    ClientState.ASKED: set(),
    ClientState.JUDGED: {"publish"},
    ClientState.DONE: set(),
    ClientState.ANSWERED: set(),
}


@pytest.mark.parametrize("event", list(sample_messages(make_study(3), bytes(16))))
@pytest.mark.parametrize("state", list(ClientState))
def test_client_state_and_event_table(state, event):
    server, engine, clients, _ = make_parties(3)
    client, outgoing = clients["site-a"], server.start()
    while client.state is not state and outgoing:
        outgoing = server.advance(engine.step(server.step.value, outgoing)[0])
    if state in (ClientState.ASKED, ClientState.JUDGED):
        client.receive(server.propose(b"", COUNTS)["site-a"])
    if state in (ClientState.DONE, ClientState.ANSWERED):
        client.receive(server.publish(b"")["site-a"])
    if state in (ClientState.JUDGED, ClientState.ANSWERED):
        client.answer(COUNTS, None)
    assert client.state is state
    message = sample_messages(server.study, client._session or bytes(16))[event]
    if event not in TAKES[state]:
        with pytest.raises(OutOfTurn):
            client.receive(m.encode_to_client(message, None))
        assert client.state is state
    elif event in ("invite", "propose", "publish"):
        client.receive(m.encode_to_client(message, None))
        assert client.state is not state
    else:
        # in turn, but empty or impossible: refused for its content, and nothing has changed
        with pytest.raises((BelowThreshold, InconsistentView, BadMessage)):
            client.receive(m.encode_to_client(message, None))
        assert client.state is state


@pytest.mark.parametrize("step", list(Step))
def test_server_takes_only_the_reply_of_its_step(step):
    server, engine, _, _ = make_parties(3)
    outgoing, replies = server.start(), {}
    while server.step is not step:
        replies[server.step] = engine.step(server.step.value, outgoing)[0]
        outgoing = server.advance(replies[server.step])
    for earlier in replies.values():
        with pytest.raises((OutOfTurn, BelowThreshold)):
            server.advance(earlier)
        assert server.step is step
    if step is not Step.DONE:
        with pytest.raises(OutOfTurn):
            server.publish(b"")
        with pytest.raises(BelowThreshold):
            server.advance({})
