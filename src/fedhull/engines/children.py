"""Processes of an engine: children of ours that end when we end, however we end, and that load code
from nowhere but the installation."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread

import psutil


def start(
    module: str, words: list[str], folder: Path, log: Path, more: dict[str, str]
) -> "subprocess.Popen[bytes]":
    """Run a module of the installed package in a folder; what it prints goes to a file. `more` is
    what its environment has besides ours."""
    # neither the folder we were called in nor the one it works in is a place to import from
    # (-P for itself, the variable for whatever it starts)
    command = [sys.executable, "-P", "-m", module, *words]
    with log.open("ab") as file:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,  # nothing is written: its end tells the child that we are gone
            stdout=file,
            stderr=file,
            env=os.environ | {"PYTHONSAFEPATH": "1"} | more,
            start_new_session=True,
        )


def stop(process: "subprocess.Popen[bytes]", grace: float = 0.0, goodbye: float = 0.0) -> None:
    """End a child and everything it has started. What is about to end by itself has `grace`
    seconds, and the child `goodbye` seconds to say that it is leaving."""
    if process.poll() is None:
        family = psutil.Process(process.pid).children(recursive=True)
        psutil.wait_procs(family, grace)
        if goodbye:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(goodbye)
        process.kill()
        process.wait()
        for member in family:
            if member.is_running():
                member.kill()


def end_with_parent() -> None:
    """Called by a child: when its parent is gone, it ends with all it has started."""
    Thread(target=_wait_for_the_end, daemon=True).start()


def _wait_for_the_end() -> None:
    os.read(sys.stdin.fileno(), 1)  # returns when the other end of the pipe is closed
    for each in psutil.Process().children(recursive=True):
        each.kill()  # one that hangs would outlive us
    os._exit(1)
