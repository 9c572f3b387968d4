"""Child processes of an engine. They end when we end, in any way, and import only installed
code."""

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
    """Run a module of the installed package in a folder, with `more` in its environment and its
    output in a log."""
    # import from no working directory: -P for the child, the variable for its descendants
    command = [sys.executable, "-P", "-m", module, *words]
    with log.open("ab") as file:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,  # closed when we are gone
            stdout=file,
            stderr=file,
            env=os.environ | {"PYTHONSAFEPATH": "1"} | more,
            start_new_session=True,
        )


def stop(process: "subprocess.Popen[bytes]", grace: float = 0.0, goodbye: float = 0.0) -> None:
    """End a child and all its descendants, after `grace` seconds for the descendants to end by
    themselves and `goodbye` seconds for the child to sign off."""
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
    """In a child: end, with all descendants, when the parent is gone."""
    Thread(target=_wait_for_the_end, daemon=True).start()


def _wait_for_the_end() -> None:
    os.read(sys.stdin.fileno(), 1)  # returns when the other end of the pipe is closed
    for each in psutil.Process().children(recursive=True):
        each.kill()
    os._exit(1)
