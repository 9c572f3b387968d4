"""Everything that fedhull has written to disk or sent can be read, and says the same."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from frames import GENES

from fedhull import Cells, MomentClassifier, load_embedder, load_model
from fedhull.engines.files.engine import Steps
from fedhull.engines.files.mail import unwrap
from fedhull.errors import InvalidInput
from fedhull.kits import consent
from fedhull.kits.audit import AuditLog
from fedhull.kits.files import read_checked
from fedhull.kits.journal import Journal
from fedhull.kits.results import write_report
from fedhull.protocol import messages as m
from fedhull.protocol.drive import PROPOSE, PUBLISH, STEPS
from fedhull.protocol.keys import VERSION, Identity
from fedhull.protocol.messages import decode_signed, decode_to_client
from fedhull.rounds.centres import isometry_of
from fedhull.rounds.holdings import ClassHoldings
from fedhull.rounds.hull_holdings import PreparedHulls
from fedhull.study.encoder_study import NeighbourStudy
from fedhull.study.gene_list import GeneList
from fedhull.study.kinds import study_from_toml, task_of
from fedhull.study.study import Study

FILES = Path(__file__).parent / "fixtures" / "files"
# What both sides say in each step of a study with a ballot.
WITH_BALLOT = [*STEPS[:-1], PROPOSE, PUBLISH]
REQUESTS = [
    m.Invite,
    m.KeyList,
    m.SealedList,
    m.Size,
    m.SurvivorList,
    m.ConfirmationList,
    m.Propose,
    m.Publish,
]
REPLIES = [m.Advertise, m.Share, m.Announce, m.Upload, m.Confirm, m.Unmask, m.Answer]

IDENTITY = Identity.generate()


def study_with_a_key(study):
    """The study, with a key for lab-a that the tests have."""
    return msgspec.structs.replace(study, clients=study.clients | {"lab-a": IDENTITY.public})


def hull_study() -> Study:
    return study_from_toml((FILES / "study-hulls.toml").read_text())


def test_studies():
    result = json.loads((FILES / "result-coordinator.json").read_text())
    assert hull_study().hash.hex() == result["study_hash"]
    moments = study_from_toml((FILES / "study-moments.toml").read_text())
    result = json.loads((FILES / "result-moments-coordinator.json").read_text())
    assert moments.hash.hex() == result["study_hash"]
    encoder = study_from_toml((FILES / "study-encoder.toml").read_text())
    assert isinstance(encoder, NeighbourStudy)
    assert encoder.attached == GeneList(tuple(GENES)).hash


@pytest.mark.parametrize("name", ["coordinator", "site"])
def test_models_of_moments(name, tmp_path):
    model = load_model(FILES / f"model-moments-{name}.json")
    # that of a site moves the site's cells first
    assert isinstance(getattr(model, "model", model), MomentClassifier)
    assert len(model.predict([[0.0, 0.0], [0.5, -0.5]])) == 2
    page = write_report(FILES / f"result-moments-{name}.json", tmp_path / "report.html")
    assert page.read_text().startswith("<!doctype html>")


def test_a_study_of_several_sums():
    study = study_from_toml((FILES / "study-moments.toml").read_text())
    steps = msgspec.msgpack.decode((FILES / "journal-moments-server.bin").read_bytes(), type=Steps)
    assert len(steps.taken) == 4 * len(STEPS) + 1
    journal = Journal.from_bytes((FILES / "journal-moments-site.bin").read_bytes())
    assert (journal.uploads, journal.published) == (4, 3)
    assert decode_to_client(journal.accepted[0], study).session == steps.sessions[-1]
    held = ClassHoldings.from_bytes((FILES / "holdings-moments.bin").read_bytes())
    task = task_of(study)
    kept = (read_checked(FILES / f"{name}-moments.bin") for name in ("sum", "votes"))
    outcome = task.learn(*kept)
    model = json.loads((FILES / "model-moments-coordinator.json").read_text())
    model.pop("provenance", None)
    assert json.loads(outcome.files()["model.json"]) == model
    # a site goes on from what it kept between two sums
    task = task_of(study_with_a_key(study))
    site = task.site("lab-a", IDENTITY, held, checkpoint=journal.checkpoint)
    assert site.rounds_done == 3
    assert isometry_of(site.own) is not None
    assert len(site.own.last("match").drawn.labels) == 6


@pytest.mark.parametrize("name", ["coordinator", "site"])
def test_models(name):
    model = load_model(FILES / f"model-{name}.json")
    assert len(model.predict([[0.0, 0.0], [0.5, -0.5]])) == 2


@pytest.mark.parametrize("method", ["neighbours", "autoencoder"])
def test_encoders_place_cells_where_they_placed_them(method):
    placed = json.loads((FILES / "encoder-points.json").read_text())
    encoder = load_embedder(FILES / f"encoder-{method}.npz")
    points = encoder.transform(Cells(np.array(placed["cells"]), placed["genes"]))
    assert points == pytest.approx(np.array(placed[method]), abs=1e-9)
    assert encoder.to_bytes() == (FILES / f"encoder-{method}.npz").read_bytes()


@pytest.mark.parametrize("kind", ["hulls", "moments", "encoder"])
def test_studies_of_another_version_are_refused_in_a_sentence(kind):
    text = (FILES / f"study-{kind}.toml").read_text()
    other = text.replace(f"version = {VERSION}", f"version = {VERSION + 1}", 1)
    with pytest.raises(InvalidInput, match=f"but this fedhull speaks version {VERSION}"):
        study_from_toml(other)


def test_trees():
    encoder = load_embedder(FILES / "encoder-tree.npz")
    assert encoder.method == "tree"


@pytest.mark.parametrize("name", ["coordinator", "site", "simulation"])
def test_results_and_their_pages(name, tmp_path):
    page = write_report(FILES / f"result-{name}.json", tmp_path / "report.html")
    assert page.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(("number", "step"), list(enumerate(WITH_BALLOT, 1)))
def test_messages(number, step):
    study, folder = hull_study(), FILES / "messages"
    request = decode_to_client((folder / f"{number}-{step}-request.bin").read_bytes(), study)
    assert type(request) is REQUESTS[number - 1]
    if step == PUBLISH:  # who has judged before is not asked again
        assert not (folder / f"{number}-{step}-reply.bin").exists()
        return
    raw = (folder / f"{number}-{step}-reply.bin").read_bytes()
    sender, reply = decode_signed(raw, study, request.session, len(raw))
    assert sender == "lab-a"
    assert type(reply) is REPLIES[number - 1]


def test_journals():
    journal = Journal.from_bytes((FILES / "journal-site.bin").read_bytes())
    assert len(journal.root) == 32
    first = (FILES / "messages" / "1-advertise-request.bin").read_bytes()
    assert journal.accepted[0] == first
    steps = msgspec.msgpack.decode((FILES / "journal-server.bin").read_bytes(), type=Steps)
    assert len(steps.taken) == len(WITH_BALLOT)
    assert [decode_to_client(first, hull_study()).session] == steps.sessions


def test_consent_holdings_audit_and_mail(tmp_path):
    given = consent.read(FILES / "consent.json")
    assert given.study == hull_study().hash.hex()
    held = ClassHoldings.from_bytes((FILES / "holdings-hulls.bin").read_bytes(), PreparedHulls)
    assert len(held.classes) == 6
    log = tmp_path / "audit.jsonl"
    log.write_bytes((FILES / "audit-site.jsonl").read_bytes())
    assert AuditLog(log, hull_study().hash).total("sent") > 0
    first = (FILES / "messages" / "1-advertise-request.bin").read_bytes()
    assert unwrap(FILES / "mail.request") == first
