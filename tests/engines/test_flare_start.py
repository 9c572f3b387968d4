"""FLARE's server listens before it can serve: those who come too early are asked to try again, and
the coordinator waits for its word."""

from types import SimpleNamespace

import pytest
from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.fl_context import FLContext
from nvflare.private.fed.server.fed_server import FederatedServer

from fedhull.engines.nvflare import server
from fedhull.engines.nvflare.launch import answer_later
from fedhull.engines.nvflare.server import FlareServer, wait_until_started
from fedhull.errors import EngineFailure

WORD = "12:00:00 - root - INFO - Server started\n"


@pytest.fixture
def flare(tmp_path):
    log = tmp_path / "flare.log"
    log.write_text(WORD)  # of an earlier run
    return FlareServer(tmp_path, SimpleNamespace(poll=lambda: None), log, len(WORD))


def test_whoever_comes_before_the_server_is_secure_is_asked_to_try_again(monkeypatch):
    monkeypatch.setattr(FederatedServer, "_ready_for_registration", lambda server, context: None)
    answer_later()
    context = FLContext()
    assert "still starting" in FederatedServer._ready_for_registration(None, context)
    context.set_prop(FLContextKey.SECURE_MODE, True)
    assert FederatedServer._ready_for_registration(None, context) is None


def test_the_word_of_an_earlier_run_does_not_count(flare, monkeypatch):
    monkeypatch.setattr(server, "_START_SECONDS", 0.0)
    with pytest.raises(EngineFailure, match="did not start"):
        wait_until_started(flare)
    with flare.log.open("a") as file:
        file.write(WORD)
    wait_until_started(flare)


def test_a_server_that_ends_is_not_waited_for(flare):
    ended = FlareServer(flare.workspace, SimpleNamespace(poll=lambda: 1), flare.log, flare.older)
    with pytest.raises(EngineFailure, match="did not start"):
        wait_until_started(ended)
