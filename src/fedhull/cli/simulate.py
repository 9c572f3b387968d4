"""`fedhull simulate` and `fedhull predict`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from fedhull.cli.console import (
    JsonFlag,
    err,
    out,
    output_folder,
    prepare_kernels,
    print_json,
    progress_bar,
)
from fedhull.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np

LabelOption = Annotated[str, typer.Option(help="Column (or obs key) that holds the classes.")]
_STAGES = ("hulls", "protocol", "scoring")


def simulate(
    dataset: Annotated[str, typer.Option(help="A built-in name, or an .npz/.csv/.parquet/.h5ad.")],
    clients: Annotated[
        int | None,
        typer.Option(help="Number of sites, L; without it 3, or as many as the column names."),
    ] = None,
    epsilon: Annotated[float, typer.Option(help="Width of a bin, ε.")] = 0.01,
    radius: Annotated[
        float | None, typer.Option(help="R; without it, the smallest that holds all points.")
    ] = None,
    curvature: Annotated[
        float | None,
        typer.Option(help="k; the space has curvature −k. Without it, what the file says, or 1."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="lorentz, poincare-svm or euclidean-svm.")
    ] = "lorentz",
    grouping: Annotated[
        str, typer.Option(help="matching, kernighan-lin or spectral.")
    ] = "matching",
    guard: Annotated[
        str, typer.Option(help="none, edit, trim:F or edit+trim:F.")
    ] = "edit+trim:0.02",
    label_code: Annotated[str, typer.Option(help="auto, binary or bose-chowla:H.")] = "auto",
    partition: Annotated[str, typer.Option(help="iid, dirichlet:A or column:NAME.")] = "iid",
    switch_labels: Annotated[
        bool, typer.Option("--switch-labels", help="Every site numbers its classes its own way.")
    ] = False,
    trials: Annotated[int, typer.Option(help="How often, with other seeds.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of every random choice but keys.")] = 0,
    test_size: Annotated[float, typer.Option(help="Share of points kept for testing.")] = 0.15,
    split_seed: Annotated[
        int | None, typer.Option(help="Use this one split in all trials.")
    ] = None,
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Also pooled data and the paper's methods.")
    ] = False,
    drop: Annotated[
        str | None, typer.Option(help="N@STEP: N sites vanish before share, upload or unmask.")
    ] = None,
    label: LabelOption = "label",
    model: Annotated[
        Path | None, typer.Option("--model", help="Write the first trial's model here.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder for model, result and report page; without it fedhull-simulation, or with "
            "--json none.",
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Run a federated study over a data set, every message through the real protocol."""
    from fedhull.data.datasets import load_column, load_dataset
    from fedhull.data.files import read_curvature
    from fedhull.data.raw import embed_file, is_raw
    from fedhull.learn.model import save_model
    from fedhull.report.content import page_to_json
    from fedhull.simulation.simulate import simulate as run

    prepare_kernels(quiet=json)
    column = partition.removeprefix("column:") if partition.startswith("column:") else None
    if is_raw(dataset):
        err.print(
            f"{dataset} has no obsm['X_poincare']: its cells are embedded together, by the "
            f"defaults. 'fedhull embed' keeps the points, and lets you choose how.",
            style="yellow",
            highlight=False,
            markup=False,
        )
        x, y = embed_file(dataset, label)
    else:
        x, y = load_dataset(dataset, label, seed, without=column)
    if folder is None and not json:
        folder = Path("fedhull-simulation")
    if folder is not None:
        folder = output_folder(folder)
    owners: Any = partition if column is None else load_column(dataset, column)
    if clients is None:
        clients = 3 if column is None else len(set(owners.tolist()))
    if curvature is None:
        curvature = read_curvature(dataset)
    with progress_bar(quiet=json) as bar:
        stages = len(_STAGES) + baselines + (folder is not None) / max(1, trials)
        task = bar.add_task("starting", total=max(1, trials) * stages)

        def report(trial: int, stage: str) -> None:
            bar.update(task, description=f"trial {trial + 1}: {stage}", advance=1)

        result = run(
            x, y, clients=clients, epsilon=epsilon, radius=radius, curvature=curvature,
            method=method, grouping=grouping, guard=guard, label_code=label_code,
            partition=owners, switch_labels=switch_labels, trials=trials, seed=seed,
            test_size=test_size, split_seed=split_seed, baselines=baselines, drop=drop,
            tradeoff=folder is not None, report=report,
        )  # fmt: skip
    title = f"{Path(dataset).stem}, {clients} sites"
    numbers = result.to_json() | {"report": page_to_json(result.page(title))}
    if model is not None:
        save_model(result.model, model)
        numbers["model"] = str(model)
    if folder is not None:
        save_model(result.model, folder / "model.json")
        save_simulation(numbers, folder)
    if json:
        print_json(numbers)
        return
    print_simulation(numbers)
    if model is not None:
        out.print(f"Model: {model}", highlight=False)
    out.print(f"Model, result and report page: {folder}", highlight=False, soft_wrap=True)


def predict(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="An .npz, .csv, .parquet or .h5ad file.")],
    label: LabelOption = "label",
    encoder: Annotated[
        Path | None, typer.Option(help="Place raw cells by this encoder file first.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Classes of the points in a file, one line each; the label column, if any, is ignored."""
    from fedhull.learn.model import load_model

    classifier = load_model(model)
    predicted = classifier.predict(
        _points_for(model, classifier.encoder_, data, label, encoder)
    ).tolist()
    if json:
        print_json({"classes": predicted})
        return
    for name in predicted:
        typer.echo(name)


def _points_for(
    model: Path, wanted: str | None, data: str, label: str, encoder: Path | None
) -> "np.ndarray":
    """The file's points, in the frame that the model was trained in, as far as that is known;
    `wanted` is the hash of the encoder that it was trained on."""
    from fedhull.data.files import load_points, open_h5ad
    from fedhull.embed.annotated import made_by
    from fedhull.embed.embedder import load_cell_embedder
    from fedhull.federation.frame import place_points

    if encoder is not None:
        placer = load_cell_embedder(encoder)
        if wanted not in (None, placer.hash):
            raise InvalidInput(
                f"{model} was trained on points of the encoder {wanted}, but {encoder} is "
                f"{placer.hash}; use the encoder in the study's kit"
            )
        return place_points(placer, data, label)
    points = load_points(data, label)
    if wanted and data.endswith(".h5ad") and made_by(open_h5ad(data, backed=True)) != wanted:
        raise InvalidInput(
            f"{model} was trained on points of the encoder {wanted}, and those of {data} come from "
            f"another or do not tell; name its file, encoder.npz in the study's kit, by --encoder"
        )
    return points


def save_simulation(numbers: dict[str, Any], folder: Path) -> Path:
    """Write result.json and the report page into a folder."""
    from fedhull.federation.kit import RESULT, write_json
    from fedhull.federation.report import write_report

    write_json(folder / RESULT, numbers)
    return write_report(folder)


def print_simulation(numbers: dict[str, Any]) -> None:
    """The result of a simulation as tables and sentences."""
    from fedhull.report.words import DESCRIPTIONS

    table = Table(title="Accuracy on the test points, percent")
    for column in ("method", "mean", "± 95 %", "trials"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for name, score in numbers["accuracy"].items():
        table.add_row(
            DESCRIPTIONS.get(name, name),
            f"{score['mean']:.2f}",
            f"{score['ci95']:.2f}" if len(score["trials"]) > 1 else "",
            str(len(score["trials"])),
        )
    out.print(table)
    leakage = numbers["leakage"]
    vanished = f" {numbers['dropped']} vanished." if numbers["dropped"] else ""
    out.print(
        f"Sites: {numbers['survivors']} in the sum.{vanished}\n"
        f"Leakage: {leakage['points_sent']:.0f} of {leakage['points_total']:.0f} points "
        f"({leakage['ratio']:.1%}) left, as bins; the largest hull has {leakage['max_hull']}. "
        f"The guard kept {leakage['points_guarded']:.0f} out.\n"
        f"Bytes up per site: {numbers['bytes_up_per_client']:,} (label code "
        f"{numbers['label_code']}, field of {numbers['field_bits']} bits, "
        f"{numbers['bins']:,} bins).\n"
        f"Hulls at the server equal the sites': {'yes' if numbers['decoded_exactly'] else 'NO'}; "
        f"in the right class: {numbers['grouping_correct']:.1%}.\n"
        "Seconds: "
        + ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in numbers["seconds"].items()),
        highlight=False,
    )
