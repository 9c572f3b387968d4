"""Small encoder studies of three sums: cells of a few types, lists of genes, kits, data files."""

import numpy as np
from conformance import agree

from fedhull.embed.cells import Cells
from fedhull.kits.provision import make_kits
from fedhull.study.gene_list import GeneList

GENES = [f"gene-{i}" for i in range(60)]
FEWER = "n_genes = 20\nn_components = 5"


def make_cells(n: int, seed: int, genes=GENES) -> Cells:
    rng = np.random.default_rng(seed)
    profiles = np.random.default_rng(99).gamma(0.5, 4.0, (4, len(GENES)))
    x = rng.poisson(profiles[rng.integers(4, size=n)])
    return Cells(x[:, [GENES.index(gene) for gene in genes]], genes)


def frame_draft(names, extra="", settings=FEWER) -> str:
    # one of three may drop out; by default none may
    extra = extra or ("[protocol]\nthreshold = 2" if len(names) == 3 else "")
    lines = ['name = "A frame"', extra, f'[encoder]\ngenes = ""\n{settings}', "[clients]"]
    return "\n".join([*lines, *(f'{name} = ""' for name in names)]) + "\n"


def make_frame_files(folder, names):
    """A data file for each site, of different sizes."""
    files = {name: folder / f"{name}.npz" for name in names}
    for i, file in enumerate(files.values()):
        np.savez(file, x=make_cells(240 + 40 * i, i).x, genes=np.array(GENES))
    return files


def make_frame_kits(folder, names, extra="", settings=FEWER):
    """(folder of kits, {site: data file}), every site's consent given."""
    listed = GeneList(tuple(GENES)).to_bytes()
    kits = make_kits(frame_draft(names, extra, settings), folder / "kits", attached=listed).folder
    data = make_frame_files(folder, names)
    for name in names:
        agree(kits, name, data)
    return kits, data
