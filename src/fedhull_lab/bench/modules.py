"""Modules of fedhull that a whole study executes: a measure of what one has to read."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from fedhull import make_tree

SITES = 3
_POINTS = 1_500
_LEFT_OUT = {"cli", "extend"}
# Runs in a process of its own, which has imported nothing else.
_STUDY = """
import json, sys
import numpy as np
from fedhull import task_of
from fedhull.extend import draft_study, rehearse

with np.load(sys.argv[1], allow_pickle=False) as file:
    x, y, owner, radius = (file[name] for name in ("x", "y", "owner", "radius"))
study = draft_study(
    owner.max() + 1, len(np.unique(y)), summary="moments", epsilon=0.1, radius=float(radius)
)
task = task_of(study)
outcome = rehearse(study, {
    name: task.prepare(x[owner == i], y[owner == i]) for i, name in enumerate(study.clients)
}).outcome
assert "propose" in outcome.record.seconds, "the sites were asked to judge nothing"
print(json.dumps(sorted(name for name in sys.modules if name.startswith("fedhull."))))
"""


def modules_executed() -> list[str]:
    """The modules that both sides of a study of moments execute, in memory, with default settings:
    classes are matched, sites align themselves and judge candidates. The command line and the
    namespace through which the study is started do not count."""
    tree = make_tree(_POINTS, lineages=2, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "tree.npz"
        owner = np.arange(len(tree.y)) % SITES
        radius = float(np.hypot(*tree.x.T).max()) * (1 + 1e-9)
        np.savez(data, x=tree.x, y=tree.y, owner=owner, radius=radius)
        done = subprocess.run(
            [sys.executable, "-c", _STUDY, str(data)], stdout=subprocess.PIPE, text=True, check=True
        )
    found: list[str] = json.loads(done.stdout)
    return [name for name in found if name.split(".")[1] not in _LEFT_OUT]
