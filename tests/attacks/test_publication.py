"""What a site makes of a publication stays with the site: the answer to it is the same whatever it
holds, and it is looked at once."""

import json

import msgspec
import pytest
from conformance import agree
from federations import NO_BALLOT, TWO_OF_THREE, draft, make_data
from restarting import Restarting

from fedhull.kits.journal import Journal
from fedhull.kits.kit import Kit
from fedhull.kits.provision import make_kits
from fedhull.protocol.drive import drive
from fedhull.protocol.messages import decode_to_client, encode_to_client
from fedhull.protocol.server import ServerSession
from fedhull.rounds.counts import COUNTS
from fedhull.rounds.site import Site

NAMES = ["lab-a", "lab-b", "lab-c"]
BAD = [b"", b"[]", b'{"class_of_label": {}}', b'{"format": "fedhull-model"}']


@pytest.fixture
def parties(tmp_path):
    """(coordinator, session that has its sum, engine): all that is left is to publish."""
    kits = make_kits(draft(NAMES, f"{TWO_OF_THREE}\n{NO_BALLOT}"), tmp_path / "kits").folder
    data = make_data(tmp_path, NAMES)
    for name in NAMES:
        agree(kits, name, data)
    server = Kit.open(kits / "server")
    coordinator = server.task.coordinator()
    session = ServerSession(server.study, coordinator.next_sum(), server.identity)
    engine = Restarting(kits, NAMES)
    drive(session, engine, 1.0)
    return coordinator, session, engine


def status(engine, name):
    return json.loads((engine.site(name).results / "status.json").read_text())


@pytest.mark.parametrize("published", BAD)
def test_the_answer_does_not_say_what_a_site_made_of_a_publication(parties, published):
    coordinator, session, engine = parties
    good = session.publish(coordinator.take(session.aggregate).content, COUNTS)
    fine, objecting = good["lab-a"], session.publish(published, COUNTS)["lab-b"]
    (reply, error), (noise, silence) = (
        engine.site(name).answer("publish", message)
        for name, message in (("lab-a", fine), ("lab-b", objecting))
    )
    assert (error, silence) == (None, None)
    assert len(reply) == len(noise)
    # the person there is told
    assert status(engine, "lab-a")["error"] is None
    assert status(engine, "lab-b")["error"] == "BadMessage"
    assert not (engine.site("lab-b").results / "result.json").exists()


def test_a_publication_is_looked_at_once_even_by_a_site_that_is_restarted(parties, monkeypatch):
    coordinator, session, engine = parties
    engine.step("publish", session.publish(BAD[0], COUNTS))
    good = session.publish(coordinator.take(session.aggregate).content, COUNTS)

    def look(self, published):
        raise AssertionError("the second publication was looked at")

    monkeypatch.setattr(Site, "_use", look)
    assert engine.step("publish", good) == ({}, dict.fromkeys(NAMES, "OutOfTurn"))
    assert status(engine, "lab-a")["error"] == "BadMessage"


def test_a_site_that_dies_over_a_publication_has_journalled_it(parties, monkeypatch):
    _, session, engine = parties

    def die(self, published):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Site, "_use", die)
        with pytest.raises(KeyboardInterrupt):
            engine.step("publish", session.publish(BAD[0], COUNTS))
    assert Journal.from_bytes(engine.journals["lab-a"]).published == 1
    again = engine.site("lab-a")
    assert again.answer("publish", session.publish(BAD[1], COUNTS)["lab-a"]) == (None, "OutOfTurn")


def test_a_failure_that_should_not_be_looks_like_any_answer(parties, monkeypatch):
    _, session, engine = parties

    def fail(self, published):
        raise RuntimeError("patient 17")

    monkeypatch.setattr(Site, "_use", fail)
    run = engine.site("lab-a")
    reply, error = run.answer("publish", session.publish(b"{}", COUNTS)["lab-a"])
    assert error is None
    assert len(reply) > 0
    assert "patient 17" in (run.results / "traceback.txt").read_text()
    assert "patient 17" not in (run.results / "status.json").read_text()


def test_a_site_that_cannot_answer_at_all_says_what_every_site_says_out_of_turn(
    parties, monkeypatch
):
    _, session, engine = parties

    def fail(self, raw):
        raise RuntimeError("patient 17")

    message = session.publish(b"{}", COUNTS)["lab-a"]
    run = engine.site("lab-a")
    run.prepare()
    monkeypatch.setattr(Site, "receive", fail)
    assert run.answer("publish", message) == (None, "OutOfTurn")
    assert engine.site("lab-a").answer("publish", message) == (None, "OutOfTurn")


def test_a_site_without_room_for_its_result_answers_all_the_same(parties):
    coordinator, session, engine = parties
    good = session.publish(coordinator.take(session.aggregate).content, COUNTS)
    (engine.site("lab-a").results / "model.json").mkdir()
    reply, error = engine.site("lab-a").answer("publish", good["lab-a"])
    assert error is None
    assert len(reply) > 0
    assert status(engine, "lab-a")["error"] is not None


@pytest.mark.parametrize("step", ["publish", "upload", "advertise"])
def test_what_the_engine_calls_a_publication_makes_no_difference(parties, step):
    _, session, engine = parties
    _, failures = engine.step(step, session.publish(b"[]", COUNTS))
    assert set(failures.values()) <= {"OutOfTurn"}
    assert Journal.from_bytes(engine.journals["lab-a"]).published == 1


def test_a_forged_publication_or_one_of_another_session_uses_nothing_up(parties):
    coordinator, session, engine = parties
    message = session.publish(b"[]", COUNTS)["lab-a"]
    forged = message[:-1] + bytes([message[-1] ^ 1])
    assert engine.site("lab-a").answer("publish", forged) == (None, "BadIdentity")
    server = Kit.open(engine.kits / "server")
    with_header = decode_to_client(message, server.study)
    other = msgspec.structs.replace(with_header, session=bytes(16))
    foreign = encode_to_client(other, server.identity)
    assert engine.site("lab-a").answer("publish", foreign) == (None, "BadMessage")
    assert Journal.from_bytes(engine.journals["lab-a"]).published == 0
    good = session.publish(coordinator.take(session.aggregate).content, COUNTS)
    assert engine.step("publish", good)[1] == {}
    assert (engine.site("lab-a").results / "model.json").exists()
