"""`fedhull plan`: what a study with these settings would send, before anything is sent."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fedhull.cli.console import JsonFlag, out, prepare_kernels, print_json
from fedhull.errors import InvalidInput
from fedhull.study.draft import default_of, draft_study, with_names


def plan(
    clients: Annotated[int, typer.Option(help="Sites on the roster, L.")],
    classes: Annotated[
        int | None, typer.Option(help="Most classes that a site may have, J; counted in --data.")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="Width of a bin, ε.")] = 0.01,
    radius: Annotated[float, typer.Option(help="All points lie within this radius, R.")] = 0.95,
    curvature: Annotated[float, typer.Option(help="k; the space has curvature −k.")] = default_of(
        "curvature"
    ),
    label_code: Annotated[
        str, typer.Option(help="auto, pairs, binary or bose-chowla:H.")
    ] = default_of("label_code"),
    corners: Annotated[
        int, typer.Option(min=1, help="Corners of a site's hulls, without --data.")
    ] = 100,
    data: Annotated[
        str | None, typer.Option(help="A site's own points: a file or a built-in name.")
    ] = None,
    label: Annotated[str, typer.Option(help="Column that holds the classes.")] = "label",
    encoder: Annotated[
        Path | None, typer.Option(help="Place the cells of --data with this encoder file first.")
    ] = None,
    summary: Annotated[str, typer.Option(help="What sites send: hulls or moments.")] = default_of(
        "summary"
    ),
    features: Annotated[
        int, typer.Option(help="How many functions moments are of at most, D.")
    ] = default_of("features"),
    agreed_names: Annotated[
        bool, typer.Option("--agreed-names", help="All sites use the same names.")
    ] = False,
    guard: Annotated[
        str, typer.Option(help="none, or parts joined by +: edit, trim:F, group:K, your own.")
    ] = default_of("guard"),
    min_cells: Annotated[
        int, typer.Option(help="Nothing leaves that is made of fewer cells.")
    ] = default_of("min_cells"),
    json: JsonFlag = False,
) -> None:
    """Show what a study would send: how it is coded, bytes, what would leave a site."""
    from fedhull.protocol.agreement import collusion_words
    from fedhull.study.task import task_of

    x = y = None
    if data is not None:
        prepare_kernels(quiet=json)
        x, y = _own_points(data, label, encoder)
        classes = classes or len(set(y.tolist()))
    if classes is None:
        raise InvalidInput("--classes must be given, or --data to count them in")
    study = draft_study(
        clients, classes, name="plan", epsilon=epsilon, radius=radius, curvature=curvature,
        summary=summary, features=features, label_code=label_code, guard=guard,
        min_cells=min_cells,
    )  # fmt: skip
    if agreed_names:
        y = None if y is None else y.astype(str)
        study = with_names(study, _names(classes, y))
    task: Any = task_of(study)
    own = None if y is None else task.hold(x, y, np.unique(y))
    numbers, words = task.plan(own, corners)
    if json:
        print_json(numbers)
        return
    out.print("\n".join(words))
    out.print(
        f"Threshold: {study.threshold} of {clients} sites must stay to the end. "
        f"{collusion_words(study)}"
    )


def _names(classes: int, y: Any) -> list[str]:
    """Agreed names: those in the data, or as many as there are classes."""
    return [f"class {n + 1}" for n in range(classes)] if y is None else np.unique(y).tolist()


def _own_points(data: str, label: str, encoder: Path | None) -> Any:
    """Points and labels of a site's data."""
    from fedhull.data.datasets import load_dataset
    from fedhull.embed.embedder import load_cell_embedder
    from fedhull.study.frame import load_points

    if encoder is None:
        return load_dataset(data, label)
    return load_points(load_cell_embedder(encoder), data, label)
