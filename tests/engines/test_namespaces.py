"""A study across network namespaces: every participant has an address of its own."""

import json
import os
import re
import shutil
import subprocess

import pytest
from federations import Federation, ended

NET = "10.213.77"
BRIDGE = f"fh{os.getpid() % 10_000}"


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True)


def reason_to_skip() -> str:
    if shutil.which("ip") is None:
        return "there is no 'ip' command"
    made = ip("netns", "add", f"{BRIDGE}-try")
    ip("netns", "del", f"{BRIDGE}-try")
    return "" if made.returncode == 0 else f"'ip netns' is not allowed here: {made.stderr.strip()}"


@pytest.fixture
def namespaces():
    """{participant: its address}, each in a namespace of its own on one bridge."""
    if reason := reason_to_skip():
        pytest.skip(reason)
    names = ["server", "lab-a", "lab-b", "lab-c"]
    addresses = {name: f"{NET}.{i}" for i, name in enumerate(names, 10)}
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("link", "set", BRIDGE, "up")
    for name, address in addresses.items():
        space, link = f"{BRIDGE}-{name}", f"{BRIDGE}{address.rsplit('.', 1)[1]}"
        ip("netns", "add", space)
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
        ip("link", "set", link, "master", BRIDGE, "up")
        ip("-n", space, "address", "add", f"{address}/24", "dev", "eth0")
        ip("-n", space, "link", "set", "eth0", "up")
        ip("-n", space, "link", "set", "lo", "up")
    yield addresses
    for name in names:
        ip("netns", "del", f"{BRIDGE}-{name}")
    ip("link", "del", BRIDGE)


@pytest.mark.slow
@pytest.mark.xdist_group("flare")
def test_a_study_between_addresses(namespaces, tmp_path):
    federation = Federation(
        tmp_path,
        host=namespaces["server"],
        inside=lambda name: ["ip", "netns", "exec", f"{BRIDGE}-{name}"],
    )
    try:
        server = federation.server("--json")
        clients = [federation.client(name) for name in federation.names]
        code, out, err = ended(server)
        assert code == 0, err
        assert json.loads(out)["survivors"] == federation.names
        assert [ended(client)[0] for client in clients] == [0, 0, 0]
    finally:
        federation.end()
    log = (federation.kits / "server" / "flare.log").read_text()
    for name in federation.names:
        assert re.search(rf"<= {re.escape(namespaces[name])}:\d+ SSL {name}\]", log)
