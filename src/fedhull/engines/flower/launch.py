"""Flower's own processes for one study, closed to everything else.

python -m fedhull.engines.flower.launch superlink|supernode|superexec SETTINGS

Flower 1.41 serves three interfaces on one port: anybody who reaches it may start runs and register
nodes, and nodes run any app that a run brings. Here the process itself starts the run and registers
the nodes, the interface for that is closed, and a node accepts one app.
"""

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import msgspec

from fedhull.disk import read_bytes, write_text
from fedhull.engines.children import end_with_parent
from fedhull.engines.flower import app

FOREIGN_APP = 77  # exit code of a SuperNode that was sent another app
_FLEET, _RUNTIME = "/v1/fleet/", "/v1/runtime/"


class Settings(msgspec.Struct, kw_only=True):
    """Settings of a process: the options of Flower's command, the file with the secret between a
    SuperLink or SuperNode and its apps' executor, and, for a SuperLink, the nodes' public keys, the
    run's configuration, and the file for its number."""

    words: list[str]
    secret: str
    executor: list[str] = []
    nodes: dict[str, str] = {}
    config: dict[str, str | float] = {}
    run: str = ""


def superlink(settings: Settings) -> None:
    """Run a SuperLink that knows its nodes and its run before it listens."""
    import uvicorn
    from flwr.superlink.main import create_app

    command = import_module("flwr.superlink.cli.flower_superlink")
    sys.argv = ["flower-superlink", *settings.words]
    config = command._parse_superlink_lifespan_config()
    link = create_app(config, command.SuperLinkLifespan)
    write_text(settings.run, str(_prepare(link.state.linkstate_factory.state(), settings)))
    _start_executor(settings)
    uvicorn.run(
        Gate(link),
        host=config.host,
        port=config.port,
        access_log=False,
        proxy_headers=False,  # a caller is known by its address
        ssl_keyfile=config.ssl_keyfile,
        ssl_certfile=config.ssl_certfile,
    )


def _prepare(state: Any, settings: Settings) -> int:
    """Register the nodes and start the run; its number."""
    from flwr.common.constant import NOOP_ACCOUNT_NAME, NOOP_FLWR_AID
    from flwr.common.serde import fab_to_proto, user_config_to_proto
    from flwr.proto.control_pb2 import RegisterNodeRequest, StartRunRequest
    from flwr.supercore.auth.typing import AccountInfo
    from flwr.supercore.fab import Fab
    from flwr.superlink.servicer.control import control_handlers

    account = AccountInfo(flwr_aid=NOOP_FLWR_AID, account_name=NOOP_ACCOUNT_NAME)
    for name, public in settings.nodes.items():
        request = RegisterNodeRequest(public_key=public.encode(), name=name)
        control_handlers.register_node(request, account, state)
    request = StartRunRequest(
        fab=fab_to_proto(Fab("", app.build(), {})),
        override_config=user_config_to_proto(settings.config),
    )
    return int(control_handlers.start_run(request, account, state, None).run_id)


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Gate:
    """Let authenticated requests of nodes pass, and those of the SuperLink's own processes on this
    machine; refuse all others."""

    def __init__(self, link: Callable[[Scope, Receive, Send], Awaitable[None]]):
        self._link = link

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an ASGI request."""
        if scope["type"] == "lifespan" or (scope["type"] == "http" and _may_pass(scope)):
            await self._link(scope, receive, send)
        elif scope["type"] == "http":
            await send({"type": "http.response.start", "status": 403, "headers": []})
            await send({"type": "http.response.body", "body": b"closed"})


def _may_pass(scope: Scope) -> bool:
    path = str(scope["path"])
    client = scope.get("client")
    local = client is not None and ip_address(client[0]).is_loopback
    return path.startswith(_FLEET) or (local and path.startswith(_RUNTIME))


def supernode(settings: Settings) -> None:
    """Run a SuperNode that accepts the study's app and no other."""
    from flwr.supernode import start_client_internal as internal
    from flwr.supernode.cli import flower_supernode

    pull = internal._pull_and_store_message

    def pull_ours(*, get_run: Any, get_fab: Any, **more: Any) -> Any:
        runs: dict[int, Any] = {}

        def known_run(run_id: int) -> Any:
            runs[run_id] = get_run(run_id)
            return runs[run_id]

        def our_fab(fab_hash: str, run_id: int) -> Any:
            run, fab = runs[run_id], get_fab(fab_hash, run_id)
            hashes = {run.fab_hash, fab.hash_str, fab_hash}
            if len(hashes) != 1 or not app.is_ours(
                run.fab_id, run.fab_version, fab.hash_str, fab.content
            ):
                _leave(FOREIGN_APP)
            return fab

        return pull(get_run=known_run, get_fab=our_fab, **more)

    vars(internal)[pull.__name__] = pull_ours
    _start_executor(settings)
    sys.argv = ["flower-supernode", *settings.words]
    flower_supernode()


def superexec(settings: Settings) -> None:
    """Start the apps of a SuperLink or SuperNode."""
    from flwr.supercore.cli import flower_superexec

    sys.argv = ["flower-superexec", *settings.words]
    flower_superexec()


def _start_executor(settings: Settings) -> None:
    """Start the executor with its secret. Flower would leave it out, and any process on this
    machine could take an app's next message."""
    words = [*settings.executor, "--superexec-auth-secret-file", settings.secret]
    inner = json.dumps({"words": [*words, "--parent-pid", str(os.getpid())], "secret": ""})
    subprocess.Popen([sys.executable, "-P", "-m", __spec__.name, "superexec", inner])


def _leave(code: int) -> None:
    """End at once with all descendants, before anything received is run."""
    import psutil

    for each in psutil.Process().children(recursive=True):
        each.kill()
    os._exit(code)


def main(role: str, settings: str) -> None:
    """Settings are a file's name or, from one of our processes, its content."""
    raw = settings.encode() if settings.startswith("{") else read_bytes(Path(settings))
    chosen = msgspec.json.decode(raw, type=Settings)
    if role != "superexec":  # ended by its parent, without a pipe
        end_with_parent()
    {"superlink": superlink, "supernode": supernode, "superexec": superexec}[role](chosen)


if __name__ == "__main__":
    main(*sys.argv[1:])
