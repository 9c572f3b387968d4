"""Encoder studies on the engines: the memory engine's encoder, bit for bit."""

import json

import pytest
from encoders import (
    encoder_draft,
    encoder_in_memory,
    make_cell_files,
    make_encoder_kits,
    make_start,
)
from federations import Federation, ended

from fedhull.kits.kit import Kit
from fedhull.kits.participant import coordinate

pytest.importorskip("jax", reason="the embed extra is not installed")
NAMES = ["lab-a", "lab-b", "lab-c"]


def test_flower_on_an_in_process_grid(tmp_path):
    pytest.importorskip("flwr", reason="the flower extra is not installed")
    from grid import InProcessGrid

    from fedhull.engines.flower.engine import FlowerEngine, find_sites

    kits, data = make_encoder_kits(tmp_path, NAMES)
    server = Kit.open(kits / "server")
    grid = InProcessGrid([kits / name for name in NAMES])
    engine = FlowerEngine(grid, find_sites(grid, server.study, 5.0, lambda names: None))
    outcome = coordinate(server, "run", engine, 5.0, lambda progress: None)
    assert outcome.encoder.hash == encoder_in_memory(kits, data).encoder.hash


class EncoderFederation(Federation):
    def prepare(self, extra):
        (self.folder / "study.toml").write_text(encoder_draft(self.names, rounds=3))
        (self.folder / "start.npz").write_bytes(make_start().to_bytes())
        make_cell_files(self.folder, self.names)
        return ["--encoder", str(self.folder / "start.npz")]


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
        expected = encoder_in_memory(federation.kits, data)
        assert result["encoder"] == expected.encoder.hash
        assert result["rounds"] == 3
        assert result["bytes_up"] == expected.record.bytes_up
        for client, name in zip(clients, federation.names, strict=True):
            code, out, err = ended(client)
            assert code == 0, err
            assert json.loads(out)["encoder"] == expected.encoder.hash
            encoder = (federation.results(name) / "encoder.npz").read_bytes()
            assert encoder == expected.encoder.to_bytes()
    finally:
        federation.end()
