"""The server's end of a result that comes late, in FLARE's own process: it answers sites that ask
for a publication. No job runs for it, so that sites may come at any time."""

import json
from pathlib import Path
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_context import FLContext
from nvflare.fuel.f3.cellnet.defs import ReturnCode
from nvflare.fuel.f3.cellnet.utils import make_reply
from nvflare.private.defs import CellMessageHeaderKeys

from fedhull.disk import read_bytes, read_text, write_text
from fedhull.engines.following import new_lines
from fedhull.engines.nvflare.kit_of import kit_of
from fedhull.kits.audit import AuditLog
from fedhull.kits.kit import AUDIT
from fedhull.protocol.drive import PUBLISH
from fedhull.study.coordinator import PUBLICATION

CHANNEL, TOPIC = "fedhull", "publication"
# In FLARE's workspace: the run whose publication is offered, and a line for each request.
_OFFER, _REQUESTS = "offered-run", "requests.jsonl"


class Publisher(FLComponent):  # type: ignore[misc]
    """Gives every site of the study that asks what is offered, the same to all."""

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Be there for requests. FLARE passes on those of connected sites only, under the names in
        their certificates."""
        if event_type == EventType.SYSTEM_START:
            engine = fl_ctx.get_engine()
            self._engine, self._kit = engine, kit_of(fl_ctx)
            self._workspace = Path(engine.get_workspace().get_root_dir())
            cell = engine.get_cell()
            # by name: FLARE looks for the channel among these
            cell.register_request_cb(channel=CHANNEL, topic=TOPIC, cb=self._answer)

    def _answer(self, request: Any) -> Any:
        name = request.get_header(CellMessageHeaderKeys.CLIENT_NAME)
        if name not in self._kit.study.clients:
            return make_reply(ReturnCode.INVALID_REQUEST)
        publication = self._offered(name)
        if publication is None:
            # the site has left the study that still runs: nobody need wait for it
            for job in list(self._engine.run_processes):
                self._engine.notify_dead_job(job, name, "it has come back for its result")
        with (self._workspace / _REQUESTS).open("a") as file:
            file.write(json.dumps({"site": name, "given": publication is not None}) + "\n")
        return make_reply(ReturnCode.OK, body=publication)

    def _offered(self, name: str) -> bytes | None:
        """What a site is given, noted in the run's audit log before; None if there is nothing."""
        offer = self._workspace / _OFFER
        if not offer.exists():
            return None
        results = self._kit.results(read_text(offer))
        publication = read_bytes(results / PUBLICATION)
        log = AuditLog(results / AUDIT, self._kit.study.hash)
        log.record("sent", PUBLISH, publication, peer=name)
        return publication


def offer(workspace: Path, results: Path) -> None:
    """Have the publisher in this workspace hand out the publication of a run."""
    write_text(workspace / _OFFER, results.name)


def requests(workspace: Path, given: bool) -> list[str]:
    """The sites that have been given the publication, or that have asked before there was one."""
    entries = new_lines(workspace / _REQUESTS, 0)
    return [entry["site"] for entry in entries if entry["given"] is given]
