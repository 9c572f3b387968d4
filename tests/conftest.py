import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# In the background of a shell without job control Ctrl-C is ignored, also by what tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# There is a test worker for each core: more threads would only wait for each other. NumPy and Numba
# read this when they are imported, which nothing has done yet.
for library in ("NUMBA", "OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# JAX compiles a training anew for every test: what it compiled in an earlier run is kept beside
# pytest's own cache.
_COMPILED = Path(__file__).parents[1] / ".pytest_cache" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_COMPILED))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")

# Uploads of tests stand in no ledger of the person who runs them, whatever a test starts.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="fedhull-tests-")

# Kernels compile on their first call, so no deadline; the same examples on every run. A quarter of
# them sweeps every law within minutes; .ci/run asks for all with --hypothesis-profile=ci.
for profile, number in (("fedhull", 25), ("ci", 100)):
    settings.register_profile(
        profile,
        max_examples=number,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("fedhull")


@pytest.fixture(autouse=True)
def state_home(tmp_path_factory, monkeypatch):
    """Where the ledger lies: every test has its own, for many use the same data."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture
def data_dir():
    """The folder of published data sets."""
    if "FEDHULL_DATA_DIR" not in os.environ:
        pytest.skip("FEDHULL_DATA_DIR does not name a folder with the published data sets")
    return Path(os.environ["FEDHULL_DATA_DIR"])
