"""Network namespaces on one bridge: every participant has an address, and a counter, of its own."""

import os
import shutil
import subprocess
from contextlib import contextmanager

NET = "10.213.77"
BRIDGE = f"fh{os.getpid() % 10_000}"


def reason_to_skip() -> str:
    """Why there can be no namespaces here; empty if there can."""
    if shutil.which("ip") is None:
        return "there is no 'ip' command"
    made = _ip("netns", "add", f"{BRIDGE}-try")
    _ip("netns", "del", f"{BRIDGE}-try")
    return "" if made.returncode == 0 else f"'ip netns' is not allowed here: {made.stderr.strip()}"


@contextmanager
def namespaces(names):
    """{participant: its address}, while the block runs."""
    addresses = {name: f"{NET}.{i}" for i, name in enumerate(names, 10)}
    _ip("link", "add", BRIDGE, "type", "bridge")
    _ip("link", "set", BRIDGE, "up")
    try:
        for name, address in addresses.items():
            space, link = f"{BRIDGE}-{name}", f"{BRIDGE}{address.rsplit('.', 1)[1]}"
            _ip("netns", "add", space)
            _ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
            _ip("link", "set", link, "master", BRIDGE, "up")
            _ip("-n", space, "address", "add", f"{address}/24", "dev", "eth0")
            _ip("-n", space, "link", "set", "eth0", "up")
            _ip("-n", space, "link", "set", "lo", "up")
        yield addresses
    finally:
        for name in names:
            _ip("netns", "del", f"{BRIDGE}-{name}")
        _ip("link", "del", BRIDGE)


def inside(name) -> list[str]:
    """What a participant's command is wrapped in."""
    return ["ip", "netns", "exec", f"{BRIDGE}-{name}"]


def bytes_on_the_wire(name) -> tuple[int, int]:
    """(received, sent) by a participant since its namespace was made."""
    folder = "/sys/class/net/eth0/statistics"
    done = subprocess.run(
        [*inside(name), "cat", f"{folder}/rx_bytes", f"{folder}/tx_bytes"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    received, sent = map(int, done.stdout.split())
    return received, sent


def _ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True)
