"""Sessions can be taken up again: the same randomness and messages take the same course."""

import pytest
from parties import identity, make_client, make_clients, make_server, make_study, random_hulls

from fedhull.errors import BadIdentity, BadMessage
from fedhull.protocol.keys import Randomness


def test_a_client_with_its_randomness_and_messages_gives_the_same_replies():
    study = make_study(3)
    hulls = random_hulls(study, 1)
    roots = {name: Randomness() for name in study.clients}

    def client(name):
        return make_client(study, name, hulls[name], roots[name])

    server, heard, said = make_server(study), {n: [] for n in hulls}, {n: [] for n in hulls}
    outgoing = server.start()
    while outgoing:
        replies = {}
        for name, message in outgoing.items():
            again = client(name)  # a new object for each message, as after a restart
            assert [again.receive(raw) for raw in heard[name]] == said[name]
            replies[name] = again.receive(message)
            heard[name].append(message)
            said[name].append(replies[name])
        outgoing = server.advance(replies)
    assert len(server.aggregate.survivors) == 3


def test_a_server_with_its_session_and_replies_sends_the_same_messages():
    study = make_study(3)
    clients = make_clients(study, random_hulls(study, 2))
    first = make_server(study, session=bytes(range(16)))
    second = make_server(study, session=bytes(range(16)))
    outgoing = first.start()
    assert second.start() == outgoing
    while outgoing:
        replies = {name: clients[name].receive(message) for name, message in outgoing.items()}
        outgoing = first.advance(replies)
        assert second.advance(replies) == outgoing
    assert first.aggregate == second.aggregate


def test_two_roots_share_no_choice():
    one, two = Randomness(), Randomness()
    tokens = {r.token(purpose) for r in (one, two) for purpose in ("seed", "order", "mask key")}
    draws = {one.below(purpose)(2**200) for purpose in ("a", "b")} | {two.below("a")(2**200)}
    assert len(tokens) == 6
    assert len(draws) == 3
    assert one.root.hex() not in repr(one)


def signed_study():
    plain = make_study(3)
    fields = {name: getattr(plain, name) for name in ("name", "geometry", "labels", "clients")}
    return type(plain)(**fields, coordinator=identity("coordinator").public)


def test_a_client_takes_only_what_the_named_coordinator_has_signed():
    study = signed_study()
    hulls = random_hulls(study, 3)
    unsigned = type(study)(
        name=study.name, geometry=study.geometry, labels=study.labels, clients=study.clients
    )
    good = make_server(study, identity("coordinator")).start()["site-a"]
    client = make_clients(study, hulls)["site-a"]
    with pytest.raises(BadMessage):
        client.receive(make_server(unsigned).start()["site-a"])
    for position in range(0, len(good), 7):
        bad = bytearray(good)
        bad[position] ^= 1
        with pytest.raises((BadIdentity, BadMessage)):
            client.receive(bytes(bad))
    assert client.receive(good) is not None


def test_a_client_cannot_pass_for_the_coordinator():
    study = signed_study()
    for stranger in (None, identity("site-b")):
        with pytest.raises(BadIdentity, match="coordinator"):
            make_server(study, stranger)
