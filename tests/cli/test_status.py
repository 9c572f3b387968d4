"""`fedhull status` over kits of all engines: what a participant can know, and nothing changed."""

import json
import shutil

import pytest
from commands import fedhull
from federations import draft, make_data

from fedhull.kits.audit import AuditLog
from fedhull.kits.kit import Kit
from fedhull.kits.results import write_status

NAMES = ["lab-a", "lab-b", "lab-c"]
MODULES = {"nvflare": "nvflare", "flower": "flwr", "files": "fedhull"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Kits for an engine whose certificates are valid for some days, made once."""
    known = {}

    def make(engine, days=360):
        if (engine, days) not in known:
            pytest.importorskip(MODULES[engine])
            folder = tmp_path_factory.mktemp(engine)
            (folder / "study.toml").write_text(draft(NAMES))
            words = ["provision", folder / "study.toml", "--out", folder / "kits"]
            done = fedhull(*words, "--engine", engine, "--days", days)
            assert done.returncode == 0, done.stderr
            known[engine, days] = folder / "kits"
        return known[engine, days]

    return make


@pytest.fixture(params=MODULES)
def kits(made, request, tmp_path):
    """Kits of each engine, to be changed."""
    return shutil.copytree(made(request.param), tmp_path / request.param)


def status(kit, *words):
    done = fedhull("status", kit, "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["server", "lab-a"])
def test_a_fresh_kit_says_whose_it_is_and_stays_as_it_is(kits, name):
    before = content(kits)
    found = status(kits / name)
    study = Kit.open(kits / name).study
    assert (found["study"], found["study_hash"]) == ("A test", study.hash.hex())
    assert (found["engine"], found["sites"]) == (kits.name, NAMES)
    site = None if name == "server" else name
    assert (found["role"], found["site"]) == ("site" if site else "coordinator", site)
    assert (found["running"], found["runs"], found["warnings"]) == (False, [], [])
    assert content(kits) == before
    shown = fedhull("status", kits / name)
    assert shown.returncode == 0
    assert study.hash.hex() in shown.stdout


def test_a_kit_in_use_is_running(kits):
    kit = Kit.open(kits / "server")
    with kit.in_use():
        assert status(kits / "server")["running"]
    assert not status(kits / "server")["running"]


@pytest.mark.parametrize("engine", ["nvflare", "flower"])
@pytest.mark.parametrize("name", ["server", "lab-a"])
def test_certificates_that_end_soon_are_warned_of(made, engine, name):
    for days, warned in ((29, True), (400, False)):
        kit = made(engine, days) / name
        found = status(kit)
        assert found["certificates"]
        assert {each["days_left"] for each in found["certificates"]} <= {days, days - 1}
        assert bool(found["warnings"]) == warned
        assert ("ends in" in fedhull("status", kit).stderr) == warned


def test_a_run_is_open_failed_or_complete(kits):
    kit = Kit.open(kits / "lab-a")
    open_run, failed, complete = (kit.results(name) for name in ("one", "two", "three"))
    write_status(failed, "BelowThreshold", "too few sites")
    write_status(complete, None, "the study is complete")
    (complete / "model.json").write_text("{}")
    (complete / "session.secret").write_text("")
    AuditLog(open_run / "audit.jsonl", kit.study.hash).record("sent", "share", b"", "coordinator")
    found = {run["run"]: run for run in status(kits / "lab-a")["runs"]}
    states = {name: (run["state"], run["error"]) for name, run in found.items()}
    assert states == {
        "one": ("open", None),
        "two": ("failed", "BelowThreshold"),
        "three": ("complete", None),
    }
    assert found["three"]["files"] == ["model.json", "status.json"]
    assert "too few sites" in fedhull("status", kits / "lab-a").stdout


@pytest.mark.parametrize("kits", ["nvflare", "flower"], indirect=True)
def test_status_says_who_has_to_act_next_and_how(kits):
    server, site = Kit.open(kits / "server"), Kit.open(kits / "lab-a")
    join = f"'fedhull client {site.folder} --data FILE'"
    assert status(server.folder)["next"] == f"you: 'fedhull server {server.folder}'"
    assert status(site.folder)["next"] == f"you: {join}"
    with site.in_use():
        assert status(site.folder)["next"].startswith("nobody: the process here goes on")
    results = site.results("run")
    write_status(results, "BelowThreshold", "too few sites")
    assert join in status(site.folder)["next"]
    (results / "receipt.bin").write_bytes(b"")
    assert f"fedhull client {site.folder} --fetch" in status(site.folder)["next"]
    write_status(results, None, "the study is complete")
    assert status(site.folder)["next"] == "nobody: the study is complete"


@pytest.mark.parametrize("kits", ["nvflare", "flower"], indirect=True)
def test_a_site_knows_the_last_message_and_the_coordinator_its_steps(kits):
    site, server = Kit.open(kits / "lab-a"), Kit.open(kits / "server")
    log = AuditLog(site.results("run") / "audit.jsonl", site.study.hash)
    log.record("received", "share", b"?", "coordinator")
    assert status(kits / "lab-a")["step"] == "share: asked"
    log.record("sent", "share", b"!", "coordinator")
    assert status(kits / "lab-a")["step"] == "share: answered"
    results = server.results("run")
    log = AuditLog(results / "audit.jsonl", server.study.hash)
    for name in NAMES:
        log.record("sent", "advertise", b"?", name)
    assert status(kits / "server")["step"] == "advertise: the sites are asked"
    for name in NAMES[:2]:
        log.record("received", "advertise", b"!", name)
    step = {"step": "advertise", "done": 2, "total": 3, "seconds": 1.0}
    step["failures"] = {"lab-c": "vanished"}
    (results / "progress.jsonl").write_text(json.dumps(step) + "\n")
    found = status(kits / "server")
    assert "2 of 3 sites answered" in found["step"]
    assert found["missing"] == ["lab-c"]


@pytest.mark.parametrize("kits", ["nvflare"], indirect=True)
def test_while_a_flare_server_waits_those_who_are_not_there_are_missing(kits):
    server = Kit.open(kits / "server")
    (kits / "server" / "flare").mkdir()
    (kits / "server" / "flare" / "connected.json").write_text('{"connected": ["lab-b"]}')
    assert status(kits / "server")["step"] is None  # a server that was killed
    with server.in_use():
        found = status(kits / "server")
    assert found["missing"] == ["lab-a", "lab-c"]
    assert found["next"] == "lab-a, lab-c: 'fedhull client KIT --data FILE'"


@pytest.mark.parametrize("kits", ["files"], indirect=True)
def test_over_files_the_mail_shows_whose_turn_it_is(kits, tmp_path):
    make_data(tmp_path, NAMES)
    mail = ("--mail", tmp_path / "mail")

    def server():
        return fedhull("server", kits / "server", *mail)

    def client(name):
        data = tmp_path / f"{name}.npz"
        return fedhull("client", kits / name, "--data", data, "--yes", *mail)

    def expect(name, missing, *words, given=()):
        found = status(kits / name, *given)
        assert found["missing"] == missing
        assert all(word in found["next"] for word in words), found["next"]
        return found

    run_server, run_client = f"fedhull server {kits / 'server'}", f"fedhull client {kits / 'lab-a'}"
    expect("server", [], f"you: '{run_server}'")
    expect("lab-a", ["coordinator"], "the coordinator: 'fedhull server KIT'", given=mail)
    server()
    # from now on the server's kit knows where its mail is
    request = tmp_path / "mail" / "SITE" / "1-advertise.request"
    expect("server", NAMES, "lab-a, lab-b, lab-c: carry", str(request), f"you: '{run_server}'")
    expect("lab-a", ["lab-a"], f"you: '{run_client} --data FILE'", given=mail)
    client("lab-a")
    found = expect("server", NAMES[1:], "lab-b, lab-c: carry")
    assert found["step"] == "advertise (step 1 of 8)"
    reply = tmp_path / "mail" / "lab-a" / "1-advertise.reply"
    expect("lab-a", ["coordinator"], f"the coordinator: carry {reply}", f"you: '{run_client}'")
    shown = fedhull("status", kits / "lab-a").stdout
    assert "Next: the coordinator: carry" in shown
    for _ in range(8):
        for name in NAMES:
            client(name)
        if server().returncode == 0:
            break
    found = expect("server", [], "lab-a, lab-b, lab-c, if they", "8-publish.request")
    for name in NAMES:
        client(name)
    expect("lab-a", [], "nobody: the study is complete")
    assert found["step"] is None
    assert [run["state"] for run in found["runs"]] == ["complete"]
    assert {"model.json", "report.html", "result.json"} <= set(found["runs"][0]["files"])


@pytest.mark.parametrize("kits", ["nvflare"], indirect=True)
@pytest.mark.parametrize("damage", [b"{", b"[1]", b'{"connected": 1}', b"\xff"])
@pytest.mark.parametrize(
    "name",
    ["flare/connected.json", "results/run/progress.jsonl", "results/run/status.json",
     "consent.json", "startup/server.crt"],
)  # fmt: skip
def test_a_damaged_file_is_a_sentence_with_its_name(kits, name, damage):
    kit = Kit.open(kits / "server")
    log = AuditLog(kit.results("run") / "audit.jsonl", kit.study.hash)
    log.record("received", "share", b"!", "lab-a")
    (kit.folder / "flare").mkdir()
    (kit.folder / name).write_bytes(damage + b"\n")
    with kit.in_use():
        done = fedhull("status", kit.folder)
    assert done.returncode == 2
    assert name in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_that_is_no_kit_is_a_sentence(tmp_path):
    done = fedhull("status", tmp_path)
    assert done.returncode == 2
    assert "is not a kit" in done.stderr
