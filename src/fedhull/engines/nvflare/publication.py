"""Late results inside FLARE's own processes: sites ask the server for a publication. No job runs
for it, so they may come at any time."""

import json
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.fl_context import FLContext
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
from nvflare.fuel.f3.cellnet.fqcn import FQCN
from nvflare.fuel.f3.cellnet.utils import make_reply
from nvflare.fuel.f3.message import Message
from nvflare.private.defs import CellMessageHeaderKeys

from fedhull.disk import read_bytes, read_text, write_bytes, write_text
from fedhull.engines.following import new_lines
from fedhull.engines.nvflare.layout import kit_of
from fedhull.kits.audit import AuditLog
from fedhull.kits.kit import AUDIT
from fedhull.protocol.drive import PUBLISH
from fedhull.protocol.messages import largest_to_client
from fedhull.rounds.run import PUBLICATION

_CHANNEL, _TOPIC = "fedhull", "publication"
# In FLARE's workspace, at the server: the offered run, and a line for each request.
_OFFER, _REQUESTS = "offered-run", "requests.jsonl"
# At a site: the reply, which the protocol checks later.
FETCHED = "fetched.bin"
_ASK_SECONDS, _REPLY_SECONDS = 2.0, 60.0


class Publisher(FLComponent):  # type: ignore[misc]
    """Gives the offered publication to every site of the study that asks, the same to all."""

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Listen for requests. FLARE forwards those of connected sites only, under the names in
        their certificates."""
        if event_type == EventType.SYSTEM_START:
            engine = fl_ctx.get_engine()
            self._engine, self._kit = engine, kit_of(fl_ctx)
            self._workspace = Path(engine.get_workspace().get_root_dir())
            # FLARE wants the channel by keyword
            engine.get_cell().register_request_cb(channel=_CHANNEL, topic=_TOPIC, cb=self._answer)

    def _answer(self, request: Any) -> Any:
        name = request.get_header(CellMessageHeaderKeys.CLIENT_NAME)
        if name not in self._kit.study.clients:
            return make_reply(ReturnCode.INVALID_REQUEST)
        publication = self._offered(name)
        if publication is None:
            # the site has left the running study: nobody need wait for it
            for job in list(self._engine.run_processes):
                self._engine.notify_dead_job(job, name, "it has come back for its result")
        with (self._workspace / _REQUESTS).open("a") as file:
            file.write(json.dumps({"site": name, "given": publication is not None}) + "\n")
        return make_reply(ReturnCode.OK, body=publication)

    def _offered(self, name: str) -> bytes | None:
        """The publication for a site, logged first; None if there is none."""
        offered = self._workspace / _OFFER
        if not offered.exists():
            return None
        results = self._kit.results(read_text(offered))
        publication = read_bytes(results / PUBLICATION)
        log = AuditLog(results / AUDIT, self._kit.study.hash)
        log.record("sent", PUBLISH, publication, peer=name)
        return publication


def offer(workspace: Path, results: Path) -> None:
    """Offer the publication of a run."""
    write_text(workspace / _OFFER, results.name)


def requests(workspace: Path, given: bool) -> list[str]:
    """The sites that were given the publication, or asked before there was one."""
    entries = new_lines(workspace / _REQUESTS, 0)
    return [entry["site"] for entry in entries if entry["given"] is given]


class Fetcher(FLComponent):  # type: ignore[misc]
    """Asks the server for the publication, once FLARE has connected this site."""

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Ask in a thread: FLARE goes on when this returns."""
        if event_type == EventType.SYSTEM_START:
            limit = largest_to_client(kit_of(fl_ctx).study)
            path = Path(fl_ctx.get_prop(FLContextKey.WORKSPACE_ROOT)) / FETCHED
            cell = fl_ctx.get_engine().get_cell()
            Thread(target=_ask_until, args=(cell, path, limit), daemon=True).start()


def _ask_until(cell: Any, path: Path, limit: int) -> None:
    while not ask(cell, path, limit):
        sleep(_ASK_SECONDS)


def ask(cell: Any, path: Path, limit: int) -> bool:
    """Ask once; True if a reply has been written. Of one above the limit, a byte more is written,
    enough to refuse it."""
    reply = cell.send_request(
        channel=_CHANNEL,
        topic=_TOPIC,
        target=FQCN.ROOT_SERVER,
        request=Message(payload=b""),
        timeout=_REPLY_SECONDS,
        optional=True,
    )
    content = reply.payload
    ok = reply.get_header(MessageHeaderKey.RETURN_CODE) == ReturnCode.OK
    if not (ok and isinstance(content, bytes | bytearray | memoryview) and len(content)):
        return False
    write_bytes(path, bytes(content[: limit + 1]), mode=0o600)
    return True
