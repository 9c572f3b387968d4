"""A study across network namespaces, where they are allowed: every participant has an address of
its own. Elsewhere, the same study on the loopback interface. It is under attack all the while."""

import json
import re
from contextlib import nullcontext

import pytest
from conformance import learned
from evil_kits import plant
from federations import PATIENCE, Federation, ended
from networks import inside, namespaces, reason_to_skip

from fedhull.learn.model import model_to_json

PARTICIPANTS = ["server", "lab-a", "lab-b", "lab-c"]


@pytest.mark.slow
@pytest.mark.processes
def test_a_study_under_attack_equals_the_memory_engines_bit_for_bit(tmp_path):
    """Code is put into the kits after they were looked at: it is not run. While it sends them the
    study, the server asks FLARE's clients for a file: it is not read out."""
    marker, secret = tmp_path / "marker", tmp_path / "patients.csv"
    secret.write_text("Jane Doe")
    apart = not reason_to_skip()

    def in_the_kit(name):
        return [*(inside(name) if apart else []), "env", "-C", str(tmp_path / "kits" / name)]

    with namespaces(PARTICIPANTS) if apart else nullcontext() as addresses:
        host = addresses["server"] if apart else "localhost"
        federation = Federation(tmp_path, host=host, inside=in_the_kit)
        try:
            clients = [federation.client(name) for name in federation.names]
            for client in clients:  # all have looked at their kits
                assert any("Waiting for the server" in line for line in client.stderr)
            for name in federation.names:
                plant(federation.kits / name, marker)
            code, out, err = ended(federation.server("--json", sabotage=f"spy@{secret}"))
            assert code == 0, err
            assert [client.wait(PATIENCE) for client in clients] == [0, 0, 0]
        finally:
            federation.end()
    assert not marker.exists()
    told = (tmp_path / "patients.csv.told").read_text()
    assert told == "\n".join(["invalid_request"] * 3)
    result = json.loads(out)
    assert result["survivors"] == federation.names
    model = learned(federation.results("server") / "model.json")
    assert model == model_to_json(federation.in_memory().model)
    sites = [
        json.loads((federation.results(name) / "result.json").read_text())
        for name in federation.names
    ]
    assert result["correct"] == sum(site["correct"] for site in sites)
    assert result["tested"] == sum(site["tested"] for site in sites) > 0
    # FLARE's workspaces keep their logs and lose their keys
    for name in PARTICIPANTS:
        assert not list((federation.kits / name / "flare").rglob("*.key"))
    if apart:
        log = (federation.kits / "server" / "logs" / "flare.log").read_text()
        for name in federation.names:
            assert re.search(rf"<= {re.escape(addresses[name])}:\d+ SSL {name}\]", log)
