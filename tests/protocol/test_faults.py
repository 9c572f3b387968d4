"""Damaged, replayed, reordered and forged messages; a server that lies. Never a wrong sum, on a
complete graph of masks and on a sparse one."""

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
from fedhull.protocol.dealing import fingerprints, keys_digest
from fedhull.protocol.drive import MemoryEngine, drive
from fedhull.protocol.server import Step
from fedhull.rounds.counts import COUNTS

STEPS = [step.value for step in Step if step is not Step.DONE]
# Of twelve sites, each shares masks with some of the others only.
GRAPHS = {"complete": {"n": 4}, "sparse": {"n": 12, "graph": "sparse"}}


@pytest.fixture(params=GRAPHS)
def graph(request):
    return GRAPHS[request.param]


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


def run(graph, down=None, up=None, seed=0):
    study = make_study(**graph)
    hulls = random_hulls(study, seed)
    clients = make_clients(study, hulls)
    server, engine = make_server(study), Tampering(clients.values(), down, up)
    result = drive(server, engine)
    assert result.total.hulls == expected_hulls(clients, hulls, result.survivors)
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
def test_a_damaged_reply_costs_its_sender_the_study_and_nobody_else(step, damage, graph):
    server, _, result = run(graph, up=only(step, "site-b", DAMAGE[damage]))
    assert isinstance(server.refused["site-b"], (BadMessage, BadIdentity))
    assert ("site-b" in result.survivors) == (step in ("confirm", "unmask"))


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("step", STEPS)
def test_a_damaged_message_to_a_client_is_refused_by_it(step, damage, graph):
    # a flipped bit in the middle of a list may hit another's signed entry, or a sealed message
    _, engine, result = run(graph, down=only(step, "site-b", DAMAGE[damage]))
    assert set(engine.failures) <= {"BadMessage", "BadIdentity", "InconsistentView"}
    assert ("site-b" in result.survivors) == (step in ("confirm", "unmask"))


@given(st.sampled_from(list(GRAPHS)), st.sampled_from(STEPS), st.booleans(), st.integers(0, 10**6))
@examples(150)
def test_any_flipped_bit_gives_the_survivors_sum_or_a_named_error(graph, step, upwards, place):
    change = only(step, "site-c", lambda raw: flip(raw, place))
    with suppress(FedhullError):
        run(GRAPHS[graph], **{"up" if upwards else "down": change})


@pytest.mark.parametrize(("earlier", "later"), list(itertools.permutations(STEPS, 2)))
def test_replayed_and_reordered_replies_are_refused(earlier, later, graph):
    seen = {}

    def replay(kind, name, raw):
        seen[kind, name] = raw
        return seen.get((earlier, name), raw) if (kind, name) == (later, "site-b") else raw

    server, _, _ = run(graph, up=replay)
    if STEPS.index(earlier) < STEPS.index(later):
        # something else than was asked for, or longer than that can be
        assert isinstance(server.refused["site-b"], (OutOfTurn, BadMessage))


def test_replies_of_an_earlier_session_are_refused(graph):
    old = {}
    run(graph, up=lambda kind, name, raw: old.setdefault((kind, name), raw))
    for step in STEPS:
        server, _, _ = run(graph, up=only(step, "site-b", lambda raw, s=step: old[s, "site-b"]))
        assert "another session" in str(server.refused["site-b"])


def test_one_client_cannot_speak_for_another(graph):
    seen = {}

    def steal(kind, name, raw):
        seen[kind, name] = raw
        return seen[kind, "site-a"] if name == "site-b" else raw

    server, _, _ = run(graph, up=steal)
    assert "is signed by 'site-a'" in str(server.refused["site-b"])


def test_a_client_with_another_study_file_is_refused(graph):
    study = make_study(**graph)
    clients = make_clients(study, random_hulls(study, 0))
    other = make_study(**graph, epsilon=0.4)
    clients["site-b"] = make_client(other, "site-b", [[1]])
    engine = Tampering(clients.values())
    assert "site-b" not in drive(make_server(study), engine).survivors
    assert engine.failures["BadMessage"] == 1


def test_a_signature_by_a_stranger_is_refused(graph):
    study = make_study(**graph)
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


def test_two_clients_with_one_identity_do_not_both_take_part(graph):
    # the second process answers in the first one's place from some step on: its keys are others
    study = make_study(**graph)
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
    assert result.total.hulls == expected_hulls(clients, hulls, result.survivors)


# A server that lies.


def edit(raw, study, **changes):
    message = m.decode_to_client(raw, study)
    return m.encode_to_client(msgspec.structs.replace(message, **changes), None)


def lie(graph, step, change):
    """Run with a server whose message of `step` is changed for each client; the named failures. It
    knows which sites to tell what: two halves, with half of the witnesses in each; site-d is in the
    second."""
    study = make_study(**graph)
    clients = make_clients(study, random_hulls(study, 0))
    server = make_server(study)
    witnesses = server._graph.witnesses
    ordered = sorted(clients, key=lambda name: (name in witnesses, name))
    half = ordered[1::2] if "site-d" in ordered[::2] else ordered[::2]

    def down(kind, name, raw):
        return change(server, name, raw, name in half) if kind == step else raw

    engine = Tampering(clients.values(), down)
    with pytest.raises(ProtocolError):
        drive(server, engine)
    assert server.aggregate is None
    return engine.failures, clients


def without(mapping, name):
    return {k: v for k, v in mapping.items() if k != name}


def test_different_key_lists_for_different_clients_are_noticed_before_any_upload(graph):
    def change(server, name, raw, in_half):
        study = server.study
        if name not in ("site-c", "site-d"):
            listed = m.decode_to_client(raw, study).advertisements
            return edit(raw, study, advertisements=without(listed, "site-d"))
        return raw

    # those who were not shown a participant's keys seal nothing for it, and open nothing of it
    _, clients = lie(graph, "share", change)
    assert ClientState.UPLOADED not in {c.state for c in clients.values()}


def test_a_key_list_with_foreign_keys_is_refused(graph):
    def change(server, name, raw, in_half):
        study = server.study
        listed = m.decode_to_client(raw, study).advertisements
        names = [*listed]
        others = dict(zip([*names[1:], names[0]], listed.values(), strict=True))
        return edit(raw, study, advertisements=others)

    failures, _ = lie(graph, "share", change)
    assert failures == {"BadMessage": graph["n"]}


def test_too_short_a_key_list_is_refused(graph):
    def change(server, name, raw, in_half):
        study = server.study
        listed = m.decode_to_client(raw, study).advertisements
        others = [k for k in listed if k != name][:1]
        return edit(raw, study, advertisements={k: listed[k] for k in [name, *others]})

    failures, _ = lie(graph, "share", change)
    assert failures == {"BelowThreshold": graph["n"]}


def test_different_participants_for_different_clients_are_noticed_before_any_upload(graph):
    def change(server, name, raw, in_half):
        study = server.study
        if not in_half:
            return raw
        honest = m.decode_to_client(raw, study)
        participants = study.marked(set(study.named(honest.participants)) - {"site-d"})
        listed = without(server._listed, "site-d")
        keys = keys_digest(fingerprints(listed[each] for each in sorted(listed)))
        sealed = without(honest.sealed, "site-d")
        return edit(raw, study, sealed=sealed, participants=participants, keys=keys)

    _, clients = lie(graph, "announce", change)
    assert ClientState.UPLOADED not in {c.state for c in clients.values()}


def test_different_survivors_for_different_clients_are_noticed_before_unmasking(graph):
    def change(server, name, raw, in_half):
        study = server.study
        survivors = m.decode_to_client(raw, study).survivors
        drop = "site-d" if in_half else "site-a"
        kept = [s for s in study.named(survivors) if s != drop or s == name]
        return edit(raw, study, survivors=study.marked(kept))

    _, clients = lie(graph, "confirm", change)
    assert ClientState.UNMASKED not in {c.state for c in clients.values()}


@pytest.mark.parametrize(
    ("change", "failure"),
    [
        (lambda marked: b"\x01" + bytes(len(marked) - 1), "BelowThreshold"),
        (lambda marked: marked[:-1] + bytes([2 * marked[-1] + 1]), "BadMessage"),
        (lambda marked: marked + b"\0", "BadMessage"),
        (lambda marked: bytes([marked[0] - 1]) + marked[1:], "InconsistentView"),
    ],
    ids=["only itself", "a seat too many", "another length", "without itself"],
)
def test_an_impossible_list_of_survivors_is_refused(change, failure, graph):
    study = make_study(**graph)
    clients = make_clients(study, random_hulls(study, 0))
    survivors = change(study.marked(clients))
    down = only("confirm", "site-a", lambda raw: edit(raw, study, survivors=survivors))
    engine = Tampering(clients.values(), down)
    drive(make_server(study), engine)
    assert engine.failures == {failure: 1}
    assert clients["site-a"].state == ClientState.UPLOADED


def test_confirmations_of_another_list_are_refused(graph):
    def change(server, name, raw, in_half):
        study = server.study
        confirmations = m.decode_to_client(raw, study).confirmations
        # repeat one's own under another name, or hold one back below the threshold
        return edit(raw, study, confirmations=dict(list(confirmations.items())[:2]))

    failures, _ = lie(graph, "unmask", change)
    assert failures == {"BelowThreshold": graph["n"]}


def test_a_second_upload_or_a_second_unmasking_is_never_made(graph):
    study = make_study(**graph)
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


def test_wrong_shares_are_noticed(graph):
    study = make_study(**graph)
    hulls = random_hulls(study, 0)
    clients = make_clients(study, hulls)

    def up(kind, name, raw):
        if (kind, name) != ("unmask", "site-a"):
            return raw
        _, message = m.decode_signed(raw, study, clients[name]._session, 10**6)
        wrong = dict.fromkeys(message.seed_shares, bytes(33))
        message = msgspec.structs.replace(message, seed_shares=wrong)
        return m.encode_signed(message, name, identity(name))

    # as many as are enough are honest: three of four sites, six of the seven in a circle
    result = drive(make_server(study), Tampering(clients.values(), up=up))
    assert result.total.hulls == expected_hulls(clients, hulls, result.survivors)
    # with one of them missing, nothing can be restored, and nothing is
    clients = make_clients(study, hulls)
    # a session in which somebody's shares are with both
    server = make_server(study, session=bytes(16))
    assert any({"site-a", "site-d"} <= holders for holders in server._graph.holders.values())
    engine = Tampering(clients.values(), up=up)
    engine._vanish = {"unmask": {"site-d"}}
    with pytest.raises(BadShares, match="do not fit"):
        drive(server, engine)
    assert server.aggregate is None


def test_a_malformed_upload_costs_its_sender_the_study_and_nobody_else(graph):
    study = make_study(**graph)
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
    assert result.total.hulls == expected_hulls(clients, hulls, list(clients)[1:])
    assert "malformed" in str(server.refused["site-a"])


def test_a_key_that_nothing_can_be_derived_from_is_refused_at_once(graph):
    study = make_study(**graph)
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
    assert result.survivors == list(clients)[1:]
    assert "exchange key is not valid" in str(server.refused["site-a"])


def test_who_was_not_asked_is_not_heard(graph):
    study = make_study(**graph)
    clients = make_clients(study, random_hulls(study, 0))
    server, engine = make_server(study), MemoryEngine(clients.values())
    outgoing = server.start()
    replies, _ = engine.step("advertise", outgoing)
    late = replies.pop("site-d")
    outgoing = server.advance(replies)
    replies, _ = engine.step("share", outgoing)
    server.advance({**replies, "site-d": late})
    assert "was not asked" in str(server.refused["site-d"])


def test_both_kinds_of_share_are_never_given_for_one_client(graph):
    server, engine, clients, _ = make_parties(**graph, vanish={"upload": ["site-d"]})
    seen = {}

    watched = Tampering(
        [clients[n] for n in clients if n != "site-d"],
        up=lambda kind, name, raw: seen.setdefault((kind, name), raw),
    )
    outgoing = server.start()
    while outgoing:
        chosen = watched if server.step is Step.UNMASK else engine
        outgoing = server.advance(chosen.step(server.step.value, outgoing)[0])
    assert len(seen) == graph["n"] - 1
    for (_, name), raw in seen.items():
        _, unmask = m.decode_signed(raw, server.study, clients[name]._session, 10**6)
        owners = server._graph.owners[name]
        assert set(unmask.key_shares) == owners & {"site-d"}
        assert set(unmask.seed_shares) == owners - {"site-d"}


# The table of states and events.


def sample_messages(study, session):
    header = {"study": study.hash, "session": session}
    return {
        "invite": m.Invite(**header),
        "key-list": m.KeyList(**header, advertisements={}),
        "sealed-list": m.SealedList(**header, participants=b"\0", keys=bytes(32), sealed={}),
        "size": m.Size(**header, totals=[2**40], fingerprints=b"", announcements={}),
        "survivor-list": m.SurvivorList(**header, survivors=b"\0"),
        "confirmation-list": m.ConfirmationList(**header, confirmations={}),
        "propose": m.Propose(**header, content=b"", asked=b"\0"),
        "publish": m.Publish(**header, content=b"", asked=b"\0"),
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
