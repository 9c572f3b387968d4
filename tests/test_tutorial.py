"""The tutorial, as it is written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "tutorial-single-cell.md"
BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_every_block_of_the_tutorial_runs_as_it_stands(tmp_path):
    pytest.importorskip("scanpy", reason="the tutorial's cells come with scanpy")
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    env = os.environ | {"PATH": path, "MPLBACKEND": "agg", "XDG_CACHE_HOME": str(tmp_path)}
    blocks = BLOCK.findall(PAGE.read_text())
    assert len(blocks) > 6
    for kind, block in blocks:
        # fedhull is what is tested here: it is installed already
        text = re.sub(r"^pip install .*\n", "", block, flags=re.MULTILINE)
        command = [sys.executable, "-c", text] if kind == "python" else ["bash", "-ec", text]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{text}\n{done.stderr}"
    assert (tmp_path / "study" / "report.html").stat().st_size < 3_000_000
    assert "<svg" in (tmp_path / "disc.svg").read_text()
