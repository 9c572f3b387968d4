"""Options that several commands have, in the same words."""

from typing import Annotated

import typer

# A site's own data
DataOption = Annotated[
    str | None, typer.Option(help="Your points or cells: .csv, .npz, .parquet or .h5ad.")
]
LabelOption = Annotated[str, typer.Option(help="Column (or obs key) that holds the classes.")]
DonorOption = Annotated[str | None, typer.Option(help="Column that says whose cells they are.")]
MapOption = Annotated[
    str | None, typer.Option("--map", help="TOML file: your class names to the study's.")
]
LayerOption = Annotated[
    str | None, typer.Option(help="In a study of raw counts: the .h5ad layer to use instead of X.")
]

# A study's settings
EpsilonOption = Annotated[float, typer.Option(help="Width of a bin, ε.")]
SummaryOption = Annotated[str, typer.Option(help="What sites send: hulls or moments.")]
FeaturesOption = Annotated[int, typer.Option(help="How many functions moments are of at most, D.")]
LabelCodeOption = Annotated[str, typer.Option(help="auto, pairs, binary or bose-chowla:H.")]
GuardOption = Annotated[
    str, typer.Option(help="none, or parts joined by +: edit, trim:F, group:K, your own.")
]
MinCellsOption = Annotated[int, typer.Option(help="Nothing leaves that is made of fewer cells.")]
AgreedNamesFlag = Annotated[
    bool, typer.Option("--agreed-names", help="All sites use the same names.")
]

SeedOption = Annotated[int, typer.Option(help="Seed of every random choice.")]
