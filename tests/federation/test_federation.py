"""What participants do, whatever the engine: holdings, sites, consent, kits, logs."""

import json

import numpy as np
import pytest
from federations import draft, make_data

from fedhull.data.tree import make_tree
from fedhull.engines.memory import MemoryEngine
from fedhull.errors import BadIdentity, InvalidInput, NoConsent, OutsideRadius
from fedhull.federation.audit import AuditLog
from fedhull.federation.consent import ask_for, load_holdings, use_consent, withdraw
from fedhull.federation.coordinator import run_study
from fedhull.federation.holdings import prepare
from fedhull.federation.journal import Journal
from fedhull.federation.kit import Kit
from fedhull.federation.participant import SiteRun
from fedhull.federation.provision import make_kits
from fedhull.federation.site import Site
from fedhull.protocol.keys import Identity
from fedhull.protocol.server import ServerSession
from fedhull.protocol.study import Study

NAMES = ["lab-a", "lab-b", "lab-c"]


@pytest.fixture
def kits(tmp_path):
    return make_kits(draft(NAMES), tmp_path / "kits").folder


@pytest.fixture
def data(tmp_path):
    return make_data(tmp_path, NAMES)


def consent(kits, data, name):
    kit = Kit.open(kits / name)
    holdings = load_holdings(kit.study, str(data[name]), "label")
    ask_for(kit.study, holdings, str(data[name]), "label").give(kit)
    return kit


# Holdings


def test_holdings_keep_the_same_points_for_testing_every_time(kits):
    study, tree = Kit.open(kits / "server").study, make_tree(900, seed=3)
    one, two = prepare(study, tree.x, tree.y), prepare(study, tree.x, tree.y)
    assert one.hulls == two.hulls
    assert np.array_equal(one.test_x, two.test_x)
    for label in np.unique(tree.y):
        share = (one.test_y == label).sum() / (tree.y == label).sum()
        assert 0.15 - 1 / (tree.y == label).sum() < share <= 0.15
    assert one.points_held + len(one.test_y) == len(tree.x)


def test_no_class_is_lost_to_testing(kits):
    study = Kit.open(kits / "server").study
    x, y = np.array([[0.1, 0.0], [0.5, 0.5], [0.5, 0.4]]), np.array(["rare", "b", "b"])
    holdings = prepare(study, x, y)
    assert holdings.classes == ["b", "rare"]
    assert len(holdings.test_y) == 0


def test_data_that_do_not_fit_the_study_are_refused(kits):
    study = Kit.open(kits / "server").study
    with pytest.raises(OutsideRadius):
        prepare(study, np.array([[0.99, 0.0], [0.1, 0.1]]), np.array([1, 2]))
    with pytest.raises(InvalidInput, match="8 classes, the study allows 6"):
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
        sites.append(Site(kit.study, name, kit.identity, prepare(kit.study, x, words)))
    outcome = run_study(ServerSession(server.study, server.identity), MemoryEngine(sites))
    assert outcome.correct == sum(site.correct for site in sites)
    assert outcome.tested == sum(site.tested for site in sites)
    assert outcome.correct / outcome.tested > 0.9
    for number, site in enumerate(sites):
        assert {str(c).split(":")[0] for c in site.model.classes_} == {str(number)}
        right = site.model.predict(site.holdings.test_x) == site.holdings.test_y
        assert right.sum() == site.correct


def test_without_one_of_those_asked_the_accuracy_is_not_known(kits, data):
    server = Kit.open(kits / "server")
    sites = [
        Site(k.study, k.name, k.identity, load_holdings(k.study, str(data[k.name]), "label"))
        for k in (Kit.open(kits / name) for name in NAMES)
    ]
    engine = MemoryEngine(sites, {"publish": ["lab-b"]})
    result = run_study(ServerSession(server.study, server.identity), engine).to_json()
    assert (result["accuracy"], result["correct"], result["tested"]) == (None, None, None)
    assert result["failures"] == {"lab-b": "vanished"}


def test_a_result_that_is_no_model_is_refused(kits, data):
    server = Kit.open(kits / "server")
    sites = {
        name: Site(k.study, name, k.identity, load_holdings(k.study, str(data[name]), "label"))
        for name, k in ((name, Kit.open(kits / name)) for name in NAMES)
    }
    session, engine = ServerSession(server.study, server.identity), MemoryEngine(sites.values())
    outgoing = session.start()
    while outgoing:
        outgoing = session.advance(engine.step(session.step.value, outgoing)[0])
    for published in (b"", b"[]", b'{"class_of_label": {}}', b'{"format": "fedhull-model"}'):
        failures = engine.step("publish", session.publish(published))[1]
        assert set(failures.values()) <= {"BadMessage", "OutOfTurn"}
        assert not any(site.done for site in sites.values())


# Consent


def test_consent_is_good_for_one_session(kits, data):
    kit = consent(kits, data, "lab-a")
    assert use_consent(kit, kit.results("one")).points_sent > 0
    assert use_consent(kit, kit.results("one")).points_sent > 0  # the same, taken up again
    with pytest.raises(NoConsent, match="nobody here has agreed"):
        use_consent(kit, kit.results("two"))


def test_consent_can_be_withdrawn(kits, data):
    kit = consent(kits, data, "lab-a")
    withdraw(kit)
    with pytest.raises(NoConsent):
        use_consent(kit, kit.results("one"))


def test_consent_covers_only_what_was_shown(kits, data):
    kit = consent(kits, data, "lab-a")
    x, y = (np.load(data["lab-a"])[key] for key in "xy")
    np.savez(data["lab-a"], x=x[:-5], y=y[:-5])
    with pytest.raises(NoConsent, match="the data have changed"):
        use_consent(kit, kit.results("one"))


def test_consent_for_another_study_is_none(kits, data):
    kit = consent(kits, data, "lab-a")
    text = (kits / "lab-a" / "study.toml").read_text().replace("A test", "Another")
    (kits / "lab-a" / "study.toml").write_text(text)
    with pytest.raises(NoConsent, match="another study file"):
        use_consent(Kit.open(kit.folder), kit.results("one"))


# A site's run


def test_a_run_answers_with_the_name_of_an_error_and_keeps_the_words(kits, data):
    run = SiteRun(Kit.open(kits / "lab-a"), "one")
    assert run.answer("advertise", b"nonsense") == (None, "NoConsent")
    status = json.loads((run.results / "status.json").read_text())
    assert "nobody here has agreed" in status["sentence"]


def test_an_unexpected_error_is_written_down_and_not_told(kits, data, monkeypatch):
    def fail(self, raw):
        raise RuntimeError("patient 17")

    kit = consent(kits, data, "lab-a")
    monkeypatch.setattr(Site, "receive", fail)
    run = SiteRun(kit, "one")
    assert run.answer("advertise", b"nonsense") == (None, "InternalError")
    assert "patient 17" in (run.results / "traceback.txt").read_text()
    assert "patient 17" not in (run.results / "status.json").read_text()


def test_a_run_is_taken_up_again_from_its_journal(kits, data):
    kept = []
    kit = consent(kits, data, "lab-a")
    server = Kit.open(kits / "server")
    invite = ServerSession(server.study, server.identity).start()["lab-a"]
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
        ("lab-a", "server", "must not be called 'server'"),
        ("[clients]", "[sites]", "must have a \\[clients\\] table"),
        ('name = "A test"', 'name = "A test"\ncoordinator = "00"', "leave 'coordinator' out"),
        ("epsilon = 0.1", "epsilon = -1", "geometry.epsilon"),
        ("[labels]", "[learning]\nguard = 'all'\n[labels]", "learning.guard"),
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
    with pytest.raises(BadIdentity, match="nobody's on the roster"):
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
