"""One suite, four engines: memory, files, Flower on an in-process grid, NVIDIA FLARE for real."""

import json
from contextlib import suppress

import pytest
from conformance import OBSERVATIONS, agree, check, observe, sites_in_memory
from federations import AGREED, ALIGNED, MOMENTS, Federation, draft, ended, make_data

from fedhull.engines.base import Options
from fedhull.engines.files.engine import FilesEngine, Steps
from fedhull.engines.files.mail import Mail
from fedhull.engines.files.runner import RUNNER as FILES
from fedhull.errors import FedhullError, StillWaiting
from fedhull.kits.kit import Kit
from fedhull.kits.provision import make_kits
from fedhull.protocol.drive import MemoryEngine

NAMES = ["lab-a", "lab-b", "lab-c", "lab-d"]


STUDIES = {
    "hulls": "",
    "moments": MOMENTS,
    "aligned": ALIGNED,
    "agreed": f"{MOMENTS}\n{AGREED}",
}


@pytest.fixture(params=STUDIES)
def parties(tmp_path, request):
    """(folder of kits, {site: data file}) of each kind of study, every site's consent given."""
    make_kits(draft(NAMES, STUDIES[request.param]), tmp_path / "kits")
    data = make_data(tmp_path, NAMES)
    for name in NAMES:
        agree(tmp_path / "kits", name, data)
    return tmp_path / "kits", data


def test_memory(parties):
    kits, data = parties
    engine = MemoryEngine(sites_in_memory(kits, data))
    check(observe(Kit.open(kits / "server"), engine, 1.0), kits, data)


class Carried:
    """The files engine with a diligent messenger: after each request every site is called once, and
    whoever has not replied then is left out."""

    def __init__(self, mail, kits):
        self.mail, self.kits, self.sessions = mail, kits, Steps()

    @property
    def _post(self):
        return Mail.of(self.mail, Kit.open(self.kits / "server").task)

    def open_session(self, *agreed, **more):
        self.session = FilesEngine(self._post, self.sessions).open_session(*agreed, **more)
        return self.session

    def _engine(self, **options):
        engine = FilesEngine(self._post, **options)
        engine.session = self.session
        return engine

    def step(self, kind, messages, timeout):
        with suppress(StillWaiting):
            return self._engine().step(kind, messages)
        for name in NAMES:
            with suppress(FedhullError):
                options = Options(mail=self.mail)
                FILES.join(Kit.open(self.kits / name), options, lambda sentence: None)
        try:
            return self._engine(go_on=True).step(kind, messages)
        except StillWaiting:  # too few to go on with
            return {}, dict.fromkeys(messages, "vanished")


def test_files(parties, tmp_path):
    kits, data = parties
    seen = observe(Kit.open(kits / "server"), Carried(tmp_path / "mail", kits), 1.0)
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
    check(observe(server, FlowerEngine(grid, nodes), 5.0), kits, data)


def test_a_flower_node_whose_app_is_slow_to_start_is_asked_again_who_it_is(parties, monkeypatch):
    pytest.importorskip("flwr", reason="the flower extra is not installed")
    from grid import InProcessGrid

    from fedhull.engines.flower import engine

    class SlowAtFirst(InProcessGrid):
        asked = 0

        def pull_messages(self, message_ids):
            self.asked += 1
            replies = super().pull_messages(message_ids)
            return replies[:-1] if self.asked == 1 else replies

    monkeypatch.setattr(engine, "_HELLO_SECONDS", 0.05)
    kits, _ = parties
    grid = SlowAtFirst([kits / name for name in NAMES])
    study = Kit.open(kits / "server").study
    assert sorted(engine.find_sites(grid, study, 60.0, lambda names: None)) == NAMES


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
        data = {name: federation.data(name) for name in federation.names}
        check(seen, federation.kits, data, sites_end=True)
    finally:
        federation.end()
