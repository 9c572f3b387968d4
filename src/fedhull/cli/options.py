"""Options shared by several commands."""

from pathlib import Path
from typing import Annotated

from typer import Option

from fedhull.disk import read_bytes
from fedhull.errors import InvalidInput

# A site's own data
DataOption = Annotated[
    str | None, Option(help="Your points or cells: .csv, .npz, .parquet or .h5ad.")
]
LabelOption = Annotated[str, Option(help="Column (or obs key) of the classes.")]
DonorOption = Annotated[str | None, Option(help="Column of each cell's donor.")]
MapOption = Annotated[
    str | None, Option("--map", help="TOML file: your class names to the study's.")
]
LayerOption = Annotated[
    str | None, Option(help="In a study of raw counts: .h5ad layer to use instead of X.")
]
IdentityOption = Annotated[Path | None, Option(help="Your key, if it is not in the kit.")]

# A study's settings
CurvatureOption = Annotated[float, Option(help="k; the space has curvature −k.")]
AgreedNamesFlag = Annotated[
    bool, Option("--agreed-names", help="All sites use the same class names.")
]
SeedOption = Annotated[int, Option(help="Random seed.")]

# The file that a study names
EncoderOption = Annotated[
    Path | None, Option(help="The study's encoder, an .npz; every kit gets a copy.")
]
GenesOption = Annotated[
    Path | None,
    Option(
        help="For a study that makes an encoder: the genes that sites may have, a text file with a "
        "name per line, or an .h5ad."
    ),
]


def read_attachment(encoder: Path | None, genes: Path | None) -> bytes | None:
    """Content of the study's encoder or list of genes, if there is one."""
    if genes is None:
        return None if encoder is None else read_bytes(encoder)
    if encoder is not None:
        raise InvalidInput("a study has an encoder or makes one: --encoder or --genes, not both")
    from fedhull.study.gene_list import read_genes

    return read_genes(genes).to_bytes()
