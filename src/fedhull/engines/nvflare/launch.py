"""Run FLARE's server or client as a child of ours that ends when we end, however we end.

python -m fedhull.engines.nvflare.launch server|client WORKSPACE NAME   (standard input: a pipe)
"""

import os
import runpy
import subprocess
import sys
from pathlib import Path
from threading import Thread

import psutil

# FLARE waits a quarter of an hour for the last word of a client that is gone.
_PATIENCE = {"NVFLARE_CLIENT_OUTCOME_WAIT_TIMEOUT": "2"}
_MODULES = {
    "server": ("nvflare.private.fed.app.server.server_train", "fed_server.json"),
    "client": ("nvflare.private.fed.app.client.client_train", "fed_client.json"),
}


def start(role: str, workspace: Path, name: str, log: Path) -> "subprocess.Popen[bytes]":
    """Start FLARE in a kit; what it prints goes to a file."""
    command = [sys.executable, "-m", __spec__.name, role, str(workspace), name]
    with log.open("ab") as file:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=file,
            env=os.environ | _PATIENCE,
            start_new_session=True,
        )


def stop(process: "subprocess.Popen[bytes]", grace: float = 0.0) -> None:
    """End a child and everything it has started; a job that is about to end has `grace` seconds."""
    if process.poll() is None:
        family = psutil.Process(process.pid).children(recursive=True)
        psutil.wait_procs(family, grace)
        process.kill()
        process.wait()
        for member in family:
            if member.is_running():
                member.kill()


def main(role: str, workspace: str, name: str) -> None:
    """The child: FLARE's own entry point, plus a thread that notices when the parent is gone."""
    Thread(target=_end_with_parent, daemon=True).start()
    module, config = _MODULES[role]
    settings = ["secure_train=true", "org=fedhull", "config_folder=config"]
    if role == "client":
        settings.append(f"uid={name}")
    sys.argv = [module, "-m", workspace, "-s", config, "--set", *settings]
    runpy.run_module(module, run_name="__main__")


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # returns when the other end of the pipe is closed: alone
    for job in psutil.Process().children(recursive=True):
        job.kill()  # one that hangs would outlive us
    os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
