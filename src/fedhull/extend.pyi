from .cli.console import (
    JsonFlag,
    err,
    note,
    out,
    output_folder,
    prepare_kernels,
    print_json,
    progress_bar,
    showing,
    spinner,
)
from .cli.group import Command
from .codes.coding import choose_coding
from .codes.field import smallest_field
from .codes.power_sums import power_sums, recover
from .data.datasets import load_dataset
from .data.partition import partition
from .data.published import cache_folder
from .data.raw import load_raw
from .disk import read_bytes, write_bytes, write_json, write_text
from .embed.cells import Preparation, as_cells
from .embed.embedder import CellEmbedder
from .embed.gene_sums import choose_genes
from .embed.projection import Products
from .engines.base import Runner
from .kits.participant import SiteRun, coordinate
from .kits.results import STATUS
from .learn.content import Content, Matrix, check_shape, shared
from .learn.grouping import group_hulls, share_matched
from .learn.moments import BITS
from .progress import Progress, Report, ignore
from .protocol.keys import Identity
from .protocol.memory import MemoryEngine
from .protocol.outside import forget_shared, vector_size, witnesses_of
from .report.content import Bar, Section, Table
from .report.disc_plot import draw_disc, draw_hull, draw_regions, new_figure, save_figure
from .report.palette import PALETTE
from .simulation.result import Simulation, summarize
from .study.draft import draft_study, with_names
from .study.federated import rehearse_neighbours
from .study.moments.coordinator import KeptSum
from .study.noise import noise_of
from .study.rehearsal import rehearse

VERSION: int

__all__ = [
    "BITS",
    "PALETTE",
    "STATUS",
    "VERSION",
    "Bar",
    "CellEmbedder",
    "Command",
    "Content",
    "Identity",
    "JsonFlag",
    "KeptSum",
    "Matrix",
    "MemoryEngine",
    "Preparation",
    "Products",
    "Progress",
    "Report",
    "Runner",
    "Section",
    "Simulation",
    "SiteRun",
    "Table",
    "as_cells",
    "cache_folder",
    "check_shape",
    "choose_coding",
    "choose_genes",
    "coordinate",
    "draft_study",
    "draw_disc",
    "draw_hull",
    "draw_regions",
    "err",
    "forget_shared",
    "group_hulls",
    "ignore",
    "load_dataset",
    "load_raw",
    "new_figure",
    "noise_of",
    "note",
    "out",
    "output_folder",
    "partition",
    "power_sums",
    "prepare_kernels",
    "print_json",
    "progress_bar",
    "read_bytes",
    "recover",
    "rehearse",
    "rehearse_neighbours",
    "save_figure",
    "share_matched",
    "shared",
    "showing",
    "smallest_field",
    "spinner",
    "summarize",
    "vector_size",
    "with_names",
    "witnesses_of",
    "write_bytes",
    "write_json",
    "write_text",
]
