"""A study on Flower, with a real SuperLink and real SuperNodes on the loopback interface."""

import json

import pytest
from conformance import learned
from federations import Federation, ended

from fedhull.learn.model import model_to_json

pytestmark = [pytest.mark.slow, pytest.mark.flower]


def test_a_study_of_three_sites_equals_the_memory_engines(tmp_path):
    federation = Federation(tmp_path, 3, engine="flower")
    try:
        # Flower starts a process for each message, which on a busy machine takes its time
        server = federation.server("--json", "--engine", "flower", timeout=600, wait=600)
        clients = [federation.client(name, "--engine", "flower") for name in federation.names]
        code, out, err = ended(server)
        assert code == 0, err
        assert json.loads(out)["survivors"] == federation.names
        for client in clients:
            code, _, err = ended(client)
            assert code == 0, err
    finally:
        federation.end()
    ours = learned(federation.results("server") / "model.json")
    assert ours == model_to_json(federation.in_memory().model)
