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
from .cli.simulate import print_simulation, save_simulation
from .codes.coding import choose_coding
from .codes.field import Field, from_elements, smallest_field, to_elements
from .codes.power_sums import power_sums, recover
from .data.datasets import cache_folder, load_dataset, load_raw
from .disc.points import check_curvature
from .disk import read_bytes, write_bytes, write_json, write_text
from .embed.cells import Preparation, as_cells
from .embed.embedder import CellEmbedder, divisors, numbers, settings_as
from .embed.features import Products, choose_genes
from .engines.base import Runner
from .kits.participant import SiteRun, coordinate
from .kits.results import STATUS
from .learn.content import Content, Matrix, check_shape, shared
from .learn.grouping import match_hulls, share_matched
from .learn.moments import BITS
from .progress import Progress, Report, ignore
from .protocol.drive import MemoryEngine
from .protocol.keys import Identity
from .protocol.outside import forget_shared, vector_size, witnesses_of
from .protocol.summation import Layout
from .report.disc_plot import draw_disc, draw_hull, draw_regions, new_figure, save_figure
from .report.page import page_to_json
from .report.palette import PALETTE
from .report.sections import Bar, Table, Text
from .rounds.ballot import Candidate
from .rounds.disclosure import Disclosure, total_over, unnamed
from .rounds.learning import Learned, Summary
from .rounds.noise import noise_of
from .simulation.result import Simulation, summarize
from .simulation.sites import partition
from .study.draft import draft_study, with_names
from .study.federated import rehearse_neighbours
from .study.rehearsal import rehearse
from .text import printable

VERSION: int

__all__ = [
    "BITS",
    "PALETTE",
    "STATUS",
    "VERSION",
    "Bar",
    "Candidate",
    "CellEmbedder",
    "Command",
    "Content",
    "Disclosure",
    "Field",
    "Identity",
    "JsonFlag",
    "Layout",
    "Learned",
    "Matrix",
    "MemoryEngine",
    "Preparation",
    "Products",
    "Progress",
    "Report",
    "Runner",
    "Simulation",
    "SiteRun",
    "Summary",
    "Table",
    "Text",
    "as_cells",
    "cache_folder",
    "check_curvature",
    "check_shape",
    "choose_coding",
    "choose_genes",
    "coordinate",
    "divisors",
    "draft_study",
    "draw_disc",
    "draw_hull",
    "draw_regions",
    "err",
    "forget_shared",
    "from_elements",
    "ignore",
    "load_dataset",
    "load_raw",
    "match_hulls",
    "new_figure",
    "noise_of",
    "note",
    "numbers",
    "out",
    "output_folder",
    "page_to_json",
    "partition",
    "power_sums",
    "prepare_kernels",
    "print_json",
    "print_simulation",
    "printable",
    "progress_bar",
    "read_bytes",
    "recover",
    "rehearse",
    "rehearse_neighbours",
    "save_figure",
    "save_simulation",
    "settings_as",
    "share_matched",
    "shared",
    "showing",
    "smallest_field",
    "spinner",
    "summarize",
    "to_elements",
    "total_over",
    "unnamed",
    "vector_size",
    "with_names",
    "witnesses_of",
    "write_bytes",
    "write_json",
    "write_text",
]
