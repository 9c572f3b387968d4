"""Everything that an earlier fedhull wrote to disk or sent can still be read, and says the same."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from fedhull import Cells, MomentClassifier, load_embedder, load_model
from fedhull.engines.files.engine import Steps
from fedhull.engines.files.mail import unwrap
from fedhull.errors import InvalidInput
from fedhull.kits import consent
from fedhull.kits.audit import AuditLog
from fedhull.kits.checked import read_checked
from fedhull.kits.journal import Journal
from fedhull.kits.results import write_report
from fedhull.protocol import messages as m
from fedhull.protocol.drive import PROPOSE, PUBLISH, STEPS
from fedhull.protocol.keys import VERSION, Identity
from fedhull.protocol.messages import decode_signed, decode_to_client
from fedhull.study.encoder_study import AutoencoderStudy
from fedhull.study.hulls.holdings import HullHoldings
from fedhull.study.kinds import study_from_toml, task_of
from fedhull.study.moments.holdings import MomentHoldings
from fedhull.study.moments.site import MomentSite
from fedhull.study.study import Study

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("version-*"))
# Studies, messages and kits are of one version; models, encoders and results stay readable.
CURRENT = [folder for folder in FIXTURES if folder.name == f"version-{VERSION}"]
OLDER = [folder for folder in FIXTURES if folder not in CURRENT]
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

every = pytest.mark.parametrize("version", FIXTURES, ids=lambda folder: folder.name)
since_moments = pytest.mark.parametrize(
    "version",
    [folder for folder in FIXTURES if folder.name != "version-1"],
    ids=lambda folder: folder.name,
)
current = pytest.mark.parametrize("version", CURRENT, ids=lambda folder: folder.name)
older = pytest.mark.parametrize("version", OLDER, ids=lambda folder: folder.name)


IDENTITY = Identity.generate()


def study_with_a_key(study):
    """The study, with a key for lab-a that the tests have."""
    return msgspec.structs.replace(study, clients=study.clients | {"lab-a": IDENTITY.public})


def hull_study(version) -> Study:
    return study_from_toml((version / "study-hulls.toml").read_text())


@current
def test_studies(version):
    result = json.loads((version / "result-coordinator.json").read_text())
    assert hull_study(version).hash.hex() == result["study_hash"]
    moments = study_from_toml((version / "study-moments.toml").read_text())
    result = json.loads((version / "result-moments-coordinator.json").read_text())
    assert moments.hash.hex() == result["study_hash"]
    encoder = study_from_toml((version / "study-encoder.toml").read_text())
    assert isinstance(encoder, AutoencoderStudy)
    assert encoder.encoder.start == load_embedder(version / "encoder-autoencoder.npz").hash


@pytest.mark.parametrize("name", ["coordinator", "site"])
@since_moments
def test_models_of_moments(version, name, tmp_path):
    model = load_model(version / f"model-moments-{name}.json")
    # that of a site moves the site's cells first
    assert isinstance(getattr(model, "model", model), MomentClassifier)
    assert len(model.predict([[0.0, 0.0], [0.5, -0.5]])) == 2
    page = write_report(version / f"result-moments-{name}.json", tmp_path / "report.html")
    assert page.read_text().startswith("<!doctype html>")


@current
def test_a_study_of_several_sums(version):
    study = study_from_toml((version / "study-moments.toml").read_text())
    steps = msgspec.msgpack.decode(
        (version / "journal-moments-server.bin").read_bytes(), type=Steps
    )
    assert len(steps.taken) == 4 * len(STEPS) + 1
    journal = Journal.from_bytes((version / "journal-moments-site.bin").read_bytes())
    assert (journal.uploads, journal.published) == (4, 3)
    assert decode_to_client(journal.accepted[0], study).session == steps.sessions[-1]
    held = MomentHoldings.from_bytes((version / "holdings-moments.bin").read_bytes())
    task = task_of(study)
    kept = (read_checked(version / f"{name}-moments.bin") for name in ("sum", "votes"))
    outcome = task.learn(*kept)
    model = json.loads((version / "model-moments-coordinator.json").read_text())
    model.pop("provenance", None)
    assert json.loads(outcome.files()["model.json"]) == model
    # a site goes on from what it kept between two sums
    site = MomentSite(
        study_with_a_key(study), "lab-a", IDENTITY, held, checkpoint=journal.checkpoint
    )
    assert site.sums_done == 3
    assert site.isometry is not None
    assert len(site.label_of_class) == 6


@pytest.mark.parametrize("name", ["coordinator", "site"])
@every
def test_models(version, name):
    model = load_model(version / f"model-{name}.json")
    assert len(model.predict([[0.0, 0.0], [0.5, -0.5]])) == 2


@pytest.mark.parametrize("method", ["neighbours", "autoencoder"])
@every
def test_encoders_place_cells_where_they_placed_them(version, method):
    placed = json.loads((version / "encoder-points.json").read_text())
    encoder = load_embedder(version / f"encoder-{method}.npz")
    points = encoder.transform(Cells(np.array(placed["cells"]), placed["genes"]))
    assert points == pytest.approx(np.array(placed[method]), abs=1e-9)
    assert encoder.to_bytes() == (version / f"encoder-{method}.npz").read_bytes()


@older
@pytest.mark.parametrize("kind", ["hulls", "encoder"])
def test_older_studies_are_refused_in_a_sentence(version, kind):
    with pytest.raises(InvalidInput, match=f"but this fedhull speaks version {VERSION}"):
        study_from_toml((version / f"study-{kind}.toml").read_text())


@every
def test_trees(version):
    encoder = load_embedder(version / "encoder-tree.npz")
    assert encoder.method == "tree"


@pytest.mark.parametrize("name", ["coordinator", "site", "simulation"])
@every
def test_results_and_their_pages(version, name, tmp_path):
    page = write_report(version / f"result-{name}.json", tmp_path / "report.html")
    assert page.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(("number", "step"), list(enumerate(WITH_BALLOT, 1)))
@current
def test_messages(version, number, step):
    study, folder = hull_study(version), version / "messages"
    request = decode_to_client((folder / f"{number}-{step}-request.bin").read_bytes(), study)
    assert type(request) is REQUESTS[number - 1]
    if step == PUBLISH:  # who has judged before is not asked again
        assert not (folder / f"{number}-{step}-reply.bin").exists()
        return
    raw = (folder / f"{number}-{step}-reply.bin").read_bytes()
    sender, reply = decode_signed(raw, study, request.session, len(raw))
    assert sender == "lab-a"
    assert type(reply) is REPLIES[number - 1]


@current
def test_journals(version):
    journal = Journal.from_bytes((version / "journal-site.bin").read_bytes())
    assert len(journal.root) == 32
    first = (version / "messages" / "1-advertise-request.bin").read_bytes()
    assert journal.accepted[0] == first
    steps = msgspec.msgpack.decode((version / "journal-server.bin").read_bytes(), type=Steps)
    assert len(steps.taken) == len(WITH_BALLOT)
    assert [decode_to_client(first, hull_study(version)).session] == steps.sessions


@current
def test_consent_holdings_audit_and_mail(version, tmp_path):
    given = consent.read(version / "consent.json")
    assert given.study == hull_study(version).hash.hex()
    held = HullHoldings.from_bytes((version / "holdings-hulls.bin").read_bytes())
    assert len(held.classes) == 6
    log = tmp_path / "audit.jsonl"
    log.write_bytes((version / "audit-site.jsonl").read_bytes())
    assert AuditLog(log, hull_study(version).hash).total("sent") > 0
    first = (version / "messages" / "1-advertise-request.bin").read_bytes()
    assert unwrap(version / "mail.request") == first
