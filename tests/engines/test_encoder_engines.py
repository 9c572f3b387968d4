"""Encoder studies on the engines: the memory engine's encoder, bit for bit."""

import json

import pytest
from by_mail import MailStudy
from conformance import in_memory
from federations import Federation, ended
from frames import GENES, frame_draft, make_frame_files, make_frame_kits

from fedhull.kits.kit import Kit
from fedhull.kits.participant import coordinate

NAMES = ["lab-a", "lab-b", "lab-c"]


def test_flower_on_an_in_process_grid(tmp_path):
    pytest.importorskip("flwr", reason="the flower extra is not installed")
    from grid import InProcessGrid

    from fedhull.engines.flower.engine import FlowerEngine, find_sites

    kits, data = make_frame_kits(tmp_path, NAMES)
    server = Kit.open(kits / "server")
    grid = InProcessGrid([kits / name for name in NAMES])
    engine = FlowerEngine(grid, find_sites(grid, server.study, 5.0, lambda names: None))
    outcome = coordinate(server, "run", engine, 5.0, lambda progress: None)
    assert outcome.encoder.hash == in_memory(kits, data).encoder.hash


class MailedEncoder(MailStudy):
    product = "encoder.npz"

    def prepare(self, folder, extra):
        made = make_frame_kits(folder, self.names)
        return Kit.open(self.kits / "server").task, made[1]


def test_three_sums_are_few_enough_for_files(tmp_path):
    study = MailedEncoder(tmp_path, NAMES)
    study.finish()
    expected = in_memory(study.kits, study.data).encoder
    assert study.n_steps == 21
    for name in ("server", *NAMES):
        assert (study.results(name) / "encoder.npz").read_bytes() == expected.to_bytes()
    assert 0 < study.result("server")["neighbours_kept"] < 1


class EncoderFederation(Federation):
    def prepare(self, extra):
        (self.folder / "study.toml").write_text(frame_draft(self.names))
        (self.folder / "genes.txt").write_text("\n".join(GENES))
        make_frame_files(self.folder, self.names)
        return ["--genes", str(self.folder / "genes.txt")]


@pytest.mark.slow
@pytest.mark.processes
def test_nvidia_flare(tmp_path):
    federation = EncoderFederation(tmp_path)
    try:
        server = federation.server("--json")
        clients = [federation.client(name, "--json") for name in federation.names]
        code, out, err = ended(server)
        assert code == 0, err
        result = json.loads(out)
        data = {name: federation.data(name) for name in federation.names}
        expected = in_memory(federation.kits, data)
        assert result["encoder"] == expected.encoder.hash
        assert result["bytes_up"] == expected.record.bytes_up
        for client, name in zip(clients, federation.names, strict=True):
            code, out, err = ended(client)
            assert code == 0, err
            assert json.loads(out)["encoder"] == expected.encoder.hash
            encoder = (federation.results(name) / "encoder.npz").read_bytes()
            assert encoder == expected.encoder.to_bytes()
    finally:
        federation.end()
