"""`fedhull predict`: the classes of new cells, by a model file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from typer import Argument, Option

from fedhull.cli.console import JsonFlag, check_target, missing_genes, note, out, print_json
from fedhull.cli.options import LabelOption
from fedhull.errors import InvalidInput
from fedhull.text import printable

if TYPE_CHECKING:
    from fedhull.learn.prediction import Placed, Prediction

H5AD = ".h5ad"
_ENDINGS = (H5AD, ".csv", ".parquet")


def predict(
    model: Annotated[Path, Argument(help="A model file.")],
    data: Annotated[str, Argument(help="An .npz, .csv, .parquet or .h5ad file.")],
    target: Annotated[
        Path | None,
        Option(
            "--out",
            metavar="FILE.h5ad|.csv|.parquet",
            help="Write classes and probabilities to a table or, with the data, an .h5ad.",
        ),
    ] = None,
    least: Annotated[
        float | None,
        Option(
            "--unassigned",
            metavar="P",
            help="Leave cells unassigned if their class has a probability below P.",
        ),
    ] = None,
    label: LabelOption = "label",
    encoder: Annotated[
        Path | None, Option(help="Place raw cells with this encoder file, if the model has none.")
    ] = None,
    layer: Annotated[
        str | None, Option(help="Layer of the .h5ad with raw counts, instead of X.")
    ] = None,
    everything: Annotated[
        bool, Option("--all", help="Also assign cells that are far from all classes.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Predict the class of each cell in a file, ignoring its labels.

    Classes are printed, one per line, or written with --out, with all probabilities. Cells farther
    from all classes than nearly all of the study's held-out cells are "unassigned". Raw cells are
    placed by the model's encoder.
    """
    # before slow imports
    _check_file(model, "a model")
    _check_file(Path(data), "points")
    if target is not None:
        check_target(target, _ENDINGS)
        if target.exists() and target.samefile(data):
            raise InvalidInput(f"--out must be another file than the cells, {data}")
    if layer is not None and Path(data).suffix != H5AD:
        raise InvalidInput(f"--layer is for .h5ad files, not for {data}")
    from fedhull.learn.model import load_model
    from fedhull.learn.prediction import predict_points

    classifier = load_model(model)
    placed, adata = _placed(classifier, data, label, layer, encoder, target)
    prediction = predict_points(classifier, placed.points, least, everything)
    if target is not None:
        _write(target, placed, prediction, adata)
    if json:
        written = {} if target is None else {"out": str(target)}
        print_json(_numbers(prediction, judged=classifier.judged_ is not None) | written)
        return
    if target is None:
        for name in prediction.predicted:
            typer.echo(printable(name))
    else:
        _show(prediction, target)
    _warn(placed, prediction, everything, least)


def _placed(
    model: Any, data: str, label: str, layer: str | None, encoder: Path | None, target: Path | None
) -> "tuple[Placed, Any]":
    """The cells in the model's frame, as far as that is known, and the content of an .h5ad."""
    from fedhull.data.files import load_points, open_h5ad, read_columns
    from fedhull.embed.cells import KEY, made_by
    from fedhull.embed.embedder import load_cell_embedder
    from fedhull.learn.prediction import Placed, encoder_for, place, placed_by

    placer = encoder_for(model, None if encoder is None else load_cell_embedder(encoder))
    if Path(data).suffix != H5AD:
        raw = encoder is not None or read_columns(data).width(label) != model.n_features_in_
        if placer is None or not raw:
            return Placed(load_points(data, label)), None
        from fedhull.data.datasets import load_cells  # slow to import

        return placed_by(placer, load_cells(data, label)[0]), None
    adata = open_h5ad(data, backed=True)
    known = layer is None and KEY in adata.obsm
    known = known and (placer is None or made_by(adata) == placer.hash)
    # large parts stay in the file unless they are needed
    if not known or (target is not None and target.suffix == H5AD):
        adata = open_h5ad(data)
    return place(model, adata, layer, placer), adata


def _write(target: Path, placed: "Placed", prediction: "Prediction", adata: Any) -> None:
    from fedhull.data.files import numbered_cells, write_h5ad, write_table
    from fedhull.embed.cells import KEY
    from fedhull.learn.prediction import note_prediction

    if target.suffix != H5AD:
        cells = list(range(len(prediction))) if adata is None else adata.obs_names.tolist()
        write_table(target, prediction.columns(cells))
        return
    if adata is None:
        adata = numbered_cells(len(prediction))
        if placed.encoder is None:
            adata.obsm[KEY] = placed.points
    note_prediction(adata, placed, prediction)
    write_h5ad(adata, target)


def _numbers(prediction: "Prediction", judged: bool) -> dict[str, Any]:
    """Classes; their probabilities, null for unassigned cells and for models without them; and
    cells far from all classes, if the model can tell."""
    from fedhull.learn.prediction import UNASSIGNED

    sure: Any = None
    if prediction.probability is not None:
        pairs = zip(prediction.predicted, prediction.probability.tolist(), strict=True)
        sure = [None if name == UNASSIGNED else p for name, p in pairs]
    return {
        "classes": prediction.predicted,
        "probabilities": sure,
        "far_from_all": prediction.far.tolist() if judged else None,
    }


def _show(prediction: "Prediction", target: Path) -> None:
    from collections import Counter

    table = Table("class", "cells", title=f"{len(prediction):,} cells")
    table.columns[1].justify = "right"
    for name, cells in Counter(prediction.labels).most_common():
        table.add_row(name, f"{cells:,}")
    out.print(table)
    out.print(f"Written: {target}", soft_wrap=True)


def _warn(
    placed: "Placed", prediction: "Prediction", everything: bool, least: float | None
) -> None:
    """Print warnings about missing genes and unassigned cells."""
    if placed.missing_genes and placed.encoder is not None:
        note(missing_genes(placed.missing_genes, len(placed.encoder.preparation.genes)))
    if prediction.far.any() and not everything:
        note(
            f"{int(prediction.far.sum()):,} of {len(prediction):,} cells are unassigned: they are "
            f"farther from all classes than 99 % of the sites' held-out cells. --all assigns them."
        )
    if prediction.unsure.any():
        note(
            f"{int(prediction.unsure.sum()):,} of {len(prediction):,} cells are unassigned: no "
            f"class has a probability of {least:g} or more."
        )


def _check_file(path: Path, kind: str) -> None:
    """Fail in a sentence if there is no such file."""
    if not path.is_file():
        reason = "it is a folder" if path.is_dir() else "there is no such file"
        raise InvalidInput(f"{path} cannot be read as {kind}: {reason}")
