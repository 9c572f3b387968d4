"""Whoever reaches the port of a study on Flower: a stranger with the `ca.pem` that every kit holds,
a lying coordinator. Neither makes a site or the server run code of theirs."""

import asyncio
import hashlib
import io
import os
import signal
import subprocess
import sys
import warnings
import zipfile
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import pytest
from commands import fedhull
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_ssh_private_key,
)
from federations import PATIENCE, Federation, draft, ended

pytest.importorskip("flwr", reason="the flower extra is not installed")
psutil = pytest.importorskip("psutil")

import requests  # noqa: E402
from flwr.proto.runtime_pb2 import AcquireTaskRequest  # noqa: E402
from flwr.supercore.protobuf.constants import PROTOBUF_MEDIA_TYPE  # noqa: E402

from fedhull.engines.flower import app  # noqa: E402
from fedhull.engines.flower.launch import Gate  # noqa: E402
from fedhull.engines.following import answers  # noqa: E402
from fedhull.kits.consent import CONSENT  # noqa: E402

EVIL = """
from pathlib import Path
Path({marker!r}).write_text("I was here")
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.app import ConfigRecord, Message, RecordDict
app = ClientApp()
server = ServerApp()
@app.query("hello")
def hello(message, context): return Message(RecordDict(), reply_to=message)
@server.main()
def main(grid, context):
    import time
    while not (nodes := list(grid.get_node_ids())): time.sleep(0.5)
    grid.push_messages([Message(content=RecordDict(), dst_node_id=node, message_type="query.hello")
                        for node in nodes])
    time.sleep(60)
"""


def wait_for(condition):
    deadline = monotonic() + PATIENCE
    while not condition():
        assert monotonic() < deadline
        sleep(0.2)


class Stranger:
    """Flower's own commands, an app with code in it, and what every kit holds."""

    def __init__(self, folder: Path, port: int, ca: Path):
        self.folder, self.port, self.ca = folder, port, ca
        self.marker = folder / "marker"
        (folder / "evil").mkdir(parents=True)
        project = app.PYPROJECT.replace("fedhull.engines.flower.apps:client", "evil.evil:app")
        project = project.replace("fedhull.engines.flower.apps:server", "evil.evil:server")
        (folder / "pyproject.toml").write_text(project)
        (folder / "evil" / "__init__.py").write_text("")
        (folder / "evil" / "evil.py").write_text(EVIL.format(marker=str(self.marker)))
        connection = f'[superlink]\ndefault = "it"\n[superlink.it]\naddress = "localhost:{port}"\n'
        (folder / "config.toml").write_text(f'{connection}root-certificates = "{ca}"\n')

    @property
    def env(self):
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        quiet = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
        return os.environ | quiet | {"FLWR_HOME": str(self.folder), "PATH": path}

    def flwr(self, *words) -> str:
        """What Flower's command line says."""
        words = [Path(sys.executable).with_name("flwr"), *words, "it", "--format", "json"]
        done = subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=PATIENCE)
        return done.stdout + done.stderr

    def submit(self) -> str:
        """What becomes of the stranger's app."""
        return self.flwr("run", str(self.folder))

    @contextmanager
    def process(self, *words):
        log = self.folder / f"{words[0]}.log"
        with log.open("wb") as file:
            started = subprocess.Popen(
                [Path(sys.executable).with_name(words[0]), *words[1:]],
                env=self.env, stdout=file, stderr=file,
            )  # fmt: skip
        try:
            yield started, log
        finally:
            for each in family(started):
                each.kill()
            started.kill()
            started.wait()

    def register(self) -> str:
        """What a SuperNode of the stranger's says before it ends."""
        words = ["--superlink", f"localhost:{self.port}", "--root-certificates", str(self.ca)]
        words += ["--port", str(self.port + 1), "--max-retries", "1"]
        with self.process("flower-supernode", *words) as (process, log):
            process.wait(PATIENCE)
            return log.read_text()


def family(process):
    """What a process has started."""
    if process.poll() is not None:
        return []
    return psutil.Process(process.pid).children(recursive=True)


def gone(processes) -> bool:
    return not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)


@pytest.mark.slow
@pytest.mark.flower
def test_a_stranger_starts_no_run_and_no_node_and_stopped_sites_leave_nothing_running(tmp_path):
    study = Federation(tmp_path, 3, engine="flower")
    stranger = Stranger(tmp_path / "stranger", study.port, study.kits / "lab-c" / "ca.pem")
    try:
        # it must not give up waiting for the third site before the stranger has tried everything
        server = study.server("--engine", "flower", wait=3600)
        clients = [study.client(name, "--engine", "flower") for name in ("lab-a", "lab-b")]
        log = study.kits / "server" / "logs" / "flower.log"
        wait_for(lambda: log.exists() and log.read_text().count("Activated node_id") == 2)

        assert "Successfully started" not in (told := stranger.submit()), told
        assert "403" in told
        assert "SuperNode ID" not in (told := stranger.register()), told
        assert log.read_text().count("Activated node_id") == 2
        # nor does another user of the server's machine get the next message in an app's place
        told = requests.post(
            f"https://localhost:{study.port}/v1/runtime/acquire-task",
            data=AcquireTaskRequest(supported_task_types=["clientapp"]).SerializeToString(),
            headers={"Content-Type": PROTOBUF_MEDIA_TYPE},
            verify=str(stranger.ca),
            timeout=PATIENCE,
        )
        assert told.status_code == 401, told.content
        assert not stranger.marker.exists()

        # Ctrl-C, and a death that nothing can be done about: either way no SuperNode stays behind
        for client, ending in zip(clients, (signal.SIGINT, signal.SIGKILL), strict=True):
            children = family(client)
            assert len(children) >= 2
            client.send_signal(ending)
            client.wait(PATIENCE)
            wait_for(lambda children=children: gone(children))
        assert not (study.kits / "lab-a" / CONSENT).exists()

        children = family(server)
        server.kill()
        server.wait(PATIENCE)
        wait_for(lambda: gone(children))
    finally:
        study.end()


@pytest.mark.slow
@pytest.mark.flower
def test_a_site_runs_no_app_of_a_lying_coordinator(tmp_path):
    study = Federation(tmp_path, 3, engine="flower")
    kit = study.kits / "server"
    liar = Stranger(tmp_path / "liar", study.port, kit / "ca.pem")
    words = [
        "--port", str(study.port), "--ssl-ca-certfile", str(kit / "ca.pem"),
        "--ssl-certfile", str(kit / "server.crt"), "--ssl-keyfile", str(kit / "server.key"),
        "--disable-runtime-dependency-installation", "--enable-supernode-auth",
    ]  # fmt: skip
    key = load_ssh_private_key((study.kits / "lab-a" / "node.key").read_bytes(), None).public_key()
    public = liar.folder / "lab-a.pub"
    public.write_bytes(key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH))
    try:
        with liar.process("flower-superlink", *words):
            wait_for(lambda: answers("127.0.0.1", study.port))
            assert "node-id" in liar.flwr("supernode", "register", str(public))
            assert "run-id" in liar.submit()
            wait_for(liar.marker.exists)  # so that it would have been written by a site, too
            liar.marker.unlink()
            code, _, err = ended(study.client("lab-a", "--engine", "flower"))
            assert code == 4
            assert "an app that is not the study's; nothing of it was run" in err
            assert not liar.marker.exists()
    finally:
        study.end()


def packed(*files) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is there twice
        for name, content in files:
            archive.writestr(name, content)
    return out.getvalue()


def accepted(content, app_id="fedhull/fedhull-study", version="1.0.0", sha256=None) -> bool:
    return app.is_ours(app_id, version, sha256 or hashlib.sha256(content).hexdigest(), content)


PROJECT, MANIFEST = ("pyproject.toml", app.PYPROJECT), (".info/CONTENT", "")
OTHER = ("pyproject.toml", app.PYPROJECT.replace("fedhull.engines.flower.apps", "evil"))


@pytest.mark.filterwarnings("ignore:GitWildMatch")  # Flower's own, with a newer pathspec
def test_a_site_takes_the_studys_app():
    assert accepted(app.build())
    assert accepted(packed(PROJECT, MANIFEST))


@pytest.mark.parametrize(
    "content",
    {
        "another class": packed(OTHER, MANIFEST),
        "a second project": packed(PROJECT, MANIFEST, OTHER),
        "a module": packed(PROJECT, MANIFEST, ("evil.py", "")),
        "a package of our name": packed(PROJECT, MANIFEST, ("fedhull/__init__.py", "")),
        "a file outside": packed(PROJECT, MANIFEST, ("../evil.py", "")),
        "a bomb": packed(("pyproject.toml", "#" * 10_000_000), MANIFEST),
        "cut off": packed(PROJECT, MANIFEST)[:-9],
        "nothing": b"",
    }.items(),
    ids=lambda item: item[0],
)
def test_a_site_takes_no_other_app(content):
    assert not accepted(content[1])


def test_a_site_takes_no_app_under_another_name():
    ours = packed(PROJECT, MANIFEST)
    assert accepted(ours)
    assert not accepted(ours, app_id="fedhull/../../evil")
    assert not accepted(ours, version="1.0.1")
    assert not accepted(ours, sha256="0" * 64)


def status_of(path, client) -> int:
    """What the gate says to a request; 200 if it lets it through."""
    sent = []

    async def link(scope, receive, send):
        sent.append({"status": 200})

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "path": path, "client": client}
    asyncio.run(Gate(link)(scope, None, send))
    return sent[0]["status"]


@pytest.mark.parametrize("client", [("127.0.0.1", 9), ("10.0.0.7", 9), ("::1", 9), None])
@pytest.mark.parametrize(
    "path", ["/v1/control/start-run", "/v1/control/register-node", "/docs", "/openapi.json", "/"]
)
def test_nobody_starts_runs_or_registers_nodes_through_the_port(path, client):
    assert status_of(path, client) == 403


def test_only_this_machine_reaches_the_servers_own_parts():
    assert status_of("/v1/runtime/acquire-task", ("10.0.0.7", 9)) == 403
    assert status_of("/v1/runtime/acquire-task", None) == 403
    assert status_of("/v1/runtime/acquire-task", ("127.0.0.1", 9)) == 200
    assert status_of("/v1/fleet/activate-node", ("10.0.0.7", 9)) == 200


def test_the_server_listens_on_its_own_machine_unless_told_otherwise(tmp_path):
    (tmp_path / "study.toml").write_text(draft(["lab-a", "lab-b", "lab-c"]))
    made = fedhull(
        "provision", tmp_path / "study.toml", "--out", tmp_path / "kits", "--engine", "flower",
        "--server", "fl.example.org",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    refused = fedhull("server", tmp_path / "kits" / "server", "--engine", "flower")
    assert refused.returncode == 2
    assert "listens on this machine only; --all-interfaces" in " ".join(refused.stderr.split())
