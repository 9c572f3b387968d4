"""A kit comes from somebody else: whatever is put into one, `fedhull` runs nothing of it. Nor does
a site read its files out to a server that asks FLARE's client for them."""

import json
import shutil

import pytest
from commands import fedhull
from federations import PATIENCE, Federation, draft, ended, make_data

pytest.importorskip("nvflare", reason="the nvflare extra is not installed")

NAMES = ["lab-a", "lab-b", "lab-c"]
EVIL = """
from pathlib import Path
Path({marker!r}).write_text("I was here")
from nvflare.apis.fl_component import FLComponent
class Evil(FLComponent): pass
"""
COMPONENT = {"id": "evil", "path": "evil.Evil", "args": {}}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Kits of three sites, as provision makes them, and data for each."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "study.toml").write_text(draft(NAMES))
    done = fedhull("provision", folder / "study.toml", "--out", folder / "kits", "--port", 18_002)
    assert done.returncode == 0, done.stderr
    make_data(folder, NAMES)
    return folder


@pytest.fixture
def kits(made, tmp_path):
    shutil.copytree(made / "kits", tmp_path / "kits")
    return tmp_path / "kits"


def said(done) -> str:
    return " ".join(done.stderr.split())


def join(made, kit, *options):
    """`fedhull client`, started in the kit, as its README says."""
    data = made / "lab-a.npz"
    return fedhull("client", ".", "--data", data, "--yes", "--wait", 0, *options, cwd=kit)


def evil(marker) -> str:
    return EVIL.format(marker=str(marker))


def component(change):
    return lambda content: content | {"components": [*content.get("components", []), change]}


def formatter(content):
    """A log configuration may name whatever can be called."""
    content["formatters"]["baseFormatter"] = {"()": "evil.Evil"}
    return content


def permit_code(content):
    content["permissions"]["project_admin"]["byoc"] = "any"
    return content


def allow_class(content):
    return content | {"class_allow_list": [*content["class_allow_list"], "evil.Evil"]}


def elsewhere(content):
    """Keys, and the path to them, are plain names; a driver is code."""
    return content | {"comm_driver_path": "/tmp", "client": content["client"] | {"is_leaf": False}}


ADDED = {
    "a component": ("local/evil__resources.json", json.dumps({"components": [COMPONENT]})),
    "one for the parent": ("startup/x__p_resources.json", json.dumps({"components": [COMPONENT]})),
    "one for jobs": ("local/job_resources.json", json.dumps({"components": [COMPONENT]})),
    "a module": ("local/custom/evil.py", EVIL),
    "a decomposer": ("local/custom/nvflare_decomposers/evil.py", EVIL),
    "a module beside the certificates": ("startup/evil.py", EVIL),
    "a privacy policy": ("local/privacy.json", json.dumps({"scopes": []})),
    "a driver": ("local/comm_config.json", json.dumps({"comm_driver_path": "local/custom"})),
    "a default": ("local/resources.json.default", json.dumps({"components": [COMPONENT]})),
    "a site hook": ("sitecustomize.py", EVIL),
    "a package of FLARE's name": ("nvflare/__init__.py", EVIL),
    "a compiled cache": (".numba_config.yaml", "cache_dir: evil"),
}
CHANGED = {
    "a class in resources.json": ("local/resources.json", component(COMPONENT)),
    "a class that jobs may name": ("local/resources.json", allow_class),
    "a class in fed_client.json": ("startup/fed_client.json", component(COMPONENT)),
    "a driver in fed_client.json": ("startup/fed_client.json", elsewhere),
    "a class in the log configuration": ("local/log_config.json", formatter),
    "a permission to ship code": ("local/authorization.json", permit_code),
}
AT_THE_SERVER = {
    "a module": ("admin/local/custom/evil.py", EVIL),
    "a component": ("local/evil__resources.json", json.dumps({"components": [COMPONENT]})),
}


@pytest.mark.parametrize("what", ADDED)
def test_a_kit_with_a_file_that_fedhull_does_not_know_is_refused_by_name(
    made, kits, tmp_path, what
):
    name, content = ADDED[what]
    path = kits / "lab-a" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content.replace("{marker!r}", repr(str(tmp_path / "marker"))))
    done = join(made, kits / "lab-a")
    assert done.returncode == 2
    assert "is not part of a kit" in said(done)
    assert name.split("/")[0] in said(done)
    assert not (tmp_path / "marker").exists()
    assert not (kits / "lab-a" / "consent.json").exists()


@pytest.mark.parametrize("what", CHANGED)
def test_a_kit_with_configuration_that_fedhull_did_not_write_is_refused_by_name(made, kits, what):
    name, change = CHANGED[what]
    path = kits / "lab-a" / name
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    done = join(made, kits / "lab-a")
    assert done.returncode == 2
    assert f"{name} is not what fedhull wrote" in said(done)


@pytest.mark.parametrize("what", AT_THE_SERVER)
def test_so_is_the_coordinators(kits, what):
    name, content = AT_THE_SERVER[what]
    path = kits / "server" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    done = fedhull("server", kits / "server")
    assert done.returncode == 2
    assert f"{name} is not part of a kit" in said(done)


@pytest.mark.parametrize("target", ["localhost", "$(touch x):1", "a b:1", "-x:1", "h:0", "h:99999"])
def test_a_servers_address_is_a_host_and_a_port(made, kits, target):
    path = kits / "lab-a" / "startup" / "fed_client.json"
    path.write_text(path.read_text().replace("localhost:18002", target))
    done = join(made, kits / "lab-a")
    assert done.returncode == 2
    assert "startup/fed_client.json" in said(done)


def test_a_link_is_no_way_in(made, kits, tmp_path):
    (tmp_path / "custom").mkdir()
    (kits / "lab-a" / "local" / "custom").symlink_to(tmp_path / "custom")
    assert "local/custom is not part of a kit" in said(join(made, kits / "lab-a"))


def test_a_kit_with_another_sites_certificate_is_refused(made, kits):
    for name in ("client.crt", "client.key"):
        shutil.copy(kits / "lab-b" / "startup" / name, kits / "lab-a" / "startup" / name)
    done = join(made, kits / "lab-a")
    assert "is lab-b's, but the identity key is lab-a's" in said(done)


def test_kits_as_provision_makes_them_are_taken_with_data_and_a_key_beside(made, kits):
    shutil.copy(made / "lab-a.npz", kits / "lab-a" / "cells.npz")
    (kits / "lab-a" / "lab-a.key").write_text("")
    assert join(made, kits / "lab-a", "--consent-only").returncode == 0
    assert "has not answered" in said(join(made, kits / "lab-a"))


def test_flares_client_answers_nothing_that_a_study_does_not_need():
    from nvflare.private.fed.client.client_req_processors import ClientRequestProcessors

    from fedhull.engines.nvflare.launch import answer_less

    before = list(ClientRequestProcessors.request_processors)
    try:
        answer_less()
        topics = {t for p in ClientRequestProcessors.request_processors for t in p.get_topics()}
    finally:
        ClientRequestProcessors.request_processors[:] = before
    assert "train.deploy" in topics
    assert not {topic for topic in topics if topic.startswith("sys.")}


@pytest.mark.slow
@pytest.mark.processes
def test_nothing_of_a_kit_runs_and_no_file_of_a_site_is_read_out(tmp_path):
    """What is put into the kits only after they were looked at is not run either; the server asks
    for a file of the sites while it sends them the study."""

    def inside(name):
        return ["env", "-C", str(tmp_path / "kits" / name)]

    study = Federation(tmp_path, 3, inside=inside)
    marker, secret = tmp_path / "marker", tmp_path / "patients.csv"
    secret.write_text("Jane Doe")
    try:
        clients = [study.client(name) for name in study.names]
        for client in clients:  # all have passed the inspection
            assert any("Waiting for the server" in line for line in client.stderr)
        for name in study.names:
            plant(study.kits / name, evil(marker))
        server = study.server("--json", sabotage=f"spy@{secret}")
        code, out, err = ended(server)
        assert code == 0, err
        assert json.loads(out)["survivors"] == study.names
        assert [client.wait(PATIENCE) for client in clients] == [0, 0, 0]
    finally:
        study.end()
    assert not marker.exists()
    told = (tmp_path / "patients.csv.told").read_text()
    assert told == "\n".join(["invalid_request"] * 3)


def plant(kit, module):
    """The component and the module of the attack, everywhere FLARE or Python might look."""
    for name, content in ADDED.values():
        path = kit / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(module if content == EVIL else content)
    for name, change in CHANGED.values():
        path = kit / name
        path.write_text(json.dumps(change(json.loads(path.read_text()))))
