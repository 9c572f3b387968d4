"""Small encoder studies: cells of a few types, an untrained encoder, kits, data files."""

import numpy as np
from conformance import agree, in_memory

from fedhull.embed.autoencoder import AutoencoderEmbedder
from fedhull.embed.cells import Cells
from fedhull.kits.provision import make_kits
from fedhull.protocol.memory import MemoryEngine

GENES = [f"gene-{i}" for i in range(40)]


def make_start(**settings) -> AutoencoderEmbedder:
    # few cells in a batch: sites of any size have batches of one size, and one step is compiled
    return AutoencoderEmbedder.untrained(GENES, counts=True, hidden=16, batch=4, **settings)


def make_cells(n: int, seed: int) -> Cells:
    rng = np.random.default_rng(seed)
    profiles = np.random.default_rng(99).gamma(0.5, 4.0, (3, len(GENES)))
    return Cells(rng.poisson(profiles[rng.integers(3, size=n)]), GENES)


def encoder_draft(names, rounds=2, extra="") -> str:
    # one of three may drop out; by default none may
    extra = extra or ("[protocol]\nthreshold = 2" if len(names) == 3 else "")
    lines = [
        'name = "An encoder"',
        extra,
        f'[encoder]\nmethod = "autoencoder"\nstart = ""\nrounds = {rounds}',
        "[clients]",
    ]
    return "\n".join([*lines, *(f'{name} = ""' for name in names)]) + "\n"


def make_cell_files(folder, names):
    """A data file for each site, of different sizes, all of them whole batches: one compilation
    serves them all."""
    files = {name: folder / f"{name}.npz" for name in names}
    for i, file in enumerate(files.values()):
        np.savez(file, x=make_cells(32 + 16 * i, i).x, genes=np.array(GENES))
    return files


def make_encoder_kits(folder, names, rounds=2):
    """(folder of kits, {site: data file}), every site's consent given."""
    start = make_start().to_bytes()
    kits = make_kits(encoder_draft(names, rounds), folder / "kits", attached=start).folder
    data = make_cell_files(folder, names)
    for name in names:
        agree(kits, name, data)
    return kits, data


def encoder_in_memory(kits, data, engine=MemoryEngine):
    """The study of these kits and data in the memory engine."""
    return in_memory(kits, data, engine=engine)
