"""What participants do, whatever the engine: holdings, sites, consent, kits, logs."""

import json

import msgspec
import numpy as np
import pytest
from conformance import agree, in_memory, sites_in_memory
from federations import NO_BALLOT, TWO_OF_THREE, draft, make_data

from fedhull.data.generated import make_tree
from fedhull.errors import (
    BadIdentity,
    BadMessage,
    InvalidInput,
    NoConsent,
    OutOfTurn,
    OutsideRadius,
)
from fedhull.kits.audit import AuditLog
from fedhull.kits.consent import use, withdraw
from fedhull.kits.journal import Journal
from fedhull.kits.kit import Kit
from fedhull.kits.participant import SiteRun
from fedhull.kits.provision import make_kits
from fedhull.protocol.drive import MemoryEngine, drive
from fedhull.protocol.keys import Identity
from fedhull.protocol.server import ServerSession
from fedhull.rounds.counts import COUNTS
from fedhull.rounds.holdings import ClassHoldings, class_table
from fedhull.rounds.hull_holdings import PreparedHulls
from fedhull.rounds.hulls import HullSums
from fedhull.rounds.outcome import NOT_ASKED
from fedhull.rounds.run import run_study
from fedhull.rounds.site import Site
from fedhull.study.study import Disclosure, Study
from fedhull.study.task import Source

NAMES = ["lab-a", "lab-b", "lab-c"]


@pytest.fixture
def kits(tmp_path):
    return make_kits(draft(NAMES), tmp_path / "kits").folder


@pytest.fixture
def data(tmp_path):
    return make_data(tmp_path, NAMES)


# Holdings


def prepare(study, x, y, donors=None):
    return HullSums(study).prepare(x, y, donors)


def test_holdings_keep_the_same_points_for_testing_every_time(kits):
    study, tree = Kit.open(kits / "server").study, make_tree(900, seed=3)
    one, two = prepare(study, tree.x, tree.y), prepare(study, tree.x, tree.y)
    assert one.prepared == two.prepared
    assert np.array_equal(one.test_x, two.test_x)
    for label in np.unique(tree.y):
        share = (one.test_y == label).sum() / (tree.y == label).sum()
        assert 0.15 - 1 / (tree.y == label).sum() < share <= 0.15
    assert one.points_held + len(one.test_y) == len(tree.x)


def test_no_class_is_lost_to_testing(kits):
    study = Kit.open(kits / "server").study
    study = msgspec.structs.replace(study, disclosure=Disclosure(min_cells=1))
    x, y = np.array([[0.1, 0.0], [0.5, 0.5], [0.5, 0.4]]), np.array(["rare", "b", "b"])
    holdings = prepare(study, x, y)
    assert holdings.classes == ["b", "rare"]
    assert len(holdings.test_y) == 0


def test_what_is_withheld_is_said_and_a_site_with_nothing_else_cannot_take_part(kits):
    study = Kit.open(kits / "server").study
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.5, 0.5, (144, 2))
    y = np.array(["rare"] * 4 + ["b"] * 140)
    holdings = prepare(study, x, y)
    assert (holdings.classes, holdings.withheld) == (["b"], ["rare"])
    assert "rare: withheld, because it has 4 cells, fewer than 5." in class_table(holdings.lines)
    assert set(holdings.test_y.tolist()) == {"b"}
    with pytest.raises(InvalidInput, match="none of the 1 classes may leave: rare has 4 cells"):
        prepare(study, x[:4], y[:4])


def test_a_class_of_one_donor_is_withheld_where_donors_are_known(kits):
    study = Kit.open(kits / "server").study
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-0.5, 0.5, (60, 2)), np.repeat(["a", "b"], 30)
    donors = np.array(["d1"] * 30 + ["d1", "d2"] * 15)
    assert prepare(study, x, y).withheld == []
    holdings = prepare(study, x, y, donors)
    assert (holdings.classes, holdings.withheld) == (["b"], ["a"])


def test_no_larger_share_of_the_cells_leaves_than_the_study_allows(kits):
    study = Kit.open(kits / "server").study
    x, y = np.random.default_rng(0).uniform(-0.5, 0.5, (60, 2)), np.repeat(["a", "b"], 30)
    strict = msgspec.structs.replace(study, disclosure=Disclosure(max_share=0.02))
    with pytest.raises(InvalidInput, match="max_share allows; nothing is sent"):
        prepare(strict, x, y)


def test_data_that_do_not_fit_the_study_are_refused(kits):
    study = Kit.open(kits / "server").study
    with pytest.raises(OutsideRadius):
        prepare(study, np.array([[0.99, 0.0], [0.1, 0.1]]), np.array([1, 2]))
    with pytest.raises(InvalidInput, match="8 classes, but the study allows 6"):
        prepare(study, np.full((8, 2), 0.1), np.arange(8))
    with pytest.raises(InvalidInput, match=r"shape \(n, 2\)"):
        prepare(study, np.full((8, 3), 0.1), np.arange(8) % 2)


# A whole study


def test_every_site_gets_the_model_in_its_own_words_and_the_server_the_summed_counts(kits, data):
    server = Kit.open(kits / "server")
    sites = []
    for number, name in enumerate(NAMES):
        kit = Kit.open(kits / name)
        x, y = (np.load(data[name])[key] for key in "xy")
        words = np.array([f"{number}:{label}" for label in y])  # every site has its own names
        sites.append(kit.task.site(name, kit.identity, prepare(kit.study, x, words)))
    counts = run_study(server.task.coordinator(), MemoryEngine(sites), server.identity).counts
    # a site does not tell candidates apart that differ on fewer than five of its cells
    assert abs(counts.correct - sum(site.finding.correct for site in sites)) < 5 * len(sites)
    assert counts.tested == sum(site.finding.tested for site in sites)
    assert counts.accuracy > 90
    for number, site in enumerate(sites):
        assert {str(c).split(":")[0] for c in site.outcome.model.classes_} == {str(number)}
        right = site.outcome.model.predict(site.holdings.test_x) == site.holdings.test_y
        assert right.sum() == site.finding.correct


def test_without_one_of_those_asked_the_default_is_published_and_the_others_are_counted(kits, data):
    result = in_memory(kits, data, {"propose": ["lab-b"]}).to_json()
    assert not result["ballot"]["held"]
    assert result["ballot"]["why_not"].startswith("lab-b did not answer")
    assert result["failures"] == {"lab-b": "vanished"}
    assert result["evaluators"] == ["lab-a", "lab-c"]
    assert result["accuracy"] > 90


def test_without_a_ballot_and_one_of_those_asked_the_accuracy_is_not_known(tmp_path, data):
    made = make_kits(draft(NAMES, f"{TWO_OF_THREE}\n{NO_BALLOT}"), tmp_path / "others")
    result = in_memory(made.folder, data, {"publish": ["lab-b"]}).to_json()
    assert result["ballot"] == {"held": False, "why_not": NOT_ASKED}
    assert (result["accuracy"], result["correct"], result["tested"]) == (None, None, None)
    assert result["failures"] == {"lab-b": "vanished"}


@pytest.mark.parametrize("published", [b"", b"[]", b"\x82", b'{"format": "fedhull-model"}'])
def test_a_result_that_is_no_model_is_refused_and_only_the_site_knows(kits, data, published):
    server = Kit.open(kits / "server")
    engine = MemoryEngine(sites_in_memory(kits, data))
    session = ServerSession(server.study, server.task.coordinator().next_sum(), server.identity)
    drive(session, engine)
    replies, failures = engine.step("publish", session.publish(published, COUNTS))
    assert sorted(replies) == sorted(engine.clients)
    assert failures == {}
    for site in engine.clients.values():
        assert isinstance(site.complaint, BadMessage)
        assert not site.done
        with pytest.raises(OutOfTurn):
            site.receive(session.publish(published, COUNTS)[site.name])


# Consent


def test_consent_is_good_for_one_session(kits, data):
    kit = agree(kits, "lab-a", data)
    assert use(kit, kit.results("one")).points_sent > 0
    assert use(kit, kit.results("one")).points_sent > 0  # the same, taken up again
    with pytest.raises(NoConsent, match="nobody at this site has agreed"):
        use(kit, kit.results("two"))


def test_consent_can_be_withdrawn(kits, data):
    kit = agree(kits, "lab-a", data)
    withdraw(kit)
    with pytest.raises(NoConsent):
        use(kit, kit.results("one"))


def test_consent_covers_only_what_was_shown(kits, data):
    kit = agree(kits, "lab-a", data)
    x, y = (np.load(data["lab-a"])[key] for key in "xy")
    np.savez(data["lab-a"], x=x[:-5], y=y[:-5])
    with pytest.raises(NoConsent, match="the data have changed"):
        use(kit, kit.results("one"))


def test_consent_is_bound_to_the_cells_and_not_to_their_number(kits, data):
    kit = agree(kits, "lab-a", data)
    x, y = (np.load(data["lab-a"])[key] for key in "xy")
    np.savez(data["lab-a"], x=x @ np.array([[0.0, 1.0], [-1.0, 0.0]]), y=y)
    with pytest.raises(NoConsent, match="the data have changed"):
        use(kit, kit.results("one"))


def test_consent_is_bound_to_what_would_leave(kits, data):
    kit = agree(kits, "lab-a", data)
    prepared = kit.folder / "holdings.bin"
    prepared.write_bytes(prepared.read_bytes()[:-1] + b"?")
    with pytest.raises(NoConsent, match="not what the consent was given for"):
        use(kit, kit.results("one"))


def test_what_leaves_is_worked_out_once_and_kept_from_others_until_the_session_is_over(kits, data):
    kit = agree(kits, "lab-a", data)
    prepared = kit.folder / "holdings.bin"
    assert prepared.stat().st_mode & 0o077 == 0
    held = use(kit, kit.results("one"))
    assert held.prepared == kit.task.read(_source(data)).prepared
    assert not prepared.exists()
    SiteRun(kit, "one").end()
    assert not list(kit.folder.rglob("holdings.bin"))


def test_holdings_survive_the_way_to_another_process(kits, data):
    held = Kit.open(kits / "lab-a").task.read(_source(data))
    again = ClassHoldings.from_bytes(held.to_bytes(), PreparedHulls)
    assert again.to_bytes() == held.to_bytes()
    assert (again.classes, again.prepared) == (held.classes, held.prepared)
    assert np.array_equal(again.test_x, held.test_x)
    assert np.array_equal(again.test_y, held.test_y)
    with pytest.raises(InvalidInput, match="damaged"):
        ClassHoldings.from_bytes(held.to_bytes()[:-1], PreparedHulls)


def _source(data):
    return Source(str(data["lab-a"]))


def test_consent_for_another_study_is_none(kits, data):
    kit = agree(kits, "lab-a", data)
    text = (kits / "lab-a" / "study.toml").read_text().replace("A test", "Another")
    (kits / "lab-a" / "study.toml").write_text(text)
    with pytest.raises(NoConsent, match="another study file"):
        use(Kit.open(kit.folder), kit.results("one"))


# A site's run


def test_a_run_answers_with_the_name_of_an_error_and_keeps_the_words(kits, data):
    run = SiteRun(Kit.open(kits / "lab-a"), "one")
    assert run.answer("advertise", b"nonsense") == (None, "NoConsent")
    status = json.loads((run.results / "status.json").read_text())
    assert "nobody at this site has agreed" in status["sentence"]


def test_an_unexpected_error_is_written_down_and_not_told(kits, data, monkeypatch):
    def fail(self, raw):
        raise RuntimeError("patient 17")

    kit = agree(kits, "lab-a", data)
    monkeypatch.setattr(Site, "receive", fail)
    run = SiteRun(kit, "one")
    assert run.answer("advertise", b"nonsense") == (None, "InternalError")
    assert "patient 17" in (run.results / "traceback.txt").read_text()
    assert "patient 17" not in (run.results / "status.json").read_text()


def test_a_run_is_taken_up_again_from_its_journal(kits, data):
    kept = []
    kit = agree(kits, "lab-a", data)
    server = Kit.open(kits / "server")
    session = ServerSession(server.study, server.task.coordinator().next_sum(), server.identity)
    invite = session.start()["lab-a"]
    first = SiteRun(kit, "one", keep=lambda journal: kept.append(journal.to_bytes()))
    reply, _ = first.answer("advertise", invite)
    again = SiteRun(kit, "one", Journal.from_bytes(kept[-1]))
    assert again.answer("advertise", invite) == (None, "OutOfTurn")
    fresh = SiteRun(kit, "one", Journal(Journal.from_bytes(kept[-1]).root))
    assert fresh.answer("advertise", invite) == (reply, None)


def test_a_journal_shows_nothing_and_a_damaged_one_is_refused():
    journal = Journal(bytes(range(32)), [b"secret"])
    assert "secret" not in repr(journal)
    assert bytes(range(32)).hex() not in repr(journal)
    for raw in (b"", b"?", journal.to_bytes()[:-1]):
        with pytest.raises(InvalidInput, match="damaged"):
            Journal.from_bytes(raw)


# Kits


def test_kits_hold_the_same_study_and_each_its_own_key(kits):
    opened = {name: Kit.open(kits / name) for name in ("server", *NAMES)}
    assert len({kit.study.hash for kit in opened.values()}) == 1
    assert len({kit.identity.public for kit in opened.values()}) == 4
    assert [opened[name].name for name in NAMES] == NAMES
    assert opened["server"].name is None
    for name in opened:
        assert (kits / name / "identity.pem").stat().st_mode & 0o077 == 0
        assert len((kits / name / "README.md").read_text().splitlines()) == 5


def test_a_site_with_a_public_key_keeps_its_private_key_to_itself(tmp_path):
    own = Identity.generate()
    text = draft(NAMES).replace('lab-b = ""', f'lab-b = "{own.public}"')
    made = make_kits(text, tmp_path / "kits")
    assert made.own_key == ["lab-b"]
    assert not (tmp_path / "kits" / "lab-b" / "identity.pem").exists()
    with pytest.raises(InvalidInput, match="fedhull keygen"):
        Kit.open(tmp_path / "kits" / "lab-b")
    key = tmp_path / "lab-b.key"
    key.write_bytes(own.to_pem())
    assert Kit.open(tmp_path / "kits" / "lab-b", key).name == "lab-b"
    # other processes of the session, which are not told, find it too
    assert Kit.open(tmp_path / "kits" / "lab-b").name == "lab-b"
    assert own.to_pem() not in [
        path.read_bytes() for path in (tmp_path / "kits" / "lab-b").iterdir() if path.is_file()
    ]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("lab-a", "server", "no site can be called 'server'"),
        ("[clients]", "[sites]", "must have a \\[clients\\] table"),
        ('name = "A test"', 'name = "A test"\ncoordinator = "00"', "leave 'coordinator' out"),
        ("epsilon = 0.1", "epsilon = -1", "geometry.epsilon"),
        ("[labels]", "[learning]\nguard = 'all'\n[labels]", "guard must be"),
        ('lab-c = ""', "", "at least 3"),
    ],
)
def test_a_bad_draft_is_refused_in_a_sentence(tmp_path, old, new, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        make_kits(draft(NAMES).replace(old, new), tmp_path / "kits")


def test_kits_are_not_written_over_others(kits):
    with pytest.raises(InvalidInput, match="not empty"):
        make_kits(draft(NAMES), kits)


def test_a_key_on_no_roster_opens_no_kit(kits):
    (kits / "lab-a" / "identity.pem").write_bytes(Identity.generate().to_pem())
    with pytest.raises(BadIdentity, match="is not on the roster"):
        Kit.open(kits / "lab-a")


def test_a_key_that_opens_nothing_is_not_remembered(kits, tmp_path):
    stranger = tmp_path / "stranger.pem"
    stranger.write_bytes(Identity.generate().to_pem())
    with pytest.raises(BadIdentity):
        Kit.open(kits / "lab-a", stranger)
    assert Kit.open(kits / "lab-a").name == "lab-a"


def test_a_kit_is_used_by_one_process_at_a_time(kits):
    with (
        Kit.open(kits / "lab-a").in_use(),
        pytest.raises(InvalidInput, match="already running"),
        Kit.open(kits / "lab-a").in_use(),
    ):
        pass


def test_a_kit_remembers_an_upload(kits):
    kit = Kit.open(kits / "lab-a")
    log = AuditLog(kit.results("one") / "audit.jsonl", kit.study.hash)
    log.record("received", "upload", b"?", peer="coordinator")
    assert not kit.has_uploaded
    log.record("sent", "upload", b"?", peer="coordinator")
    assert kit.has_uploaded


def test_a_study_with_learning_and_coordinator_survives_its_file(kits):
    study = Kit.open(kits / "server").study
    assert Study.from_toml(study.to_toml()) == study
    assert Study.from_toml(study.to_toml()).hash == study.hash


# Preparation


def test_a_prepared_site_answers_at_once_without_looking_at_its_data(kits, data):
    kit = agree(kits, "lab-a", data)
    server = Kit.open(kits / "server")
    session = ServerSession(server.study, server.task.coordinator().next_sum(), server.identity)
    invite = session.start()["lab-a"]
    journal = Journal()
    run = SiteRun(kit, "one", Journal(journal.root))
    run.prepare()
    (run.results / "holdings.bin").unlink()
    (run.results / "consent.json").unlink()
    data["lab-a"].unlink()
    run.prepare()  # once is enough
    reply, error = run.answer("advertise", invite)
    assert error is None
    other = agree(kits, "lab-b", data)
    unprepared = SiteRun(other, "one", Journal(journal.root))
    assert len(unprepared.answer("advertise", session.start()["lab-b"])[0]) == len(reply)


def test_preparation_that_fails_is_told_when_the_server_asks(kits, data):
    run = SiteRun(Kit.open(kits / "lab-a"), "one")
    run.prepare()
    status = json.loads((run.results / "status.json").read_text())
    assert "nobody at this site has agreed" in status["sentence"]
    assert run.answer("advertise", b"nonsense") == (None, "NoConsent")


# The audit log


def test_a_line_that_was_being_written_when_the_process_ended_does_not_count(kits):
    kit = Kit.open(kits / "lab-a")
    path = kit.results("one") / "audit.jsonl"
    AuditLog(path, kit.study.hash).record("sent", "upload", b"?", peer="coordinator")
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    log = AuditLog(path, kit.study.hash)
    assert log.uploads == 1
    assert log.total("sent") == 1
    log.record("sent", "confirm", b"??", peer="coordinator")
    assert AuditLog(path, kit.study.hash).total("sent") == 3


def test_a_damaged_line_of_an_audit_log_is_named(kits):
    kit = Kit.open(kits / "lab-a")
    path = kit.results("one") / "audit.jsonl"
    log = AuditLog(path, kit.study.hash)
    for step in ("upload", "confirm"):
        log.record("sent", step, b"?", peer="coordinator")
    path.write_bytes(path.read_bytes().replace(b"upload", b"\xff\xfe", 1))
    with pytest.raises(InvalidInput, match=r"line 1 of .* is damaged"):
        AuditLog(path, kit.study.hash)
    with pytest.raises(InvalidInput, match="put the folder"):
        _ = kit.has_uploaded
