"""A site that lies: it cannot speak for others, silence them, or have others blamed for it."""

from dataclasses import replace

import msgspec
import pytest
from parties import (
    contribution,
    expected_hulls,
    identity,
    make_clients,
    make_server,
    make_study,
    random_hulls,
    summation,
)

from fedhull.errors import BadMessage, BadShares, DecodingError, UnknownLabelSum
from fedhull.learn.sketch import LENGTH
from fedhull.protocol import client
from fedhull.protocol import messages as m
from fedhull.protocol.dealing import place_in_order
from fedhull.protocol.drive import MemoryEngine, drive
from fedhull.protocol.shares import SHARE_BYTES
from fedhull.rounds.round import RoundContribution
from fedhull.study.kinds import task_of

LIAR = "site-a"


def parties(n, seed=0, **options):
    study = make_study(n, **options)
    hulls = random_hulls(study, seed, largest=3)
    return study, hulls, make_clients(study, hulls)


def lying(client, change):
    """Let a client send what `change` makes of its honest vector, given what it goes by."""
    honest = client._contribution

    class Lying(RoundContribution):
        def vector(self, drawn, totals, participants):
            layout = self.summation.layout(totals, participants)
            more = change(drawn, totals[0], participants, self.summation.round)
            return layout.add(honest.vector(drawn, totals, participants), layout.vector(more))

    client._contribution = Lying(honest.summation, honest.own)


def corners(round, hulls, total, participants):
    """What adds these hulls {label: bins} to a sum, and nothing to any slot."""
    study = round.study
    sums = study.coding.encode(hulls, total, study.protocol.spare_sums)
    labels = participants * study.labels.classes
    return [
        sums,
        round.slots.of_places.encode({}, participants),
        round.slots.of_labels.encode({}, labels),
    ]


def place_known_to_all(clients, name):
    """A site's place, as every site can work it out, where there is an order."""
    liar = clients[LIAR]
    return place_in_order(name, liar._participants, liar._order_key)


# Corners in a class that is not the liar's.


@pytest.mark.parametrize("seed", range(20))
def test_corners_added_to_another_sites_class_are_noticed(seed):
    """With a code whose labels a liar can know, because the sites agree on their order."""
    study, _, clients = parties(4, seed, code="binary", classes=2)
    victim = clients["site-b"]

    def add(drawn, total, participants, round):
        # site-b draws its labels in the same step; the order it goes by is known to all
        label = study.labels_of(place_known_to_all(clients, "site-b"))[seed % 2]
        return corners(round, {label: [41 + seed]}, total, participants)

    lying(clients[LIAR], add)
    server = make_server(study)
    with pytest.raises(UnknownLabelSum, match=r"another site has added|hulls without counts"):
        drive(server, MemoryEngine(clients.values()))
    assert server.aggregate is None
    assert victim.state == "unmasked"


@pytest.mark.parametrize("seed", range(10))
def test_carries_into_another_sites_code_are_noticed(seed):
    # 2^b + 2^b is the code of label b + 1: a liar sends its own label twice in one bin
    study, _, clients = parties(3, seed, code="binary", classes=2)

    def add(drawn, total, participants, round):
        own = {drawn.labels[0]: [seed + 1]}
        return corners(round, own, total, participants)

    lying(clients[LIAR], add)
    lying(clients[LIAR], add)
    with pytest.raises(DecodingError):
        drive(make_server(study), MemoryEngine(clients.values()))


@pytest.mark.parametrize("code", ["auto", "binary", "bose-chowla:12"])
def test_a_second_place_is_noticed(code):
    study, _, clients = parties(4, code=code, threshold=3)

    def add(drawn, total, participants, round):
        place = (drawn.place + 1) % (study.places if study.draws_places else 4)
        label, sketch = study.labels_of(place)[0], [5] + [0] * LENGTH
        other = msgspec.structs.replace(drawn, place=place, labels=[label])
        slots = round.slots.encode(other, {label: sketch}, participants, {label: [7]})
        return [corners(round, {label: [7]}, total, participants)[0], *slots]

    lying(clients[LIAR], add)
    with pytest.raises(DecodingError):
        drive(make_server(study), MemoryEngine(clients.values()))


@pytest.mark.parametrize("code", ["auto", "binary"])
def test_a_place_that_is_anothers_is_noticed(code):
    study, _, clients = parties(4, code=code)
    honest = clients[LIAR]._contribution

    class Lying(RoundContribution):
        def draw(self, place, randomness):
            # even if it could know a place that was drawn at random
            mine = super().draw(place, randomness)
            theirs = clients["site-b"]
            other = theirs._contribution.draw(
                place_known_to_all(clients, "site-b"), theirs._randomness
            )
            labels = other.labels[:1] * len(mine.labels)
            return msgspec.structs.replace(mine, place=other.place, labels=labels)

    prepared = honest.own.holdings.prepared
    one = contribution(study, prepared.hulls[:1], prepared.rows[:1])
    clients[LIAR]._contribution = Lying(one.summation, one.own)
    with pytest.raises(DecodingError):
        drive(make_server(study), MemoryEngine(clients.values()))


def test_a_hull_with_bins_that_are_not_its_corners_is_refused():
    study = make_study(3, epsilon=0.5)
    ring = study.quantizer.n_bins - study.quantizer.n_angles
    around = [ring + 1 + i * study.quantizer.n_angles // 4 for i in range(4)]
    hulls = {"site-a": [[*around, 1]], "site-b": [around], "site-c": [around]}
    total = drive(make_server(study), MemoryEngine(make_clients(study, hulls).values()))
    with pytest.raises(UnknownLabelSum, match="not its corners"):
        task_of(study).coordinator().take(total)


@pytest.mark.parametrize("code", ["auto", "binary"])
def test_a_sketch_changed_by_another_site_is_noticed(code):
    study, _, clients = parties(4, code=code)

    def add(drawn, total, participants, round):
        # numbers for every place that a liar could know, as if all were its own
        known = clients["site-b"]._contribution.draw(
            place_known_to_all(clients, "site-b"), clients["site-b"]._randomness
        )
        more = corners(round, {}, total, participants)
        labels = participants * study.labels.classes
        # power sums of values alone, without naming the slot a second time
        told = round.slots.of_labels.encode({known.labels[0]: [1] * (1 + LENGTH)}, labels)
        more[2] = [0] * (labels + 1 + 2) + told[labels + 1 + 2 :]
        return more

    lying(clients[LIAR], add)
    with pytest.raises(DecodingError):
        drive(make_server(study), MemoryEngine(clients.values()))


def test_announcing_too_much_ends_the_session_before_any_upload():
    study, _, clients = parties(4, most_bins=100)

    class Boastful(RoundContribution):
        announced = (10**9,)

    clients[LIAR]._contribution = Boastful(summation(study), contribution(study, [[1]]).own)
    with pytest.raises(BadMessage, match="more together than the study allows"):
        drive(make_server(study), MemoryEngine(clients.values()))
    assert {client.state.value for client in clients.values()} == {"announced"}


# Wrong shares.


class WrongShares(MemoryEngine):
    """Some sites hand in wrong shares, of the secrets of all or of one only."""

    def __init__(self, clients, study, liars, of=None):
        super().__init__(clients)
        self.study, self.liars, self.of = study, liars, of

    def step(self, kind, messages, timeout=0.0):
        replies, failures = super().step(kind, messages, timeout)
        for name in self.liars if kind == "unmask" else ():
            _, message = m.decode_signed(
                replies[name], self.study, self.clients[name]._session, 10**6
            )
            wrong = {
                owner: bytes(SHARE_BYTES) if self.of in (None, owner) else share
                for owner, share in message.seed_shares.items()
            }
            message = msgspec.structs.replace(message, seed_shares=wrong)
            replies[name] = m.encode_signed(message, name, identity(name))
        return replies, failures


@pytest.mark.parametrize("of", [None, "site-c"], ids=["all", "one"])
@pytest.mark.parametrize("liars", [["site-a"], ["site-n"], ["site-b", "site-m"]])
def test_wrong_shares_are_corrected_and_their_senders_named(liars, of):
    study, hulls, clients = parties(14)
    assert (14 - study.threshold) // 2 == 2
    server = make_server(study)
    result = drive(server, WrongShares(clients.values(), study, liars, of))
    assert result.total.hulls == expected_hulls(clients, hulls, sorted(clients))
    assert sorted(server.refused) == liars
    assert all(isinstance(problem, BadShares) for problem in server.refused.values())


def test_who_was_dealt_a_wrong_share_is_not_blamed_alone(monkeypatch):
    study, hulls, clients = parties(7)
    honest = client.deal

    def deal(study, graph, name, *rest):
        secrets = honest(study, graph, name, *rest)
        if name == "site-a":
            secrets["site-b"] = replace(secrets["site-b"], seed_share=bytes(SHARE_BYTES))
        return secrets

    monkeypatch.setattr(client, "deal", deal)
    server = make_server(study)
    result = drive(server, MemoryEngine(clients.values()))
    assert result.total.hulls == expected_hulls(clients, hulls, sorted(clients))
    assert "or 'site-a' has dealt it one" in str(server.refused["site-b"])


def test_a_wrong_share_of_the_total_is_corrected_and_its_sender_named():
    study, hulls, clients = parties(7)

    class Wrong(MemoryEngine):
        def step(self, kind, messages, timeout=0.0):
            replies, failures = super().step(kind, messages, timeout)
            if kind == "announce":
                _, message = m.decode_signed(replies[LIAR], study, clients[LIAR]._session)
                message = msgspec.structs.replace(message, shares=bytes(8))
                replies[LIAR] = m.encode_signed(message, LIAR, identity(LIAR))
            return replies, failures

    server = make_server(study)
    result = drive(server, Wrong(clients.values()))
    others = sorted(set(clients) - {LIAR})
    assert result.survivors == others
    assert result.total.hulls == expected_hulls(clients, hulls, others)
    assert "share of how much" in str(server.refused[LIAR])


# Messages in more than one form.


def with_repeated_key(raw, times):
    """A site's signed message whose body says one thing many times over."""
    envelope = msgspec.msgpack.decode(raw, type=m.Signed)
    plain = msgspec.msgpack.decode(envelope.body)
    size = len(plain) + times
    body = (
        b"\xde"
        + size.to_bytes(2, "big")
        + b"".join(
            msgspec.msgpack.encode(key) + msgspec.msgpack.encode(value)
            for key, value in [*plain.items(), *[("channel_key", plain["channel_key"])] * times]
        )
    )
    signature = identity(LIAR).sign(m._signing_input(LIAR, body))
    return msgspec.msgpack.encode(m.Signed(LIAR, body, signature))


@pytest.mark.parametrize("times", [1, 2, 60])
def test_repeated_keys_cost_their_sender_the_study_and_nobody_else(times):
    study, hulls, clients = parties(4)

    class Repeating(MemoryEngine):
        def step(self, kind, messages, timeout=0.0):
            replies, failures = super().step(kind, messages, timeout)
            if kind == "advertise":
                replies[LIAR] = with_repeated_key(replies[LIAR], times)
            return replies, failures

    server = make_server(study)
    result = drive(server, Repeating(clients.values()))
    assert isinstance(server.refused[LIAR], BadMessage)
    assert result.survivors == ["site-b", "site-c", "site-d"]
    assert result.total.hulls == expected_hulls(clients, hulls, result.survivors)


def test_the_longest_advertisements_of_all_sites_fit_into_a_key_list():
    names = [f"{i:02}".ljust(64, "x") for i in range(5)]
    base = make_study(5)
    study = msgspec.structs.replace(base, clients={name: identity(name).public for name in names})
    clients = make_clients(study, {name: [[1 + i]] for i, name in enumerate(names)})
    assert drive(make_server(study), MemoryEngine(clients.values())).survivors == names


def test_a_site_that_is_sent_a_seal_that_does_not_open_says_by_whom():
    study, _, clients = parties(4)

    class Garbage(MemoryEngine):
        def step(self, kind, messages, timeout=0.0):
            replies, failures = super().step(kind, messages, timeout)
            if kind == "share":
                _, message = m.decode_signed(replies[LIAR], study, clients[LIAR]._session, 10**6)
                sealed = {name: bytes(len(raw)) for name, raw in message.sealed.items()}
                message = msgspec.structs.replace(message, sealed=sealed)
                replies[LIAR] = m.encode_signed(message, LIAR, identity(LIAR))
            return replies, failures

    server, engine = make_server(study), Garbage(clients.values())
    outgoing = server.start()
    while server.step.value != "announce":
        outgoing = server.advance(engine.step(server.step.value, outgoing)[0])
    with pytest.raises(BadMessage, match="what 'site-a' sealed for this site does not open"):
        clients["site-b"].receive(outgoing["site-b"])
