"""`fedhull predict`: the classes of new points, by a model file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedhull.cli.console import JsonFlag, LabelOption, print_json
from fedhull.errors import InvalidInput
from fedhull.text import printable

if TYPE_CHECKING:
    import numpy as np


def predict(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="An .npz, .csv, .parquet or .h5ad file.")],
    label: LabelOption = "label",
    encoder: Annotated[
        Path | None, typer.Option(help="Place raw cells with this encoder file first.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Predict the class of each point in a file, one per line; a label column is ignored."""
    # before what reads them is imported, which takes seconds
    _check_file(model, "a model")
    _check_file(Path(data), "points")
    from fedhull.learn.model import load_model

    classifier = load_model(model)
    points = _points_for(model, classifier.encoder_, data, label, encoder)
    if points.shape[1] != classifier.n_features_in_:
        raise InvalidInput(
            f"{data} has points of {points.shape[1]} coordinates, but {model} is for "
            f"{classifier.n_features_in_}; is there a column that is neither coordinate nor label?"
        )
    predicted = classifier.predict(points).tolist()
    if json:
        print_json({"classes": predicted})
        return
    for name in predicted:
        typer.echo(printable(name))


def _check_file(path: Path, kind: str) -> None:
    """Fail in a sentence if there is no such file."""
    if not path.is_file():
        reason = "it is a folder" if path.is_dir() else "there is no such file"
        raise InvalidInput(f"{path} cannot be read as {kind}: {reason}")


def _points_for(
    model: Path, wanted: str | None, data: str, label: str, encoder: Path | None
) -> "np.ndarray":
    """The file's points, in the frame that the model was trained in, as far as that is known;
    `wanted` is the hash of the encoder that it was trained on."""
    from fedhull.data.files import load_points
    from fedhull.data.h5ad import open_h5ad
    from fedhull.embed.annotated import made_by
    from fedhull.embed.embedder import load_cell_embedder
    from fedhull.study.frame import place_points

    if encoder is not None:
        placer = load_cell_embedder(encoder)
        if wanted not in (None, placer.hash):
            raise InvalidInput(
                f"{model} was trained on points from the encoder {wanted}, but {encoder} is "
                f"{placer.hash}; use the encoder in the study's kit"
            )
        return place_points(placer, data, label)
    points = load_points(data, label)
    if wanted and data.endswith(".h5ad") and made_by(open_h5ad(data, backed=True)) != wanted:
        raise InvalidInput(
            f"{model} was trained on points from the encoder {wanted}, but those in {data} come "
            f"from another or do not say which; pass encoder.npz from the study's kit as --encoder"
        )
    return points
