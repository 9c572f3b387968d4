"""A study across network namespaces, where they are allowed: every participant has an address of
its own. Elsewhere, the same study on the loopback interface."""

import json
import re
from contextlib import nullcontext

import pytest
from federations import Federation, ended
from networks import inside, namespaces, reason_to_skip

from fedhull.learn.model import model_to_json

PARTICIPANTS = ["server", "lab-a", "lab-b", "lab-c"]


@pytest.mark.slow
@pytest.mark.processes
def test_a_study_between_addresses_equals_the_memory_engines_bit_for_bit(tmp_path):
    apart = not reason_to_skip()
    with namespaces(PARTICIPANTS) if apart else nullcontext() as addresses:
        place = {"host": addresses["server"], "inside": inside} if apart else {}
        federation = Federation(tmp_path, **place)
        try:
            server = federation.server("--json")
            clients = [federation.client(name, "--json") for name in federation.names]
            code, out, err = ended(server)
            assert code == 0, err
            result = json.loads(out)
            sites = []
            for client in clients:
                code, out, err = ended(client)
                assert code == 0, err
                sites.append(json.loads(out))
        finally:
            federation.end()
    assert result["survivors"] == federation.names
    model = json.loads((federation.results("server") / "model.json").read_text())
    assert model == model_to_json(federation.in_memory().model)
    assert result["correct"] == sum(site["correct"] for site in sites)
    assert result["tested"] == sum(site["tested"] for site in sites) > 0
    # FLARE's workspace keeps its logs and loses its keys
    for name in ("server", *federation.names):
        assert not list((federation.kits / name / "flare").rglob("*.key"))
    if apart:
        log = (federation.kits / "server" / "flare.log").read_text()
        for name in federation.names:
            assert re.search(rf"<= {re.escape(addresses[name])}:\d+ SSL {name}\]", log)
