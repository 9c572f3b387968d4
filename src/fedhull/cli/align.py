"""`fedhull align`: an embedding brought into the frame of another."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedhull.cli.console import JsonFlag, out, print_json
from fedhull.cli.embed import check_target, write_annotated

if TYPE_CHECKING:
    from fedhull.disc.align import Alignment


def align(
    file: Annotated[Path, typer.Argument(help="Points to move: .h5ad, .npz or .csv.")],
    to: Annotated[Path, typer.Option(help="Points in the frame to fit.")],
    target: Annotated[Path, typer.Option("--out", help="Where to write: .h5ad, .npz or .csv.")],
    label: Annotated[
        str | None,
        typer.Option(
            help="Match the centres of the classes in this column; by default, cells by name."
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Rotate, mirror and move a whole embedding so that it fits another."""
    from fedhull.data.files import write_points
    from fedhull.data.h5ad import open_h5ad

    check_target(file, target)
    if file.suffix == to.suffix == ".h5ad":
        from fedhull import tl

        data = open_h5ad(file)
        found = tl.align(data, open_h5ad(to), label=label)
        if target.suffix == ".h5ad":
            write_annotated(data, target)
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
        f"{found.before:.3f} before, {found.misfit:.3f} after.\nWritten: {target}",
    )


def _align_tables(file: Path, to: Path, target: Path, label: str) -> "Alignment":
    """By the centres of classes: tables do not name their points."""
    from fedhull.data.files import load_file, read_curvature, write_points
    from fedhull.disc.align import align_by_class

    x, labels = load_file(file, label)
    found = align_by_class(x, labels, *load_file(to, label), curvature=read_curvature(file))
    write_points(target, found.isometry.apply(x), labels)
    return found
