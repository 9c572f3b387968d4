"""Studies on NVIDIA FLARE, with real processes on the loopback interface."""

import json
import zipfile

import pytest
from federations import Federation, ended

from fedhull.learn.model import model_to_json

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("flare")]


@pytest.fixture
def federation(tmp_path, request):
    made = []

    def make(n=3, **options):
        made.append(Federation(tmp_path, n, **options))
        return made[-1]

    yield make
    for each in made:
        each.end()


def same_model(federation, vanish=None):
    """The server's model file against the memory engine's model."""
    ours = json.loads((federation.results("server") / "model.json").read_text())
    return ours == model_to_json(federation.in_memory(vanish).model)


def test_a_study_of_three_sites_equals_the_memory_engines_bit_for_bit(federation):
    study = federation(3)
    server = study.server("--json")
    clients = {name: study.client(name, "--json") for name in study.names}
    code, out, err = ended(server)
    assert code == 0, err
    result = json.loads(out)
    assert result["survivors"] == study.names
    assert same_model(study)
    sites = {}
    for name, client in clients.items():
        code, out, err = ended(client)
        assert code == 0, err
        sites[name] = json.loads(out)
    assert result["correct"] == sum(site["correct"] for site in sites.values())
    assert result["tested"] == sum(site["tested"] for site in sites.values()) > 0


@pytest.mark.parametrize(
    "steps", [["share", "upload", "unmask"], ["advertise", "confirm", "publish"]], ids="-".join
)
def test_sites_killed_at_any_step_are_left_out(federation, steps):
    study = federation(7, extra="[protocol]\nthreshold = 4")
    dying = dict(zip(study.names, steps, strict=False))
    server = study.server("--json", timeout=25)
    clients = {
        name: study.client(name, sabotage=f"kill@{dying[name]}" if name in dying else "")
        for name in study.names
    }
    code, out, err = ended(server)
    assert code == 0, err
    result = json.loads(out)
    in_memory = study.in_memory({step: [name] for name, step in dying.items()})
    assert result["survivors"] == in_memory.aggregate.survivors
    assert result["failures"] == dict.fromkeys(dying, "vanished")
    assert (result["correct"], result["tested"]) == (in_memory.correct, in_memory.tested)
    assert same_model(study, {step: [name] for name, step in dying.items()})
    for name, client in clients.items():
        code, _, err = ended(client)
        assert code == (-9 if name in dying else 0), err


def test_nothing_of_a_failing_sites_words_reaches_the_server(federation):
    secret = "Jane-Doe-1947"
    study = federation(4)
    server = study.server("--json")
    clients = [
        study.client(name, sabotage="secret@shared" if name == "lab-d" else "", secret=secret)
        for name in study.names
    ]
    code, out, err = ended(server)
    assert code == 0, err
    assert json.loads(out)["failures"] == {"lab-d": "InternalError"}
    told = [ended(client) for client in clients]
    assert [code for code, _, _ in told] == [0, 0, 0, 2]
    # the site's own files have the words, so that the search below could have found them
    assert secret in (study.results("lab-d") / "traceback.txt").read_text()
    received = [path for path in (study.kits / "server").rglob("*") if path.is_file()]
    assert len(received) > 10
    for path in received:
        assert secret.encode() not in unpacked(path), path
        assert str(study.kits / "lab-d").encode() not in unpacked(path), path
    assert secret not in out + err


def unpacked(path) -> bytes:
    """A file's bytes; an archive's with everything in it laid open."""
    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())


def test_when_the_server_is_killed_the_sites_say_so_and_a_new_study_can_start_at_once(federation):
    study = federation(3)
    server = study.server(sabotage="kill@confirm")
    clients = [study.client(name) for name in study.names]
    assert ended(server)[0] == -9
    for name, client in zip(study.names, clients, strict=True):
        code, _, err = ended(client)
        assert code == 2
        assert "ServerUnreachable" in err
        assert "is gone" in err
        left = {path.name for path in study.results(name).iterdir()}
        assert left == {"audit.jsonl", "consent.json", "status.json"}
        assert not (study.kits / name / "consent.json").exists()
    again = study.server("--json")
    clients = [study.client(name, "--again") for name in study.names]
    code, _, err = ended(again)
    assert code == 0, err
    assert [ended(client)[0] for client in clients] == [0, 0, 0]


def test_below_the_threshold_everybody_hears_why(federation):
    study = federation(3)
    server = study.server(timeout=20)
    clients = [
        study.client(name, sabotage="" if name == "lab-a" else "kill@share") for name in study.names
    ]
    code, _, err = ended(server)
    assert code == 2
    assert "BelowThreshold: only 1 of 3 clients completed the step 'share'" in err
    code, _, err = ended(clients[0])
    assert code == 2
    assert "too few sites" in err
