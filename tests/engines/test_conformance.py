"""One suite, four engines: memory, files, Flower on an in-process grid, NVIDIA FLARE for real."""

import json
from contextlib import suppress

import pytest
from conformance import OBSERVATIONS, check, observe
from federations import Federation, draft, ended, make_data

from fedhull.engines.files import FilesEngine, Steps, answer_files
from fedhull.engines.memory import MemoryEngine
from fedhull.errors import FedhullError, StillWaiting
from fedhull.federation.consent import ask_for, load_holdings
from fedhull.federation.kit import Kit
from fedhull.federation.provision import make_kits
from fedhull.federation.site import Site

NAMES = ["lab-a", "lab-b", "lab-c", "lab-d"]


@pytest.fixture
def parties(tmp_path):
    """(folder of kits, {site: data file}), every site's consent given."""
    make_kits(draft(NAMES), tmp_path / "kits")
    data = make_data(tmp_path, NAMES)
    for name in NAMES:
        kit = Kit.open(tmp_path / "kits" / name)
        holdings = load_holdings(kit.study, str(data[name]), "label")
        ask_for(kit.study, holdings, str(data[name]), "label").give(kit)
    return tmp_path / "kits", data


def test_memory(parties):
    kits, data = parties
    opened = [Kit.open(kits / name) for name in NAMES]
    held = {k.name: load_holdings(k.study, str(data[k.name]), "label") for k in opened}
    sites = [Site(k.study, k.name, k.identity, held[k.name]) for k in opened]
    check(observe(Kit.open(kits / "server"), lambda session: MemoryEngine(sites), 1.0), kits, data)


class Carried:
    """The files engine with a diligent messenger: after each request every site is called once, and
    whoever has not replied then is left out."""

    def __init__(self, mail, kits, session):
        self.mail, self.kits = mail, kits
        self.session = session

    def step(self, kind, messages, timeout):
        with suppress(StillWaiting):
            return FilesEngine(self.mail, self.session, Steps(b"")).step(kind, messages)
        for name in NAMES:
            with suppress(FedhullError):
                answer_files(Kit.open(self.kits / name), self.mail, lambda sentence: None)
        try:
            return FilesEngine(self.mail, self.session, Steps(b""), go_on=True).step(kind, messages)
        except StillWaiting:  # too few to go on with
            return {}, dict.fromkeys(messages, "vanished")


def test_files(parties, tmp_path):
    kits, data = parties
    seen = observe(Kit.open(kits / "server"), lambda s: Carried(tmp_path / "mail", kits, s), 1.0)
    check(seen, kits, data, names_errors=False)


def test_flower_on_an_in_process_grid(parties):
    pytest.importorskip("flwr", reason="the flower extra is not installed")
    from grid import InProcessGrid

    from fedhull.engines.flower.engine import FlowerEngine, find_sites

    kits, data = parties
    server = Kit.open(kits / "server")
    grid = InProcessGrid([kits / name for name in NAMES])
    nodes = find_sites(grid, server.study, 5.0, lambda names: None)
    assert sorted(nodes) == NAMES
    check(observe(server, lambda session: FlowerEngine(grid, nodes), 5.0), kits, data)


@pytest.mark.slow
@pytest.mark.processes
def test_nvidia_flare(tmp_path):
    federation = Federation(tmp_path, 4)
    try:
        server = federation.server(sabotage="scenarios")
        for name in federation.names:
            federation.client(name)
        ended(server)
        seen = json.loads((federation.results("server") / OBSERVATIONS).read_text())
        check(seen, federation.kits, {name: federation.data(name) for name in federation.names})
    finally:
        federation.end()
