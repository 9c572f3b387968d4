"""The command line, as a process of its own or in this one."""

import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fedhull.cli.app import COMMANDS as OWN
from fedhull.cli.app import main
from fedhull_lab.commands import BENCH, DEMO, REPRODUCE

# All that an installation has.
COMMANDS = {**OWN, "bench": BENCH, "demo": DEMO, "reproduce": REPRODUCE}
FEDHULL = str(Path(sys.executable).with_name("fedhull"))
# Seconds until a participant that should have ended is an error, however busy the machine.
PATIENCE = 1200


def process(*words, answer="", cwd=None) -> subprocess.CompletedProcess:
    """Run `fedhull` as a person does: a new process, its output and its exit code."""
    return subprocess.run(
        [FEDHULL, *map(str, words)],
        input=answer,
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )


def fedhull(*words, answer="", cwd=None) -> subprocess.CompletedProcess:
    """Run `fedhull` in this process: what it prints and how it exits are the same, and the seconds
    of importing are spent once."""
    argv = ["fedhull", *map(str, words)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    code = 0
    with pytest.MonkeyPatch.context() as here:
        here.setattr(sys, "argv", argv)
        here.setattr(sys, "stdin", io.StringIO(answer))
        here.setattr(sys, "stdout", out)
        here.setattr(sys, "stderr", err)
        here.chdir(cwd or ".")
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    return subprocess.CompletedProcess(argv, code, _text(out), _text(err))


def invite(kits, names) -> None:
    """Begin a study over files: the coordinator's first requests, carried to the sites."""
    assert fedhull("server", kits / "server").returncode == 3
    for name in names:
        shutil.copytree(kits / "server" / "mail" / name, kits / name / "mail" / name)


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
