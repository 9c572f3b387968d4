"""A study across network namespaces: every participant has an address of its own."""

import json
import re

import pytest
from federations import Federation, ended
from networks import inside, namespaces, reason_to_skip


@pytest.mark.slow
@pytest.mark.processes
def test_a_study_between_addresses(tmp_path):
    if reason := reason_to_skip():
        pytest.skip(reason)
    with namespaces(["server", "lab-a", "lab-b", "lab-c"]) as addresses:
        federation = Federation(tmp_path, host=addresses["server"], inside=inside)
        try:
            server = federation.server("--json")
            clients = [federation.client(name) for name in federation.names]
            code, out, err = ended(server)
            assert code == 0, err
            assert json.loads(out)["survivors"] == federation.names
            assert [ended(client)[0] for client in clients] == [0, 0, 0]
        finally:
            federation.end()
    log = (federation.kits / "server" / "flare.log").read_text()
    for name in federation.names:
        assert re.search(rf"<= {re.escape(addresses[name])}:\d+ SSL {name}\]", log)
