"""`fedhull align`: an embedding brought into the frame of another."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedhull.cli.console import JsonFlag, out, print_json
from fedhull.cli.embed import check_target
from fedhull.errors import InvalidInput

if TYPE_CHECKING:
    from fedhull.disc.align import Alignment


def align(
    file: Annotated[Path, typer.Argument(help="Points to move: .h5ad, .npz or .csv.")],
    to: Annotated[
        Path,
        typer.Option(
            help="Points in the frame to fit; or a model.json of a study whose sites were aligned."
        ),
    ],
    target: Annotated[Path, typer.Option("--out", help="Where to write: .h5ad, .npz or .csv.")],
    label: Annotated[
        str | None,
        typer.Option(
            help="Match the centres of the classes in this column; by default, cells by name."
        ),
    ] = None,
    model_out: Annotated[
        Path | None,
        typer.Option(
            help="With a model: write it here for the points as they are in FILE, to be used with "
            "predict."
        ),
    ] = None,
    site: Annotated[
        str, typer.Option(help="With --model-out: whose points they are.")
    ] = "a site outside the study",
    json: JsonFlag = False,
) -> None:
    """Rotate, mirror and move a whole embedding so that it fits another, or a model.

    Fitted to a model, points are not mirrored, and labels must be classes of the model. A few
    points of some classes are enough: --model-out is for all points of the same site.
    """
    from fedhull.data.files import open_h5ad, write_h5ad, write_points

    check_target(file, target)
    if to.suffix == ".json":
        found = _align_to_model(file, to, target, label or "label", model_out, site)
    elif model_out is not None:
        raise InvalidInput(f"--model-out goes with a model.json as --to, not with {to}")
    elif file.suffix == to.suffix == ".h5ad":
        from fedhull import tl

        data = open_h5ad(file)
        found = tl.align(data, open_h5ad(to), label=label)
        if target.suffix == ".h5ad":
            write_h5ad(data, target)
        else:
            write_points(target, data.obsm["X_poincare"])
    else:
        found = _align_tables(file, to, target, label or "label")
    numbers = {"out": str(target), "reflected": found.isometry.reflects} | found.to_json()
    if json:
        print_json(numbers)
        return
    mirrored = ", mirrored" if found.isometry.reflects else ""
    what = "class centres" if found.classes else "shared cells"
    out.print(
        f"Matched {len(found.distances):,} {what}{mirrored}. Typical distance within a pair: "
        f"{found.before:.3f} before, {found.misfit:.3f} after.\nWritten: {target}"
        f"{'' if model_out is None else f', {model_out}'}",
    )


def _align_to_model(
    file: Path, to: Path, target: Path, label: str, model_out: Path | None, site: str
) -> "Alignment":
    """By the centres that the model carries, with what a few labels allow to be believed."""
    from fedhull.data.files import load_file, open_h5ad, write_h5ad, write_points
    from fedhull.embed.cells import record_alignment
    from fedhull.learn.aligned import AlignedClassifier
    from fedhull.learn.model import load_model, save_model
    from fedhull.learn.site_alignment import align_newcomer, study_model

    if model_out is not None and not model_out.parent.is_dir():
        raise InvalidInput(
            f"--model-out must be in a folder that exists, but {model_out.parent} does not"
        )
    model = load_model(to)
    x, labels = load_file(file, label)
    found = align_newcomer(x, labels, model)
    if target.suffix == ".h5ad":
        data = open_h5ad(file)
        record_alignment(data, found.isometry.apply(x), found)
        write_h5ad(data, target)
    else:
        write_points(target, found.isometry.apply(x), labels)
    if model_out is not None:
        study = getattr(model, "study", "")
        save_model(AlignedClassifier(study_model(model), found.isometry, site, study), model_out)
    return found


def _align_tables(file: Path, to: Path, target: Path, label: str) -> "Alignment":
    """By the centres of classes: tables do not name their points."""
    from fedhull.data.files import load_file, read_curvature, write_points
    from fedhull.disc.align import align_by_class

    x, labels = load_file(file, label)
    found = align_by_class(x, labels, *load_file(to, label), curvature=read_curvature(file))
    write_points(target, found.isometry.apply(x), labels)
    return found
