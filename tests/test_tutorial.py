"""The tutorials, as they are written."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fedhull import load_embedder

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_all_blocks(page: str, folder: Path) -> None:
    """Run every block of a page, in an empty folder."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    # a ledger of uploads for this tutorial alone
    own = {"XDG_CACHE_HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
    env = os.environ | own | {"PATH": path, "MPLBACKEND": "agg"}
    blocks = BLOCK.findall((DOCS / page).read_text())
    assert len(blocks) > 5
    for kind, block in blocks:
        # fedhull is what is tested here: it is installed already
        text = re.sub(r"^pip install .*\n", "", block, flags=re.MULTILINE)
        command = [sys.executable, "-c", text] if kind == "python" else ["bash", "-ec", text]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{text}\n{done.stderr}"


@pytest.mark.slow
def test_every_block_of_the_first_tutorial_runs_as_it_stands(tmp_path):
    pytest.importorskip("scanpy", reason="the tutorial's cells come with scanpy")
    run_all_blocks("tutorial-single-cell.md", tmp_path)
    assert (tmp_path / "study" / "report.html").stat().st_size < 3_000_000
    assert "<svg" in (tmp_path / "disc.svg").read_text()


@pytest.mark.slow
@pytest.mark.processes
def test_three_sites_with_counts_get_one_encoder_and_one_model_and_pool_no_cell(tmp_path):
    run_all_blocks("tutorial-three-sites.md", tmp_path)
    participants = ("server", "north", "south", "west")

    def result(kits, who):
        (folder,) = (tmp_path / kits / who / "results").iterdir()
        return folder, json.loads((folder / "result.json").read_text())

    hashes = {result("encoder-kits", who)[1]["encoder"] for who in participants}
    assert hashes == {load_embedder(tmp_path / "encoder.npz").hash}
    _, outcome = result("kits", "server")
    assert outcome["survivors"] == ["north", "south", "west"]
    assert outcome["accuracy"] > 90
    west = result("kits", "west")[1]
    assert set(west["classes"].values()) == {f"type {i}" for i in range(1, 6)}
    # no file of one participant has the cells of another
    for who in participants:
        assert not list((tmp_path / "kits" / who).rglob("*.h5ad"))
