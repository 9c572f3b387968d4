"""A site's end of a result that comes late, in FLARE's own process: it asks for the publication
until it is there, and does nothing else."""

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
from nvflare.fuel.f3.message import Message

from fedhull.disk import write_bytes
from fedhull.engines.nvflare.kit_of import kit_of
from fedhull.engines.nvflare.publisher import CHANNEL, TOPIC
from fedhull.protocol.messages import largest_to_client

# Where the publication lies in FLARE's workspace; whether it is one, the protocol says later.
FETCHED = "fetched.bin"
_ASK_SECONDS, _REPLY_SECONDS = 2.0, 60.0


class Fetcher(FLComponent):  # type: ignore[misc]
    """Asks the server when FLARE has connected this site."""

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Ask in a thread of its own: FLARE goes on when this returns."""
        if event_type == EventType.SYSTEM_START:
            limit = largest_to_client(kit_of(fl_ctx).study)
            workspace = Path(fl_ctx.get_prop(FLContextKey.WORKSPACE_ROOT))
            cell = fl_ctx.get_engine().get_cell()
            asking = Thread(target=_ask_until, args=(cell, workspace / FETCHED, limit), daemon=True)
            asking.start()


def _ask_until(cell: Any, path: Path, limit: int) -> None:
    while not ask(cell, path, limit):
        sleep(_ASK_SECONDS)


def ask(cell: Any, path: Path, limit: int) -> bool:
    """Ask once, over FLARE's connection; whether something came. It is put into a file, and no more
    of it than a byte above the limit, which is enough to refuse it by."""
    reply = cell.send_request(
        channel=CHANNEL,
        topic=TOPIC,
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
