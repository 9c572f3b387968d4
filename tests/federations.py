"""Real federations on this machine: kits, data, processes, and what the memory engine makes of the
same."""

import os
import secrets
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from string import ascii_lowercase

import numpy as np
from commands import FEDHULL, PATIENCE, fedhull
from conformance import in_memory

from fedhull.data.generated import make_tree

TIMEOUT_VARIABLE = "FEDHULL_FLARE_TIMEOUT"

SABOTAGE = Path(__file__).parent / "engines" / "sabotage"
TESTS = Path(__file__).parent


def free_port() -> int:
    """A free port below those that the system hands out for outgoing connections, of which one may
    be taken by a site of another test before the server starts."""
    while True:
        port = 10_000 + secrets.randbelow(20_000)
        with socket.socket() as s, suppress(OSError):
            s.bind(("127.0.0.1", port))
            return port


# One of three may drop out; by default none may.
TWO_OF_THREE = "[protocol]\nthreshold = 2"
# Nobody is asked before the model is published, but how well it does afterwards.
NO_BALLOT = "[learning]\nballot = false"
# Studies of moments: in two sums, or, with sites that align themselves, in four; sites call their
# classes what they like, or by the names in the data.
ALIGNED = '[learning]\nsummary = "moments"\nfeatures = 24'
MOMENTS = f"{ALIGNED}\nalign = 0"
AGREED = (
    '[classes]\nnames = ["lineage-1", "lineage-2", "lineage-3", "lineage-4", "lineage-5", "stem"]'
)


def lab_names(n: int) -> list[str]:
    """lab-a to lab-z, then lab-aa, lab-ab, …"""
    one = list(ascii_lowercase)
    return [f"lab-{letters}" for letters in (one + [a + b for a in one for b in one])[:n]]


def draft(names, extra="") -> str:
    extra = extra or (TWO_OF_THREE if len(names) == 3 else "")
    lines = [
        'name = "A test"',
        "[geometry]\nepsilon = 0.1\nradius = 0.98",
        "[labels]\nclasses = 6",
        extra,
        "[clients]",
        *(f'{name} = ""' for name in names),
    ]
    return "\n".join(lines) + "\n"


def make_data(folder: Path, names) -> dict[str, Path]:
    """A data file for each site: cells of one tree, each site with a batch effect of its own."""
    data = make_tree(400 * len(names), batches=len(names), seed=1)
    files = {name: folder / f"{name}.npz" for name in names}
    for i, file in enumerate(files.values()):
        np.savez(file, x=data.x[data.batch == i], y=data.y[data.batch == i])
    return files


class Federation:
    """Kits and data for n sites in a folder, and the processes that were started from them."""

    def __init__(
        self,
        folder: Path,
        n: int = 3,
        extra: str = "",
        engine: str = "nvflare",
        host: str = "localhost",
        inside=lambda name: [],
    ):
        self.inside = inside  # what a participant's command is wrapped in
        self.folder = folder
        self.names = lab_names(n)
        self.port = free_port()
        self.processes: list[subprocess.Popen] = []
        options = self.prepare(extra)
        made = fedhull(
            "provision", folder / "study.toml", "--out", self.kits,
            "--port", self.port, "--engine", engine, "--server", host, *options,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr

    def prepare(self, extra) -> list[str]:
        """Write the draft and the data; what else `provision` is to be told."""
        (self.folder / "study.toml").write_text(draft(self.names, extra))
        make_data(self.folder, self.names)
        return []

    @property
    def _variables(self) -> dict[str, str]:
        """A ledger of uploads for this federation alone; and killed sites are noticed sooner than
        elsewhere."""
        return {"XDG_STATE_HOME": str(self.folder / "state"), TIMEOUT_VARIABLE: "9"}

    @property
    def kits(self) -> Path:
        return self.folder / "kits"

    def data(self, name) -> Path:
        return self.folder / f"{name}.npz"

    def command(self, *words, code=0) -> subprocess.CompletedProcess:
        done = subprocess.run(
            [FEDHULL, *words],
            env=os.environ | self._variables,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == code, done.stderr
        return done

    # --timeout and --wait are far above what a step takes even on a busy machine: a killed site is
    # noticed by its lost connection, only one that hangs costs the whole timeout
    def server(self, *options, sabotage="", timeout=90, wait=180, kit="server"):
        words = ["server", str(self.kits / kit), "--timeout", str(timeout), "--wait", str(wait)]
        return self._start([*words, *options], sabotage, inside=self.inside("server"))

    def client(self, name, *options, sabotage="", secret="", wait=180, kit=None):
        words = ["client", str(kit or self.kits / name), "--data", str(self.data(name)), "--yes"]
        words += ["--wait", str(wait), *options]
        return self._start(words, sabotage, secret, self.inside(name))

    def fetch(self, name, *options, wait=300):
        words = ["client", str(self.kits / name), "--fetch", "--wait", str(wait), *options]
        return self._start(words, "", inside=self.inside(name))

    def flare(self, name):
        """FLARE's own start script, as its administrators use it."""
        kit = self.kits / name
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        return subprocess.Popen(
            ["bash", str(kit / "startup" / "sub_start.sh"), "--once"],
            env=os.environ | self._variables | {"PATH": path},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _start(self, words, sabotage, secret="", inside=()):
        env = os.environ | self._variables
        env |= {"FEDHULL_SABOTAGE": sabotage, "FEDHULL_SABOTAGE_SECRET": secret}
        if sabotage:
            env["PYTHONPATH"] = os.pathsep.join(map(str, (SABOTAGE, TESTS)))
        process = subprocess.Popen(
            [*inside, FEDHULL, *words],
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.processes.append(process)
        return process

    def end(self):
        for process in self.processes:
            process.kill()
            process.communicate()

    def results(self, name) -> Path:
        (found,) = (self.kits / name / "results").iterdir()
        return found

    def in_memory(self, vanish=None):
        """The same study, keys and data, in the memory engine."""
        return in_memory(self.kits, {name: self.data(name) for name in self.names}, vanish)


def ended(process) -> tuple[int, str, str]:
    """Exit code, output and messages of a process that ends by itself."""
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err
