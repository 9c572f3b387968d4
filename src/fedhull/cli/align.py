"""`fedhull align`: an embedding moved to the frame of another."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fedhull.cli.console import JsonFlag, check_target, out, print_json
from fedhull.cli.embed import endings_for
from fedhull.errors import InvalidInput

if TYPE_CHECKING:
    from fedhull.disc.align import Alignment


def align(
    file: Annotated[Path, Argument(help="Points to move: .h5ad, .npz or .csv.")],
    to: Annotated[
        Path,
        Option(help="Points in the frame to fit, or a model.json of a study with aligned sites."),
    ],
    target: Annotated[Path, Option("--out", help="File to write: .h5ad, .npz or .csv.")],
    label: Annotated[
        str | None,
        Option(help="Match centres of the classes in this column, instead of cells by name."),
    ] = None,
    model_out: Annotated[
        Path | None,
        Option(
            help="With a model: write a model for the unmoved points of FILE, to be used with "
            "predict."
        ),
    ] = None,
    site: Annotated[
        str, Option(help="With --model-out: the site of the points.")
    ] = "a site outside the study",
    json: JsonFlag = False,
) -> None:
    """Rotate, mirror and move an embedding to fit another, or a model.

    To fit a model, points are not mirrored, and labels must be classes of the model. A few labelled
    points of some classes are enough; --model-out then serves all points of the same site.
    """
    from fedhull.data.files import open_h5ad, write_h5ad, write_points

    check_target(target, endings_for(file))
    if to.suffix == ".json":
        fit = _align_to_model(file, to, target, label or "label", model_out, site)
    elif model_out is not None:
        raise InvalidInput(f"--model-out goes with a model.json as --to, not with {to}")
    elif file.suffix == to.suffix == ".h5ad":
        from fedhull import tl

        data = open_h5ad(file)
        fit = tl.align(data, open_h5ad(to), label=label)
        if target.suffix == ".h5ad":
            write_h5ad(data, target)
        else:
            write_points(target, data.obsm["X_poincare"])
    else:
        fit = _align_tables(file, to, target, label or "label")
    numbers = {"out": str(target), "reflected": fit.isometry.reflects} | fit.to_json()
    if json:
        print_json(numbers)
        return
    mirrored = ", mirrored" if fit.isometry.reflects else ""
    what = "class centres" if fit.classes else "shared cells"
    out.print(
        f"Matched {len(fit.distances):,} {what}{mirrored}. Typical distance within a pair: "
        f"{fit.before:.3f} before, {fit.misfit:.3f} after.\nWritten: {target}"
        f"{'' if model_out is None else f', {model_out}'}"
    )


def _align_to_model(
    file: Path, to: Path, target: Path, label: str, model_out: Path | None, site: str
) -> "Alignment":
    """Fit the class centres of a model."""
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
    fit = align_newcomer(x, labels, model)
    if target.suffix == ".h5ad":
        data = open_h5ad(file)
        record_alignment(data, fit.isometry.apply(x), fit)
        write_h5ad(data, target)
    else:
        write_points(target, fit.isometry.apply(x), labels)
    if model_out is not None:
        study = getattr(model, "study", "")
        save_model(AlignedClassifier(study_model(model), fit.isometry, site, study), model_out)
    return fit


def _align_tables(file: Path, to: Path, target: Path, label: str) -> "Alignment":
    """Fit class centres, as tables do not name their points."""
    from fedhull.data.files import load_file, read_curvature, write_points
    from fedhull.disc.align import align_by_class

    x, labels = load_file(file, label)
    fit = align_by_class(x, labels, *load_file(to, label), curvature=read_curvature(file))
    write_points(target, fit.isometry.apply(x), labels)
    return fit
