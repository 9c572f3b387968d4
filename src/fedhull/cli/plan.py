"""`fedhull plan`: a study's messages, before any is sent."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from typer import Argument, Option

from fedhull.cli.console import JsonFlag, out, prepare_kernels, print_json
from fedhull.cli.options import AgreedNamesFlag, LabelOption, LayerOption, read_attachment
from fedhull.cli.settings import with_settings
from fedhull.errors import InvalidInput
from fedhull.study.draft import SETTINGS, draft_study, with_names
from fedhull.study.task import Source

if TYPE_CHECKING:
    from fedhull.rounds.disclosure import Plan


@with_settings(after="classes", own={"radius": (0.95, "All points lie within this radius, R.")})
def plan(
    context: typer.Context,
    study_file: Annotated[
        Path | None,
        Argument(
            metavar="[STUDY]",
            help="The study or its draft, a TOML file, or a kit; it replaces the options of "
            "settings.",
        ),
    ] = None,
    clients: Annotated[int | None, Option(help="Number of sites, L.")] = None,
    classes: Annotated[
        int | None, Option(help="Maximum number of classes of a site, J; or --data.")
    ] = None,
    corners: Annotated[int, Option(min=1, help="Corners of a site's hulls, without --data.")] = 100,
    data: Annotated[
        str | None, Option(help="A site's own points: a file or a built-in name.")
    ] = None,
    label: LabelOption = "label",
    encoder: Annotated[
        Path | None, Option(help="Place the cells of --data with this encoder file first.")
    ] = None,
    agreed_names: AgreedNamesFlag = False,
    genes: Annotated[
        Path | None,
        Option(
            help="Plan a study that makes an encoder from raw counts, with the genes in this text "
            "file or .h5ad."
        ),
    ] = None,
    donor: Annotated[
        str | None, Option(help="With a study file: column of each cell's donor.")
    ] = None,
    layer: LayerOption = None,
    json: JsonFlag = False,
    **settings: Any,
) -> None:
    """Show what a study would send: coding, bytes, disclosures."""
    from fedhull.study.kinds import task_of

    if study_file is not None:
        _refuse_settings(context)
        prepare_kernels(quiet=json)
        source = None if data is None else Source(data, label, layer, donor)
        _show(*_plan_of(study_file, encoder, genes, source, corners), json)
        return
    if clients is None:
        raise InvalidInput("name a study file, or give --clients")
    if genes is not None:
        _show(*_encoder_plan(clients, genes, settings["min_cells"], data, layer), json)
        return
    x = y = None
    if data is not None:
        prepare_kernels(quiet=json)
        x, y = _own_points(data, label, encoder, layer)
        classes = classes or len(set(y.tolist()))
    if classes is None:
        raise InvalidInput("--classes must be given, or --data to count them in")
    study = draft_study(clients, classes, name="plan", **settings)
    if agreed_names:
        y = None if y is None else y.astype(str)
        names = [f"class {n + 1}" for n in range(classes)] if y is None else np.unique(y).tolist()
        study = with_names(study, names)
    task: Any = task_of(study)
    own = None if y is None else task.hold(x, y, np.unique(y))
    _show(study, task.plan(own, corners), json)


def _show(study: Any, plan: "Plan", json: bool) -> None:
    from fedhull.protocol.agreement import collusion_words

    if json:
        print_json(plan.numbers)
        return
    out.print("\n".join(plan.words))
    out.print(
        f"Threshold: {study.threshold} of {len(study.clients)} sites must stay to the end. "
        f"{collusion_words(study)}"
    )
    if study.circle and study.jury:
        out.print(
            f"Each site shares masks and shares with some of the others: {study.circle.members} "
            f"hold its shares, and {study.jury.members} witnesses are drawn for each round. Bytes "
            f"are those of a site that is no witness, on average over these draws."
        )


def _refuse_settings(context: typer.Context) -> None:
    """Refuse settings beside a study file, which has them."""
    options = [
        f"--{name.replace('_', '-')}"
        for name in (*SETTINGS, "clients", "classes", "agreed_names")
        if getattr(context.get_parameter_source(name), "name", None) == "COMMANDLINE"
    ]
    if options:
        raise InvalidInput(f"the study file says this already; leave out {', '.join(options)}")


def _plan_of(
    file: Path, encoder: Path | None, genes: Path | None, source: Source | None, corners: int
) -> "tuple[Any, Plan]":
    """The study of a file, and its plan for a site with these data."""
    from fedhull.kits.checkup import read_study, task_with

    study, _, attached = read_study(file, read_attachment(encoder, genes))
    task = task_with(study, attached)
    return study, task.plan(None if source is None else task.read(source), corners)


def _encoder_plan(
    clients: int, genes: Path, min_cells: int, data: str | None, layer: str | None
) -> "tuple[Any, Plan]":
    """A study that makes an encoder, and its plan."""
    from fedhull.study.encoder import EncoderTask
    from fedhull.study.federated import draft_neighbours
    from fedhull.study.gene_list import read_genes
    from fedhull.study.study import Disclosure

    listed = read_genes(genes)
    study = draft_neighbours(clients, listed, Disclosure(min_cells=min_cells))
    task = EncoderTask(study, listed)
    return study, task.plan(None if data is None else task.read(Source(data, layer=layer)))


def _own_points(data: str, label: str, encoder: Path | None, layer: str | None) -> Any:
    """Points and labels of a site's data."""
    from fedhull.data.datasets import load_dataset
    from fedhull.embed.embedder import load_cell_embedder
    from fedhull.study.frame import load_points

    if encoder is not None:
        return load_points(load_cell_embedder(encoder), data, label, layer)[:2]
    if layer is not None:
        raise InvalidInput("--layer names raw counts, which --encoder places or --genes lists")
    return load_dataset(data, label)
