"""Studies on NVIDIA FLARE, with real processes on the loopback interface."""

import json
import shutil
import zipfile
from contextlib import contextmanager
from time import monotonic, sleep

import pytest
from conformance import learned
from federations import MOMENTS, PATIENCE, TWO_OF_THREE, Federation, ended
from nvflare.fuel.flare_api.flare_api import new_secure_session

from fedhull.engines.children import stop
from fedhull.engines.following import answers
from fedhull.engines.nvflare.layout import ADMIN
from fedhull.engines.nvflare.workspace import EXECUTOR
from fedhull.learn.model import model_to_json
from fedhull.protocol.drive import STEPS

pytestmark = [pytest.mark.slow, pytest.mark.processes]


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
    ours = learned(federation.results("server") / "model.json")
    return ours == model_to_json(federation.in_memory(vanish).model)


def job_status(federation) -> str:
    """What FLARE itself has recorded of the job."""
    (meta,) = (federation.kits / "server" / "flare" / "jobs").glob("*/meta")
    return json.loads(meta.read_text())["status"]


@contextmanager
def killed_at(study, steps):
    """A study whose first sites are killed at these steps, and its clients, while the block runs.
    In the end it has come to what the memory engine makes of the others."""
    dying = dict(zip(study.names, steps, strict=False))
    server = study.server("--json")
    clients = {
        name: study.client(name, sabotage=f"kill@{dying[name]}" if name in dying else "")
        for name in study.names
    }
    yield clients
    code, out, err = ended(server)
    assert code == 0, err
    result = json.loads(out)
    vanish = {step: [name] for name, step in dying.items()}
    in_memory = study.in_memory(vanish)
    assert result["survivors"] == in_memory.survivors
    assert result["failures"] == dict.fromkeys(dying, "vanished")
    # what follows the colon depends on whether FLARE hears of dead processes before the job ends
    assert job_status(study).startswith("FINISHED")
    counts = in_memory.counts
    assert (result["correct"], result["tested"]) == (counts.correct, counts.tested)
    assert same_model(study, vanish)
    for name, client in clients.items():
        code, _, err = ended(client)
        assert code == (-9 if name in dying else 0), err


def test_sites_killed_at_a_step_are_left_out(federation):
    study = federation(7, extra="[protocol]\nthreshold = 4")
    with killed_at(study, ["share", "upload", "unmask"]):
        pass


def test_sites_killed_after_their_upload_get_the_others_model_later(federation):
    """One comes back while the study goes on, the other when the coordinator hands it out."""
    study = federation(7, extra="[protocol]\nthreshold = 4")
    early, soon, late = study.names[:3]
    with killed_at(study, ["advertise", "confirm", "publish"]) as clients:
        clients[soon].wait(PATIENCE)
        fetching = {soon: study.fetch(soon, "--json")}
    publisher = study.server("--publish", "--json")
    fetching[late] = study.fetch(late, "--json")
    for name, client in fetching.items():
        code, out, err = ended(client)
        assert code == 0, err
        assert json.loads(out)["site"] == name
        left = {path.name for path in study.results(name).iterdir()}
        assert {"model.json", "report.html", "result.json"} <= left
        assert not left & {"receipt.bin", "holdings.bin"}
    # who was killed before its upload has nothing to fetch
    code, _, err = ended(study.fetch(early))
    assert code == 2
    assert "none has uploaded" in err
    publisher.terminate()
    code, out, err = ended(publisher)
    assert code == 0, err
    assert late in json.loads(out)["fetched"]
    models = [learned(study.results(name) / "model.json") for name in study.names[1:]]
    assert models == models[:1] * 6


def test_a_site_killed_between_two_sums_is_in_the_first_only_and_gets_the_model_later(federation):
    study = federation(extra=f"{TWO_OF_THREE}\n{MOMENTS}")
    with killed_at(study, ["publish"]):
        pass
    gone, *stayed = study.names
    result = json.loads((study.results("server") / "result.json").read_text())
    assert result["matched_sites"] == study.names
    assert result["survivors"] == stayed
    progress = (study.results("server") / "progress.jsonl").read_text()
    assert [json.loads(line)["step"] for line in progress.splitlines()] == [
        f"{name}: {step}"
        for name, steps in (
            ("match (1 of 2)", STEPS),
            ("learn (2 of 2)", [*STEPS[:-1], "propose", "publish"]),
        )
        for step in steps
    ]
    publication = study.results("server") / "publication.bin"
    study.command("client", str(study.kits / gone), "--fetch", "--publication", str(publication))
    model = learned(study.results(gone) / "model.json")
    assert model == learned(study.results(stayed[0]) / "model.json")


def test_after_a_killed_server_a_new_study_can_start_at_once_and_a_twin_takes_no_part(federation):
    """When the server is killed the sites say so. In the next study two processes have one
    identity: at most one of them takes part."""
    study = federation(3)
    server = study.server(sabotage="kill@confirm")
    clients = [study.client(name) for name in study.names]
    assert ended(server)[0] == -9
    for name, client in zip(study.names, clients, strict=True):
        code, _, err = ended(client)
        assert code == 4
        assert "ServerUnreachable" in err
        assert "is gone" in err
        left = {path.name for path in study.results(name).iterdir()}
        waiting = {"receipt.bin", "holdings.bin"}  # there may be a result to fetch
        assert left == {"audit.jsonl", "consent.json", "status.json"} | waiting
        assert "--fetch" in err
        assert not (study.kits / name / "consent.json").exists()
    twin = study.folder / "twin"
    shutil.copytree(study.kits / "lab-b", twin)
    again = study.server("--json")
    clients = {name: study.client(name, "--again") for name in study.names}
    second = study.client("lab-b", "--again", kit=twin)
    code, out, err = ended(again)
    assert code == 0, err
    told = {name: ended(client) for name, client in {**clients, "twin": second}.items()}
    assert told["lab-a"][0] == told["lab-c"][0] == 0
    refused = [told[name] for name in ("lab-b", "twin") if told[name][0] != 0]
    assert json.loads(out)["survivors"] in (["lab-a", "lab-c"], study.names)
    # FLARE lets the newest in; whoever is left out hears it by name, or from the ledger that the
    # other one has uploaded these data
    assert refused
    assert all("the kit of lab-b" in err or "uploaded" in err for _, _, err in refused), refused


def test_a_site_can_try_the_connection_and_a_run_leaves_little_in_the_kits(federation):
    study = federation(3)
    before = {name: set((study.kits / name).iterdir()) for name in ("server", "lab-a")}
    kit = str(study.kits / "lab-a")
    refused = study.command("client", kit, "--ping", code=3)
    assert "fedhull: TCP: " in refused.stderr
    server = study.server()
    wait_for((study.kits / "server" / "flare" / "connected.json").exists)
    reached = study.command("client", kit, "--ping").stdout
    assert "the server accepts this site's" in reached
    status = json.loads(study.command("status", str(study.kits / "server"), "--json").stdout)
    assert (status["running"], status["missing"]) == (True, study.names)
    clients = [study.client(name) for name in study.names]
    assert [ended(each)[0] for each in (server, *clients)] == [0, 0, 0, 0]
    for name, known in before.items():
        left = {path.name for path in set((study.kits / name).iterdir()) - known}
        assert left == {".lock", "flare", "logs", "results"}


def test_below_the_threshold_everybody_hears_why(federation):
    study = federation(3)
    server = study.server()
    clients = [
        study.client(name, sabotage="" if name == "lab-a" else "kill@share") for name in study.names
    ]
    code, _, err = ended(server)
    assert code == 4
    assert "BelowThreshold: only 1 of 3 sites completed the step 'share'" in err
    assert job_status(study).startswith("FINISHED")
    code, _, err = ended(clients[0])
    assert code == 4
    assert "too few sites" in err


def test_what_does_not_belong_is_refused_and_no_word_of_a_failing_site_reaches_the_server(
    federation, tmp_path_factory
):
    """A slow site, another study file, a wrong certificate, an unknown identity, a twin; and a site
    that fails with a patient's name on its lips."""
    secret = "Jane-Doe-1947"
    study = federation(7, extra="[protocol]\nthreshold = 4")
    stranger = Federation(tmp_path_factory.mktemp("other"), 3)
    other_study = (study.kits / "lab-f" / "study.toml").read_text().replace("A test", "Another")
    (study.kits / "lab-f" / "study.toml").write_text(other_study)
    server = study.server("--json", timeout=30)  # which the site that hangs costs in full
    sabotage = {"lab-e": "hang@upload", "lab-g": "secret@shared"}
    clients = {
        name: study.client(name, sabotage=sabotage.get(name, ""), secret=secret)
        for name in study.names
    }
    # a kit of another study's authority, pointed at this server; a key that is on no roster; the
    # same kit twice at a time
    wrong = stranger.kits / "lab-a"
    config = (wrong / "startup" / "fed_client.json").read_text()
    config = config.replace(str(stranger.port), str(study.port))
    (wrong / "startup" / "fed_client.json").write_text(config)
    # all at once: on a busy machine the study would be over before the last of them had its turn
    refused = {
        "certificates from the same authority": stranger.client("lab-a"),
        "is not on the roster": study.client("lab-a", "--identity", str(wrong / "identity.pem")),
    }
    wait_for((study.kits / "lab-b" / ".lock").exists)
    refused["is already running"] = study.client("lab-b")
    for words, client in refused.items():
        code, _, err = ended(client)
        assert code == 2
        assert words in err
    code, out, err = ended(server)
    assert code == 0, err
    result = json.loads(out)
    assert result["survivors"] == ["lab-a", "lab-b", "lab-c", "lab-d"]
    assert result["failures"] == {
        "lab-e": "vanished",
        "lab-f": "BadMessage",
        "lab-g": "InternalError",
    }
    code, _, told = ended(clients["lab-f"])
    assert code == 4
    assert "another study file" in told
    assert [ended(clients[name])[0] for name in result["survivors"]] == [0, 0, 0, 0]
    assert ended(clients["lab-g"])[0] == 4
    # the site's own files have the words, so that the search below could have found them
    assert secret in (study.results("lab-g") / "traceback.txt").read_text()
    received = [path for path in (study.kits / "server").rglob("*") if path.is_file()]
    assert len(received) > 10
    for path in received:
        assert secret.encode() not in unpacked(path), path
        assert str(study.kits / "lab-g").encode() not in unpacked(path), path
    assert secret not in out + err


def unpacked(path) -> bytes:
    """A file's bytes; an archive's with everything in it laid open."""
    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())


EVIL = """
from nvflare.apis.executor import Executor
from pathlib import Path
Path({marker!r}).write_text("I was here")
class Evil(Executor):
    def execute(self, task_name, shareable, fl_ctx, abort_signal): return shareable
"""


@pytest.mark.filterwarnings("ignore")  # FLARE's own client, in this process, uses old aiohttp
def test_flares_own_tools_run_a_study_and_sites_refuse_jobs_that_ship_code(federation):
    study = federation(3)
    for name in study.names:
        policy = json.loads((study.kits / name / "local" / "authorization.json").read_text())
        assert {rights["byoc"] for rights in policy["permissions"].values()} == {"none"}
        study.command(
            "client", str(study.kits / name), "--data", str(study.data(name)), "--yes",
            "--consent-only",
        )  # fmt: skip
    processes = [study.flare(name) for name in ("server", *study.names)]
    try:
        with flare_session(study) as session:
            evil, marker = study.folder / "evil", study.folder / "marker"
            shutil.copytree(study.kits / "server" / "job", evil)
            (evil / "app" / "custom").mkdir()
            (evil / "app" / "custom" / "evil.py").write_text(EVIL.format(marker=str(marker)))
            config = evil / "app" / "config" / "config_fed_client.json"
            config.write_text(config.read_text().replace(EXECUTOR, "evil.Evil"))
            assert finished(session, str(evil)) != "FINISHED:COMPLETED"
            assert not marker.exists()
            status = finished(session, str(study.kits / "server" / "job"))
            assert status == "FINISHED:COMPLETED"
    finally:
        for process in processes:
            stop(process)
    log = (study.kits / "server" / "log.txt").read_text()
    assert all(f"{name}: NVFLARE_ERROR: BYOC not permitted" in log for name in study.names)
    (model,) = (study.kits / "server" / "results").glob("*/model.json")
    assert learned(model) == model_to_json(study.in_memory().model)


def wait_for(condition):
    deadline = monotonic() + PATIENCE
    while not condition():
        assert monotonic() < deadline
        sleep(0.2)


@contextmanager
def flare_session(study):
    wait_for(lambda: answers("localhost", study.port))
    session = new_secure_session(ADMIN, str(study.kits / "server" / "admin"), timeout=60.0)
    try:
        wait_for(lambda: len(session.get_connected_client_list()) >= len(study.names))
        yield session
    finally:
        session.close()


def finished(session, job) -> str:
    number = session.submit_job(job)
    wait_for(lambda: str(session.get_job_status(number)).startswith("FINISHED"))
    return str(session.get_job_status(number))
