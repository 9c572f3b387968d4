"""A study on NVIDIA FLARE against the number of sites, each in a network namespace of its own.

    python benchmarks/flare_scale.py 3 10 20

Needs root (ip netns) and the dev extra. Prints, for each number of sites, the seconds of every
step, the largest memory of each kind of process and that of all together, and the bytes that left a
site's network interface beside the bytes of the protocol's messages.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

import psutil

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from federations import Federation, lab_names
from networks import bytes_on_the_wire, inside, namespaces

ROLES = {
    "server_train": "server", "runner_process": "server job", "client_train": "site",
    "worker_process": "site job", "fedhull": "fedhull command",
}  # fmt: skip


def role_of(process) -> str | None:
    words = " ".join(process.cmdline())
    if "engines.nvflare.launch" in words:
        return "server" if " server " in words else "site"
    return next((role for key, role in ROLES.items() if key in words), None)


def measure(n: int) -> dict:
    names = ["server", *lab_names(n)]
    peak: dict[str, float] = {}
    idle, all_of_them = psutil.virtual_memory().used, 0
    with (
        TemporaryDirectory() as folder,
        namespaces(names) as addresses,
        ThreadPoolExecutor(1) as reader,
    ):
        federation = Federation(Path(folder), n, host=addresses["server"], inside=inside)
        begin = perf_counter()
        try:
            server = federation.server("--json", timeout=120, wait=300)
            clients = [federation.client(name, wait=300) for name in federation.names]
            # somebody must read: a pipe holds less than the result of many sites
            output = reader.submit(server.communicate)
            while not output.done():
                for process in psutil.process_iter():
                    try:
                        if role := role_of(process):
                            used = process.memory_info().rss / 1e6
                            peak[role] = max(peak.get(role, 0.0), used)
                    except psutil.Error:
                        continue
                # what they share counts once
                all_of_them = max(all_of_them, psutil.virtual_memory().used - idle)
                sleep(1.0)
            result = json.loads(output.result()[0])
            for client in clients:
                client.communicate()
        finally:
            federation.end()
        wire = [bytes_on_the_wire(name) for name in federation.names]
        in_memory = federation.in_memory()
        assert in_memory.record.bytes_up == result["bytes_up"]
        return {
            "sites": n,
            "seconds": {k: round(v, 2) for k, v in result["seconds"].items()},
            "whole_run": round(perf_counter() - begin, 1),
            "memory_mb": {role: round(mb) for role, mb in sorted(peak.items())},
            "memory_of_all_mb": round(all_of_them / 1e6),
            "bytes_up_protocol": max(result["bytes_up"].values()),
            "bytes_up_wire": max(sent for _, sent in wire),
            "bytes_down_protocol": max(result["bytes_down"].values()),
            "bytes_down_wire": max(received for received, _ in wire),
        }


if __name__ == "__main__":
    for n in map(int, sys.argv[1:]):
        sys.stdout.write(json.dumps(measure(n)) + "\n")
        sys.stdout.flush()
