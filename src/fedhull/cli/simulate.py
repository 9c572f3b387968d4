"""`fedhull simulate`: a federated study in one process."""

from pathlib import Path
from typing import Annotated, Any

from rich.table import Table
from typer import Option

from fedhull.cli.console import (
    JsonFlag,
    note,
    out,
    output_folder,
    prepare_kernels,
    print_json,
    progress_bar,
    showing,
)
from fedhull.cli.options import AgreedNamesFlag, LabelOption
from fedhull.cli.settings import with_settings
from fedhull.errors import InvalidInput
from fedhull.simulation.experiment import Experiment
from fedhull.study.draft import default_of


@with_settings(
    after="clients",
    own={
        "radius": (None, "R; by default the smallest around all points."),
        "curvature": (None, "k; the space has curvature −k. By default the file's, or 1."),
        "ballot": (
            None,
            "Let sites judge candidates before a model is published; the default, except for the "
            "paper's --min-cells 1 --guard none.",
        ),
        "holdout": (
            None,
            f"Share of training points for the ballot; by default {default_of('holdout')}, without "
            f"a ballot 0.",
        ),
    },
)
def simulate(
    dataset: Annotated[str, Option(help="A built-in name, or an .npz/.csv/.parquet/.h5ad.")],
    clients: Annotated[
        int | None, Option(help="Number of sites, L; by default 3, or all in the column.")
    ] = None,
    partition: Annotated[
        str, Option(help="iid, dirichlet:A or column:NAME.")
    ] = Experiment.partition,
    switch_labels: Annotated[
        bool, Option("--switch-labels", help="Let sites number their classes differently.")
    ] = False,
    agreed_names: AgreedNamesFlag = False,
    site_shift: Annotated[
        float, Option(help="Move every site's cells by an isometry of this length, S.")
    ] = Experiment.site_shift,
    trials: Annotated[int, Option(help="Runs, each with its own seed.")] = Experiment.trials,
    seed: Annotated[int, Option(help="Random seed; keys do not depend on it.")] = Experiment.seed,
    test_size: Annotated[
        float, Option(help="Share of points kept for testing.")
    ] = Experiment.test_size,
    split_seed: Annotated[int | None, Option(help="Seed of one split for all trials.")] = None,
    baselines: Annotated[
        bool,
        Option("--baselines", help="Also score pooled data, sites alone and the paper's methods."),
    ] = False,
    drop: Annotated[
        str | None, Option(help="N@STEP: N sites vanish before share, upload or unmask.")
    ] = None,
    frame: Annotated[
        str | None,
        Option(
            help="Source of the encoder for raw cells: pooled training cells (default), sums over "
            "the sites, or reference, the largest site."
        ),
    ] = None,
    label: LabelOption = "label",
    model: Annotated[
        Path | None, Option("--model", help="Write the first trial's model to this file.")
    ] = None,
    folder: Annotated[
        Path | None,
        Option(
            "--out",
            help="Folder for model, result and page; fedhull-simulation by default, none with "
            "--json.",
        ),
    ] = None,
    json: JsonFlag = False,
    **settings: Any,
) -> None:
    """Run a federated study on a data set, through the whole protocol."""
    from fedhull.data.datasets import load_column
    from fedhull.data.files import read_curvature
    from fedhull.learn.model import save_model
    from fedhull.report.page import page_to_json
    from fedhull.simulation.simulate import simulate as run

    prepare_kernels(quiet=json)
    dp_unit = settings["dp_unit"]
    column = partition.removeprefix("column:") if partition.startswith("column:") else None
    x, y = _data(dataset, label, seed, [c for c in (column, dp_unit) if c], frame)
    if folder is None and not json:
        folder = Path("fedhull-simulation")
    if folder is not None:
        folder = output_folder(folder)
    owners: Any = partition if column is None else load_column(dataset, column)
    donors = load_column(dataset, dp_unit) if dp_unit not in (None, default_of("dp_unit")) else None
    if clients is None:
        clients = 3 if column is None else len(set(owners.tolist()))
    if settings["curvature"] is None:
        settings["curvature"] = read_curvature(dataset)
    with progress_bar(quiet=json) as bar:
        result = run(
            x, y, clients=clients, partition=owners, donors=donors, agreed_names=agreed_names,
            site_shift=site_shift, switch_labels=switch_labels, trials=trials, seed=seed,
            test_size=test_size, split_seed=split_seed, baselines=baselines, drop=drop,
            frame=frame, tradeoff=folder is not None, report=showing(bar), **settings,
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
        out.print(f"Model: {model}")
    out.print(f"Model, result and report page: {folder}", soft_wrap=True)


def _data(dataset: str, label: str, seed: int, without: list[str], frame: str | None) -> Any:
    """Points, or cells that are still to be placed, and their labels."""
    from fedhull.data.datasets import BUILT_IN, is_raw, load_dataset, load_raw

    raw = dataset in BUILT_IN or is_raw(dataset)
    if raw or frame is not None:
        cells = load_raw(dataset, label)
        if cells is None:
            raise InvalidInput(
                f"--frame is for raw cells, in an .h5ad file or one of {', '.join(BUILT_IN)}, but "
                f"{dataset} holds points"
            )
        if frame is None:
            note(
                f"{dataset} holds raw cells: in each trial, an encoder with default settings is "
                f"fitted to the pooled training cells (--frame pooled)."
            )
        return cells
    return load_dataset(dataset, label, seed, without=without)


def save_simulation(numbers: dict[str, Any], folder: Path) -> Path:
    """Write result.json and the report page into a folder."""
    from fedhull.disk import write_json
    from fedhull.kits.results import RESULT, write_report

    write_json(folder / RESULT, numbers)
    return write_report(folder)


def _left(numbers: dict[str, Any]) -> list[str]:
    """Lines on what has left the sites, as the rounds disclose it, and the cells behind it."""
    leakage, dp = numbers["leakage"], numbers["dp"]
    points = (
        f"{leakage['points_sent']:.0f} of {leakage['points_total']:.0f} points "
        f"({leakage['ratio']:.1%}) left, as bins; the largest hull has {leakage['max_hull']} "
        f"corners. The guard kept {leakage['points_guarded']:.0f} points out."
    )
    exposed, smallest = leakage["cells_exposed"], leakage["smallest_group"]
    position = f"{exposed:,} cells left with their own position." if exposed else ""
    # a mean over trials
    withheld = f"{leakage['classes_withheld']:.1f}".removesuffix(".0")
    field = f" (field of {numbers['field_bits']} bits)" if numbers["field_bits"] else ""
    return [
        *numbers["disclosures"],
        f"Leakage: {points if leakage['points_sent'] else 'no points left.'} "
        f"{position or 'No cell left with its own position.'}",
        f"Behind everything that left stand at least {smallest:,} cells; {withheld} classes were "
        f"withheld."
        if dp is None
        else _privacy(dp),
        f"Bytes up per site: {numbers['bytes_up_per_client']:,}{field}.",
        f"Sums at the coordinator equal the sites': {'yes' if numbers['decoded_exactly'] else 'NO'}"
        f"; classes matched rightly: {numbers['grouping_correct']:.1%}.",
    ]


def _privacy(dp: dict[str, Any]) -> str:
    return (
        f"Differential privacy of every {dp['unit']}: ε = {dp['epsilon']:g}, δ = {dp['delta']:g}, "
        f"whoever drops out; the noise added here gives ε = {dp['spent']:.2f}. If the largest "
        f"tolerated coalition of sites tells the coordinator its noise, and only the threshold of "
        f"sites stays, it is ε = {dp['spent_against_sites']:.2f}."
    )


def _ballot(numbers: dict[str, Any]) -> str:
    """The sites' vote in the first trial, and its outcome."""
    ballot, error = numbers["ballot"], numbers["calibration_error"]
    words = f"The model was not judged before it was published: {ballot['why_not']}."
    if ballot["held"]:
        chosen = "the default" if ballot["chosen"] == 0 else ballot["candidate"]
        words = (
            f"Ballot (first trial): {ballot['cells']:,} held-out cells chose {chosen} out of "
            f"{ballot['candidates']} candidates; it is right on {ballot['accuracy']:.1f} % of them."
        )
    if error is None:
        return words
    return f"{words} On test points, the model's probabilities are off by {100 * error:.1f} points."


def print_simulation(numbers: dict[str, Any]) -> None:
    """Print the result of a simulation."""
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
    dropped = f" {numbers['dropped']} dropped out." if numbers["dropped"] else ""
    seconds = (f"{stage} {seconds:.2f}" for stage, seconds in numbers["seconds"].items())
    out.print(
        f"Sites: {numbers['survivors']} to the end.{dropped}",
        *_left(numbers),
        _ballot(numbers),
        f"Seconds: {', '.join(seconds)}",
        sep="\n",
    )
