"""The file that a study names, from the command line: an encoder, or a list of genes."""

from pathlib import Path
from typing import Annotated

import typer

from fedhull.disk import read_bytes
from fedhull.errors import InvalidInput

EncoderOption = Annotated[
    Path | None, typer.Option(help="The study's encoder, an .npz; every kit holds a copy.")
]
GenesOption = Annotated[
    Path | None,
    typer.Option(
        help="For a study that makes an encoder: the genes that sites may have, a text file with a "
        "name in each line, or an .h5ad whose genes are taken."
    ),
]


def read_attachment(encoder: Path | None, genes: Path | None) -> bytes | None:
    """The content of the file that every kit gets a copy of, if there is one."""
    if genes is None:
        return None if encoder is None else read_bytes(encoder)
    if encoder is not None:
        raise InvalidInput("a study has an encoder or makes one: --encoder or --genes, not both")
    from fedhull.study.neighbours.genes import read_genes

    return read_genes(genes).to_bytes()
