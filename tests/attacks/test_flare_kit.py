"""A kit comes from somebody else: whatever is put into one, `fedhull` runs nothing of it. Nor does
a site read its files out to a server that asks FLARE's client for them."""

import json
import shutil

import pytest
from commands import fedhull
from evil_kits import ADDED, CHANGED, COMPONENT, EVIL
from federations import draft, make_data

pytest.importorskip("nvflare", reason="the nvflare extra is not installed")

NAMES = ["lab-a", "lab-b", "lab-c"]


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
