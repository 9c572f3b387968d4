"""A site whose connection FLARE's server has dropped: the study has failed here, and the call was
not wrong."""

from types import SimpleNamespace

import pytest

from fedhull.engines.nvflare import client
from fedhull.errors import ConnectionDropped

LOST = b"cannot send to 'server': TP=heart_beat\n"


def test_a_connection_that_the_server_has_dropped_is_a_failed_study(tmp_path, monkeypatch):
    log = tmp_path / "flare.log"
    log.write_bytes(LOST)

    def follow(kit, before, host, port, check, say):
        check(None)

    monkeypatch.setattr(client, "follow_site", follow)
    monkeypatch.setattr(client, "answers", lambda host, port: True)
    monkeypatch.setattr(client, "stop", lambda process, grace: None)
    kit, flare = SimpleNamespace(name="lab-a"), SimpleNamespace(poll=lambda: None)
    with pytest.raises(ConnectionDropped, match=r"start again.*ask the coordinator") as dropped:
        client._take_part(kit, set(), flare, "localhost", 8002, log, 0, lambda sentence: None)
    assert dropped.value.exit_code == 4
