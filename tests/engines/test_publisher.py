"""How a late result gets from a server on FLARE to a site, without FLARE's processes."""

import json
from types import SimpleNamespace

import pytest

pytest.importorskip("nvflare", reason="the nvflare extra is not installed")

from federations import draft
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import ReservedKey
from nvflare.apis.fl_context import FLContext
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
from nvflare.private.defs import CellMessageHeaderKeys

from fedhull.engines.nvflare.layout import KIT_VARIABLE
from fedhull.engines.nvflare.publication import Publisher, ask, offer, requests
from fedhull.engines.nvflare.workspace import fetching_configuration, site_configuration
from fedhull.kits.audit import read_audit
from fedhull.kits.kit import Kit
from fedhull.kits.provision import make_kits

NAMES = ["lab-a", "lab-b", "lab-c"]


class Server:
    """FLARE's server, its engine and the connection to it in one."""

    def __init__(self, workspace):
        self.workspace, self.name = workspace, "lab-a"
        self.run_processes = {"job": {}}
        self.left = []

    def get_workspace(self):
        return SimpleNamespace(get_root_dir=lambda: str(self.workspace))

    def get_cell(self):
        return self

    def notify_dead_job(self, job, name, reason):
        self.left.append((job, name))

    def register_request_cb(self, *, channel, topic, cb):
        self.answer = {(channel, topic): cb}

    def send_request(self, *, channel, topic, target, request, timeout, optional):
        assert not request.payload  # nothing of the site's is sent
        request.set_header(CellMessageHeaderKeys.CLIENT_NAME, self.name)
        return self.answer[channel, topic](request)


@pytest.fixture
def server(tmp_path, monkeypatch):
    kits = make_kits(draft(NAMES), tmp_path / "kits").folder
    monkeypatch.setenv(KIT_VARIABLE, str(kits / "server"))
    server = Server(tmp_path)
    server.results = Kit.open(kits / "server").results("run")
    (server.results / "publication.bin").write_bytes(b"for all")
    context = FLContext()
    context.put(ReservedKey.ENGINE, server, private=True, sticky=False)
    Publisher().handle_event(EventType.SYSTEM_START, context)
    return server


def test_every_site_of_the_study_is_given_what_is_offered_and_the_log_says_so(server, tmp_path):
    offer(tmp_path, server.results)
    for name in NAMES:
        server.name = name
        assert ask(server, tmp_path / name, limit=100)
        assert (tmp_path / name).read_bytes() == b"for all"
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
    assert requests(tmp_path, given=True) == NAMES
    log = read_audit(server.results / "audit.jsonl")
    assert [(e.direction, e.step, e.peer) for e in log] == [("sent", "publish", n) for n in NAMES]
    assert server.left == []


def test_who_comes_before_there_is_a_result_is_heard_and_no_longer_waited_for(server, tmp_path):
    assert not ask(server, tmp_path / "got", limit=100)
    assert not (tmp_path / "got").exists()
    assert requests(tmp_path, given=False) == ["lab-a"]
    assert server.left == [("job", "lab-a")]
    offer(tmp_path, server.results)
    assert ask(server, tmp_path / "got", limit=100)


def test_who_is_not_in_the_study_is_given_nothing(server, tmp_path):
    offer(tmp_path, server.results)
    for name in ("server", "coordinator@fedhull.org", None):
        server.name = name
        assert not ask(server, tmp_path / "got", limit=100)
    assert not (tmp_path / "got").exists()
    assert requests(tmp_path, given=True) == requests(tmp_path, given=False) == []


def test_no_more_is_kept_of_an_answer_than_it_takes_to_refuse_it(server, tmp_path):
    (server.results / "publication.bin").write_bytes(bytes(1000))
    offer(tmp_path, server.results)
    assert ask(server, tmp_path / "got", limit=10)
    assert (tmp_path / "got").stat().st_size == 11


@pytest.mark.parametrize("content", [None, "text", {"a": b"b"}, 7, b""])
def test_an_answer_that_is_no_publication_is_none(tmp_path, content):
    reply = SimpleNamespace(payload=content, get_header={
        MessageHeaderKey.RETURN_CODE: ReturnCode.OK}.get)  # fmt: skip
    lying = SimpleNamespace(send_request=lambda **words: reply)
    assert not ask(lying, tmp_path / "got", limit=100)
    assert not (tmp_path / "got").exists()


def test_no_job_can_start_at_a_site_that_fetches():
    usual, fetching = (
        made("lab-a", "localhost", 8002)["local/resources.json"]
        for made in (site_configuration, fetching_configuration)
    )
    assert len(usual["class_allow_list"]) == 1
    assert fetching["class_allow_list"] == []
    assert fetching["class_list_enforcement_mode"] == "enforce"
    assert "launcher" not in json.dumps(fetching["components"])
