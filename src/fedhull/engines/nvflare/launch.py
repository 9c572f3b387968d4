"""Run FLARE's server or client as a child process, in a workspace made by fedhull.

python -m fedhull.engines.nvflare.launch server|client|fetch WORKSPACE NAME (standard input: a pipe)
"""

import runpy
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from fedhull.engines import children
from fedhull.engines.nvflare.layout import KIT_VARIABLE

# FLARE waits a quarter of an hour for the last word of a lost client.
_PATIENCE = {"NVFLARE_CLIENT_OUTCOME_WAIT_TIMEOUT": "2"}
# Between a site's signs of life; FLARE counts in pairs of seconds.
_SIGN_SECONDS = 4
_CLIENT = ("nvflare.private.fed.app.client.client_train", "fed_client.json")
_MODULES = {
    "server": ("nvflare.private.fed.app.server.server_train", "fed_server.json"),
    "client": _CLIENT,
    "fetch": _CLIENT,
}
# Requests that FLARE's client answers. FLARE itself would also send any file of the site's, and let
# the server say if that needs a permission. A client that fetches answers nothing.
_ANSWERED = {
    "AbortAppProcessor",
    "CancelResourceProcessor",
    "CheckResourceProcessor",
    "ClientStatusProcessor",
    "DeleteRunNumberProcessor",
    "DeployProcessor",
    "NotifyJobStatusProcessor",
    "StartJobProcessor",
}


def start(role: str, workspace: Path, name: str, kit: Path, log: Path) -> "subprocess.Popen[bytes]":
    """Start FLARE in a workspace, for the participant with this kit."""
    words = [role, str(workspace), name]
    return children.start(
        __spec__.name, words, workspace, log, _PATIENCE | {KIT_VARIABLE: str(kit)}
    )


def main(role: str, workspace: str, name: str) -> None:
    """In the child: run FLARE's own entry point."""
    children.end_with_parent()
    module, config = _MODULES[role]
    settings = ["secure_train=true", "org=fedhull", "config_folder=config"]
    if role == "server":
        answer_later()
    else:
        settings += [f"uid={name}", f"heart_beat_interval={_SIGN_SECONDS}"]
        answer_less(_ANSWERED if role == "client" else set())
    sys.argv = [module, "-m", workspace, "-s", config, "--set", *settings]
    runpy.run_module(module, run_name="__main__")


def answer_less(answered: Collection[str] = _ANSWERED) -> None:
    """Have FLARE's client answer these requests only, by default those of a study."""
    from nvflare.private.fed.client.client_req_processors import ClientRequestProcessors

    processors = ClientRequestProcessors.request_processors
    processors[:] = [each for each in processors if type(each).__name__ in answered]


def answer_later() -> None:
    """Have FLARE's server ask early clients to try again: it listens before it knows that it is
    secure, and would turn them away for good."""
    from nvflare.apis.fl_constant import FLContextKey
    from nvflare.private.fed.server.fed_server import FederatedServer

    is_ready = FederatedServer._ready_for_registration

    def is_secure_and_ready(server: Any, context: Any) -> Any:
        secure = context.get_prop(FLContextKey.SECURE_MODE)
        return is_ready(server, context) if secure else "the server is still starting"

    FederatedServer._ready_for_registration = is_secure_and_ready


if __name__ == "__main__":
    main(*sys.argv[1:])
