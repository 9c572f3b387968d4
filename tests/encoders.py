"""Small encoder studies: cells of a few types, an untrained encoder, kits, data files."""

import numpy as np

from fedhull.embed.autoencoder import AutoencoderEmbedder
from fedhull.embed.cells import Cells
from fedhull.engines.memory import MemoryEngine
from fedhull.federation.consent import ask_for_training, load_training_cells
from fedhull.federation.encoder_site import EncoderSite
from fedhull.federation.encoder_study import run_encoder_study
from fedhull.federation.kit import Kit
from fedhull.federation.participant import start_of
from fedhull.federation.provision import make_kits

GENES = [f"gene-{i}" for i in range(40)]


def make_start(**settings) -> AutoencoderEmbedder:
    # few cells in a batch: sites of any size have batches of one size, and one step is compiled
    return AutoencoderEmbedder.untrained(GENES, counts=True, hidden=16, batch=4, **settings)


def make_cells(n: int, seed: int) -> Cells:
    rng = np.random.default_rng(seed)
    profiles = np.random.default_rng(99).gamma(0.5, 4.0, (3, len(GENES)))
    return Cells(rng.poisson(profiles[rng.integers(3, size=n)]), GENES)


def encoder_draft(names, rounds=2, extra="") -> str:
    lines = ['name = "An encoder"', extra, f'[encoder]\nstart = ""\nrounds = {rounds}', "[clients]"]
    return "\n".join([*lines, *(f'{name} = ""' for name in names)]) + "\n"


def make_cell_files(folder, names):
    """A data file for each site, of different sizes."""
    files = {name: folder / f"{name}.npz" for name in names}
    for i, file in enumerate(files.values()):
        np.savez(file, x=make_cells(40 + 9 * i, i).x, genes=np.array(GENES))
    return files


def make_encoder_kits(folder, names, rounds=2):
    """(folder of kits, {site: data file}), every site's consent given."""
    start = make_start().to_bytes()
    kits = make_kits(encoder_draft(names, rounds), folder / "kits", encoder=start).folder
    data = make_cell_files(folder, names)
    for name in names:
        kit = Kit.open(kits / name)
        cells = load_training_cells(str(data[name]))
        ask_for_training(kit.study, cells, str(data[name]), None).give(kit)
    return kits, data


def encoder_in_memory(kits, data, engine=MemoryEngine, **options):
    """The study of these kits and data in the memory engine."""
    server = Kit.open(kits / "server")
    start = start_of(server, server.study)
    sites = [
        EncoderSite(server.study, name, Kit.open(kits / name).identity, start,
                    load_training_cells(str(data[name])))
        for name in server.study.clients
    ]  # fmt: skip
    return run_encoder_study(server.study, start, engine(sites, **options), server.identity)
