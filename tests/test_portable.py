"""What needs no locks, processes or users runs where there are none of these, as on Windows."""

import subprocess
import sys

import numpy as np

# Modules of Unix: whoever imports one of these fails.
UNIX = ["fcntl", "resource", "pwd", "grp", "termios"]
WITHOUT_UNIX = f"""
import sys
for name in {UNIX}:
    sys.modules[name] = None
"""
SIMULATION = """
import fedhull
data = fedhull.make_tree(400, lineages=3, seed=0)
result = fedhull.simulate(data.x, data.y, clients=3, epsilon=0.1, drop="1@upload")
assert result.to_json()["decoded_exactly"]
print(result.accuracy["FL"]["mean"])
"""
COMMANDS = """
from typer.testing import CliRunner
from fedhull.cli.app import app
for words in (
    ["simulate", "--dataset", "tree", "--clients", "3", "--epsilon", "0.1", "--out", "run"],
    ["plan", "--clients", "3", "--classes", "4", "--json"],
    ["report", "run"],
    ["embed", "edges.csv", "--method", "tree", "--out", "points.csv"],
    ["predict", "run/model.json", "points.npz"],
):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, (words, done.output, done.exception)
"""


def run(code: str, folder) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_UNIX + code], capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_simulate_plan_report_embed_and_predict_need_no_module_of_unix(tmp_path):
    (tmp_path / "edges.csv").write_text("child,parent\nb,a\nc,a\nd,b\n")
    np.savez(tmp_path / "points.npz", x=np.array([[0.1, 0.2], [0.3, 0.0]]), y=np.array([0, 1]))
    # the function and the commands in one process, which takes seconds to import everything
    assert float(run(SIMULATION + COMMANDS, tmp_path)) > 80.0
