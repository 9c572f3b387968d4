"""A site whose connection FLARE's server has dropped: the study has failed here, and the call was
not wrong."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from fedhull.engines.nvflare import client
from fedhull.errors import ConnectionDropped

LOST = b"cannot send to 'server': TP=heart_beat\n"


def test_a_connection_that_the_server_has_dropped_is_a_failed_study(tmp_path, monkeypatch):
    log = tmp_path / "flare.log"

    def follow(kit, before, host, port, check, say):
        check(None)

    monkeypatch.setattr(client, "follow_site", follow)
    monkeypatch.setattr(client, "answers", lambda host, port: True)
    monkeypatch.setattr(client, "stop", lambda process, grace: None)
    kit = SimpleNamespace(name="lab-a", folder=tmp_path, log=lambda name: log)
    monkeypatch.setattr(client, "address_in", lambda folder, start: ("localhost", 8002))
    for nothing in ("wait_for_server", "_shake_hands", "runs_of", "site_configuration"):
        monkeypatch.setattr(client, nothing, lambda *_: None)
    monkeypatch.setattr(client, "fresh_workspace", lambda *_: nullcontext(tmp_path))

    def start(*_):
        log.write_bytes(LOST)
        return SimpleNamespace(poll=lambda: None)

    monkeypatch.setattr(client, "start", start)
    with pytest.raises(ConnectionDropped, match=r"start again.*ask the coordinator") as dropped:
        client.run_client(kit, 0.0, lambda sentence: None)
    assert dropped.value.exit_code == 4
