"""Studies on NVIDIA FLARE, with real processes on the loopback interface."""

import json

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
