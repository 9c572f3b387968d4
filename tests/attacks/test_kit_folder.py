"""People start `fedhull` in a kit, as its README says. Numba, which compiles our kernels, looks
there for its settings. These may name a folder of compiled functions: pickles, and loading a pickle
runs code."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from commands import fedhull, process
from federations import draft, make_data

NAMES = ["lab-a", "lab-b", "lab-c"]
KERNELS = "from fedhull.cli.console import prepare_kernels; prepare_kernels(quiet=True)"


class Evil:
    def __init__(self, marker: Path):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


@pytest.mark.slow
def test_no_compiled_function_of_a_kit_is_loaded(tmp_path):
    pytest.importorskip("yaml", reason="Numba reads its settings with it")
    (tmp_path / "study.toml").write_text(draft(NAMES))
    made = fedhull(
        "provision", tmp_path / "study.toml", "--out", tmp_path / "kits", "--engine", "files"
    )
    assert made.returncode == 0, made.stderr
    data = make_data(tmp_path, NAMES)["lab-a"]
    kit, cache, marker = tmp_path / "kits" / "lab-a", tmp_path / "cache", tmp_path / "marker"
    # what the attacker knows: our kernels, and where Numba would look for them
    env = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    subprocess.run([sys.executable, "-c", KERNELS], env=env, check=True)
    indices = list(cache.rglob("*.nbi"))
    assert indices
    for index in indices:
        index.write_bytes(pickle.dumps(Evil(marker)))
    (kit / ".numba_config.yaml").write_text(f"cache_dir: {cache}\n")
    done = process("client", ".", "--engine", "files", "--data", data, "--yes", cwd=kit)
    assert done.returncode == 2
    assert ".numba_config.yaml is not part of a kit" in " ".join(done.stderr.split())
    assert not marker.exists()
    # the attack is real: without the look at the kit it runs
    subprocess.run([sys.executable, "-c", KERNELS], cwd=kit)
    assert marker.exists()
