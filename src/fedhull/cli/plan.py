"""`fedhull plan`: what a study with these settings would send, before anything is sent."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from fedhull.cli.attachment import read_attachment
from fedhull.cli.console import JsonFlag, out, prepare_kernels, print_json
from fedhull.cli.options import (
    AgreedNamesFlag,
    EpsilonOption,
    FeaturesOption,
    GuardOption,
    LabelCodeOption,
    LabelOption,
    LayerOption,
    MinCellsOption,
    SummaryOption,
)
from fedhull.errors import InvalidInput
from fedhull.study.draft import SETTINGS, default_of, draft_study, with_names
from fedhull.study.task import Source

if TYPE_CHECKING:
    from fedhull.protocol.agreement import Agreement
    from fedhull.study.plan import Plan


def plan(
    context: typer.Context,
    study_file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[STUDY]",
            help="The study or its draft, a TOML file, or a kit; it says all that the options of "
            "settings say.",
        ),
    ] = None,
    clients: Annotated[int | None, typer.Option(help="Sites on the roster, L.")] = None,
    classes: Annotated[
        int | None, typer.Option(help="Most classes that a site may have, J; counted in --data.")
    ] = None,
    epsilon: EpsilonOption = 0.01,
    radius: Annotated[float, typer.Option(help="All points lie within this radius, R.")] = 0.95,
    curvature: Annotated[float, typer.Option(help="k; the space has curvature −k.")] = default_of(
        "curvature"
    ),
    label_code: LabelCodeOption = default_of("label_code"),
    corners: Annotated[
        int, typer.Option(min=1, help="Corners of a site's hulls, without --data.")
    ] = 100,
    data: Annotated[
        str | None, typer.Option(help="A site's own points: a file or a built-in name.")
    ] = None,
    label: LabelOption = "label",
    encoder: Annotated[
        Path | None, typer.Option(help="Place the cells of --data with this encoder file first.")
    ] = None,
    summary: SummaryOption = default_of("summary"),
    features: FeaturesOption = default_of("features"),
    agreed_names: AgreedNamesFlag = False,
    guard: GuardOption = default_of("guard"),
    min_cells: MinCellsOption = default_of("min_cells"),
    genes: Annotated[
        Path | None,
        typer.Option(
            help="Plan a study that makes an encoder, with this list of genes: a text file, or an "
            ".h5ad whose genes are taken. --data are then raw counts."
        ),
    ] = None,
    donor: Annotated[
        str | None,
        typer.Option(help="With a study file: the column that says whose cells they are."),
    ] = None,
    layer: LayerOption = None,
    json: JsonFlag = False,
) -> None:
    """Show what a study would send: how it is coded, bytes, what would leave a site."""
    from fedhull.study.kinds import task_of

    if study_file is not None:
        _check_options(context)
        prepare_kernels(quiet=json)
        source = None if data is None else Source(data, label, layer, donor)
        study, numbers, words = _plan_of(study_file, encoder, genes, source, corners)
        _show(numbers, words, study, json)
        return
    if clients is None:
        raise InvalidInput("name a study file, or give --clients")
    if genes is not None:
        study, (numbers, words) = _encoder_plan(clients, genes, min_cells, data, layer)
        _show(numbers, words, study, json)
        return
    x = y = None
    if data is not None:
        prepare_kernels(quiet=json)
        x, y = _own_points(data, label, encoder, layer)
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
    _show(numbers, words, study, json)


def _show(numbers: dict[str, Any], words: list[str], study: "Agreement", json: bool) -> None:
    from fedhull.protocol.agreement import collusion_words

    if json:
        print_json(numbers)
        return
    out.print("\n".join(words))
    out.print(
        f"Threshold: {study.threshold} of {len(study.clients)} sites must stay to the end. "
        f"{collusion_words(study)}"
    )
    if study.circle and study.jury:
        out.print(
            f"Each site shares masks and shares with some of the others: {study.circle.members} "
            f"hold its shares, and {study.jury.members} witnesses are drawn for each sum. Bytes "
            f"are those of a site that is no witness, on average over these draws."
        )


def _check_options(context: typer.Context) -> None:
    """Refuse settings beside a study file, which has them."""
    given = [
        f"--{name.replace('_', '-')}"
        for name in (*SETTINGS, "clients", "classes", "agreed_names")
        if getattr(context.get_parameter_source(name), "name", None) == "COMMANDLINE"
    ]
    if given:
        raise InvalidInput(f"the study file says this already; leave out {', '.join(given)}")


def _plan_of(
    file: Path, encoder: Path | None, genes: Path | None, source: Source | None, corners: int
) -> "tuple[Agreement, dict[str, Any], list[str]]":
    """The plan of a study file, for a site with these data."""
    from fedhull.kits.checkup import read_study, task_with

    study, _, attached = read_study(file, read_attachment(encoder, genes))
    task = task_with(study, attached)
    own = None if source is None else task.read(source)
    return study, *task.plan(own, corners)


def _encoder_plan(
    clients: int, genes: Path, min_cells: int, data: str | None, layer: str | None
) -> "tuple[Agreement, Plan]":
    """The plan of an encoder study of three sums."""
    from fedhull.study.federated import draft_neighbours
    from fedhull.study.neighbours.genes import read_genes
    from fedhull.study.neighbours.task import NeighbourTask
    from fedhull.study.study import Disclosure

    listed = read_genes(genes)
    study = draft_neighbours(clients, listed, Disclosure(min_cells=min_cells))
    task = NeighbourTask(study, listed)
    own = None if data is None else task.read(Source(data, layer=layer))
    return study, task.plan(own)


def _names(classes: int, y: Any) -> list[str]:
    """Agreed names: those in the data, or as many as there are classes."""
    return [f"class {n + 1}" for n in range(classes)] if y is None else np.unique(y).tolist()


def _own_points(data: str, label: str, encoder: Path | None, layer: str | None) -> Any:
    """Points and labels of a site's data."""
    from fedhull.data.datasets import load_dataset
    from fedhull.embed.embedder import load_cell_embedder
    from fedhull.study.frame import load_points

    if encoder is None:
        if layer is not None:
            raise InvalidInput("--layer names raw counts, which --encoder places or --genes lists")
        return load_dataset(data, label)
    return load_points(load_cell_embedder(encoder), data, label, layer)[:2]
