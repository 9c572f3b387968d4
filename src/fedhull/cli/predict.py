"""`fedhull predict`: the classes of new cells, by a model file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from fedhull.cli.console import JsonFlag, note, out, print_json
from fedhull.cli.options import LabelOption
from fedhull.errors import InvalidInput
from fedhull.text import printable

if TYPE_CHECKING:
    from fedhull.learn.prediction import Placed, Prediction

H5AD = ".h5ad"
_ENDINGS = (H5AD, ".csv", ".parquet")


def predict(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="An .npz, .csv, .parquet or .h5ad file.")],
    target: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE.h5ad|.csv|.parquet",
            help="Write classes and probabilities here: all that DATA holds, or a table.",
        ),
    ] = None,
    least: Annotated[
        float | None,
        typer.Option(
            "--unassigned",
            metavar="P",
            help="Leave cells unassigned whose class has a probability below P.",
        ),
    ] = None,
    label: LabelOption = "label",
    encoder: Annotated[
        Path | None,
        typer.Option(help="Place raw cells with this encoder file, if the model carries none."),
    ] = None,
    layer: Annotated[
        str | None, typer.Option(help="Layer of the .h5ad with raw counts, not X.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Assign also cells that are far from all classes.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Predict the class of each cell in a file; a label column is ignored.

    Classes are printed, one per line, or written with --out, with the probabilities of all.
    Cells that are farther from all classes than nearly all of the cells that the study's sites held
    out are "unassigned". Raw cells are placed by the encoder that the model carries.
    """
    # before what reads them is imported, which takes seconds
    _check_file(model, "a model")
    _check_file(Path(data), "points")
    if target is not None:
        _check_target(Path(data), target)
    if layer is not None and Path(data).suffix != H5AD:
        raise InvalidInput(f"--layer is for .h5ad files, not for {data}")
    from fedhull.learn.model import load_model
    from fedhull.learn.prediction import predict_points

    classifier = load_model(model)
    placed, adata = _placed(classifier, data, label, layer, encoder, target)
    found = predict_points(classifier, placed.points, least, everything)
    if target is not None:
        _write(target, placed, found, adata)
    if json:
        written = {} if target is None else {"out": str(target)}
        print_json(_numbers(found, judged=classifier.judged_ is not None) | written)
        return
    if target is None:
        for name in found.predicted:
            typer.echo(printable(name))
    else:
        _show(found, target)
    _warn(placed, found, everything, least)


def _placed(
    model: Any, data: str, label: str, layer: str | None, encoder: Path | None, target: Path | None
) -> "tuple[Placed, Any]":
    """The file's cells in the model's frame, as far as that is known, and, of an .h5ad, all that it
    holds."""
    from fedhull.data.files import load_points, open_h5ad, read_columns
    from fedhull.embed.cells import KEY, made_by
    from fedhull.embed.embedder import load_cell_embedder
    from fedhull.learn.prediction import Placed, encoder_for, place, placed_by

    placer = encoder_for(model, None if encoder is None else load_cell_embedder(encoder))
    if Path(data).suffix != H5AD:
        raw = encoder is not None or read_columns(data).width(label) != model.n_features_in_
        if placer is None or not raw:
            return Placed(load_points(data, label)), None
        from fedhull.data.datasets import load_cells  # slow to import, and few need it

        return placed_by(placer, load_cells(data, label)[0]), None
    adata = open_h5ad(data, backed=True)
    known = layer is None and KEY in adata.obsm
    known = known and (placer is None or made_by(adata) == placer.hash)
    # what is large stays in the file unless it is needed
    if not known or (target is not None and target.suffix == H5AD):
        adata = open_h5ad(data)
    return place(model, adata, layer, placer), adata


def _write(target: Path, placed: "Placed", found: "Prediction", adata: Any) -> None:
    from fedhull.data.files import numbered_cells, write_h5ad, write_table
    from fedhull.embed.cells import KEY
    from fedhull.learn.prediction import note_prediction

    if target.suffix != H5AD:
        cells = list(range(len(found))) if adata is None else adata.obs_names.tolist()
        write_table(target, found.columns(cells))
        return
    if adata is None:
        adata = numbered_cells(len(found))
        if placed.encoder is None:
            adata.obsm[KEY] = placed.points
    note_prediction(adata, placed, found)
    write_h5ad(adata, target)


def _numbers(found: "Prediction", judged: bool) -> dict[str, Any]:
    """Classes; how probable they are, null for cells that are unassigned, and for all if the model
    does not say; and which cells are far from all classes, if that is known."""
    from fedhull.learn.prediction import UNASSIGNED

    sure: Any = None
    if found.probability is not None:
        pairs = zip(found.predicted, found.probability.tolist(), strict=True)
        sure = [None if name == UNASSIGNED else p for name, p in pairs]
    return {
        "classes": found.predicted,
        "probabilities": sure,
        "far_from_all": found.far.tolist() if judged else None,
    }


def _show(found: "Prediction", target: Path) -> None:
    from collections import Counter

    table = Table("class", "cells", title=f"{len(found):,} cells")
    table.columns[1].justify = "right"
    for name, cells in Counter(found.labels).most_common():
        table.add_row(name, f"{cells:,}")
    out.print(table)
    out.print(f"Written: {target}", soft_wrap=True)


def _warn(placed: "Placed", found: "Prediction", everything: bool, least: float | None) -> None:
    """What somebody who trusts the classes should know."""
    missing = placed.missing_genes
    if missing and placed.encoder is not None:
        some = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
        note(
            f"{len(missing):,} of the encoder's {len(placed.encoder.preparation.genes):,} genes "
            f"are missing and count as not expressed: {some}"
        )
    if found.far.any() and not everything:
        note(
            f"{int(found.far.sum()):,} of {len(found):,} cells are unassigned: they are farther "
            f"from all classes than 99 % of the cells that the sites held out. --all assigns them."
        )
    if found.unsure.any():
        note(
            f"{int(found.unsure.sum()):,} of {len(found):,} cells are unassigned: no class has a "
            f"probability of {least:g} or more."
        )


def _check_file(path: Path, kind: str) -> None:
    """Fail in a sentence if there is no such file."""
    if not path.is_file():
        reason = "it is a folder" if path.is_dir() else "there is no such file"
        raise InvalidInput(f"{path} cannot be read as {kind}: {reason}")


def _check_target(data: Path, target: Path) -> None:
    """Everything that can be wrong with where to write, before any work is done."""
    if target.suffix not in _ENDINGS:
        raise InvalidInput(f"--out must end in {', '.join(_ENDINGS)}, got {target}")
    if not target.parent.is_dir():
        raise InvalidInput(f"--out must be in a folder that exists, but {target.parent} does not")
    if target.exists() and target.samefile(data):
        raise InvalidInput(f"--out must be another file than the cells, {data}; name a new one")
