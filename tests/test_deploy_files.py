"""The service and container files: systemd takes them, and what they call is there."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from commands import FEDHULL, fedhull

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
SERVICES = ["fedhull-server.service", "fedhull-site.service"]

pytestmark = pytest.mark.skipif(not DEPLOY.is_dir(), reason="not in a checkout")


def unit(name):
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read(DEPLOY / name)
    return parser


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("name", SERVICES)
def test_systemd_finds_nothing_wrong_with_a_unit(name, tmp_path):
    text = (DEPLOY / name).read_text().replace("/opt/fedhull/bin/fedhull", FEDHULL)
    (tmp_path / name).write_text(text)
    words = ["systemd-analyze", "verify", str(tmp_path / name)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "command"), [("fedhull-server.service", "server"), ("fedhull-site.service", "client")]
)
def test_a_unit_starts_a_command_with_options_that_it_has(name, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    program, *words = shlex.split(unit(name)["Service"]["ExecStart"])
    assert Path(program).name == "fedhull"
    assert words[0] == command
    options = {word for word in words if word.startswith("--")}
    known = fedhull(command, "--help").stdout
    assert options
    assert all(re.search(rf"{option}\b", known) for option in options)


@pytest.mark.parametrize("name", SERVICES)
def test_a_unit_runs_as_nobody_special_and_writes_where_it_says(name):
    service = unit(name)["Service"]
    assert service["User"] == "fedhull"
    assert service["NoNewPrivileges"] == service["PrivateTmp"] == service["ProtectHome"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""
    written = service["ReadWritePaths"].split()
    settings = dict(word.split("=", 1) for word in service["Environment"].split())
    for place in ("HOME", "NUMBA_CACHE_DIR", "XDG_STATE_HOME"):
        if place in settings:
            assert any(Path(settings[place]).is_relative_to(folder) for folder in written)
    (kit,) = (word for word in service["ExecStart"].split() if word.endswith("/kit"))
    assert any(Path(kit).is_relative_to(folder) for folder in written)


def test_no_unit_starts_a_session_by_itself():
    for name in SERVICES:
        assert unit(name)["Service"]["Restart"] == "no"
    assert not unit("fedhull-site.service").has_section("Install")


def instructions():
    """{instruction: [what follows]} of the container file."""
    text = re.sub(r"\\\n", " ", (DEPLOY / "Containerfile").read_text())
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            found.setdefault(word, []).append(rest)
    return found


def test_the_container_installs_extras_that_are_there_and_copies_what_the_build_needs():
    found = instructions()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extras,) = re.findall(r"pip install [^']*'/src\[([\w,]+)\]'", " ".join(found["RUN"]))
    assert set(extras.split(",")) <= project["optional-dependencies"].keys()
    copied = [name for line in found["COPY"] for name in line.split()[:-1]]
    assert all((ROOT / name).exists() for name in copied)
    assert {"pyproject.toml", "src", project["readme"], *project["license-files"]} <= set(copied)


def test_the_container_runs_fedhull_and_not_as_root():
    found = instructions()
    assert json.loads(found["ENTRYPOINT"][0])[0] in project_scripts()
    assert fedhull(*json.loads(found["CMD"][0])).returncode == 0
    assert found["USER"] == ["10001:10001"]


def project_scripts():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
