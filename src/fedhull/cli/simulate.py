"""`fedhull simulate`: a federated study in one process."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

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
from fedhull.cli.options import (
    AgreedNamesFlag,
    EpsilonOption,
    FeaturesOption,
    GuardOption,
    LabelCodeOption,
    LabelOption,
    MinCellsOption,
    SummaryOption,
)
from fedhull.errors import InvalidInput
from fedhull.simulation.experiment import Experiment
from fedhull.study.draft import default_of


def simulate(
    dataset: Annotated[str, typer.Option(help="A built-in name, or an .npz/.csv/.parquet/.h5ad.")],
    clients: Annotated[
        int | None,
        typer.Option(help="Number of sites, L; by default 3, or as many as the column names."),
    ] = None,
    epsilon: EpsilonOption = 0.01,
    radius: Annotated[
        float | None, typer.Option(help="R; by default the smallest that holds all points.")
    ] = None,
    curvature: Annotated[
        float | None,
        typer.Option(help="k; the space has curvature −k. By default what the file says, or 1."),
    ] = None,
    summary: SummaryOption = default_of("summary"),
    features: FeaturesOption = default_of("features"),
    align: Annotated[
        int,
        typer.Option(help="Times that sites align themselves; -1: twice with moments, else never."),
    ] = default_of("align"),
    method: Annotated[
        str, typer.Option(help="lorentz, poincare-svm, euclidean-svm, or one you installed.")
    ] = default_of("method"),
    grouping: Annotated[
        str, typer.Option(help="matching, kernighan-lin, spectral, or one you installed.")
    ] = default_of("grouping"),
    guard: GuardOption = default_of("guard"),
    min_cells: MinCellsOption = default_of("min_cells"),
    label_code: LabelCodeOption = default_of("label_code"),
    ballot: Annotated[
        bool | None,
        typer.Option(
            "--ballot/--no-ballot",
            help="Whether sites judge candidates before a model is published; by default they do, "
            "but for --min-cells 1 --guard none, which is the paper.",
        ),
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            help=f"Share of training points that sites judge with; by default "
            f"{default_of('holdout')}, without a ballot 0."
        ),
    ] = None,
    partition: Annotated[
        str, typer.Option(help="iid, dirichlet:A or column:NAME.")
    ] = Experiment.partition,
    switch_labels: Annotated[
        bool, typer.Option("--switch-labels", help="Every site numbers its classes its own way.")
    ] = False,
    agreed_names: AgreedNamesFlag = False,
    site_shift: Annotated[
        float, typer.Option(help="Move every site's cells by an isometry of this length, S.")
    ] = Experiment.site_shift,
    dp_epsilon: Annotated[
        float | None,
        typer.Option(help="With moments: noise hides every single cell, as ε says."),
    ] = None,
    dp_delta: Annotated[
        float | None, typer.Option(help=f"δ; by default {default_of('dp_delta')}.")
    ] = None,
    dp_unit: Annotated[
        str | None, typer.Option(help="What is hidden: a cell (default), or a column's, a donor.")
    ] = None,
    trials: Annotated[int, typer.Option(help="Runs, each with its own seed.")] = Experiment.trials,
    seed: Annotated[
        int, typer.Option(help="Seed of every random choice but keys.")
    ] = Experiment.seed,
    test_size: Annotated[
        float, typer.Option(help="Share of points kept for testing.")
    ] = Experiment.test_size,
    split_seed: Annotated[
        int | None, typer.Option(help="Use this one split in all trials.")
    ] = None,
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Also pooled data, sites alone, the paper's.")
    ] = False,
    drop: Annotated[
        str | None, typer.Option(help="N@STEP: N sites vanish before share, upload or unmask.")
    ] = None,
    frame: Annotated[
        str | None,
        typer.Option(
            help="Where the encoder of raw cells comes from: pooled training cells (default), sums "
            "of what sites send, or a reference, the largest site's."
        ),
    ] = None,
    label: LabelOption = "label",
    model: Annotated[
        Path | None, typer.Option("--model", help="Write the first trial's model here.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder for model, result and report page; by default fedhull-simulation, with "
            "--json none.",
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Run a federated study on a data set, with every message through the real protocol."""
    from fedhull.data.datasets import load_column
    from fedhull.data.files import read_curvature
    from fedhull.learn.model import save_model
    from fedhull.report.page_file import page_to_json
    from fedhull.simulation.simulate import simulate as run

    prepare_kernels(quiet=json)
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
    if curvature is None:
        curvature = read_curvature(dataset)
    with progress_bar(quiet=json) as bar:
        result = run(
            x, y, clients=clients, epsilon=epsilon, radius=radius, curvature=curvature,
            summary=summary, features=features, align=align, site_shift=site_shift,
            method=method, grouping=grouping, guard=guard, min_cells=min_cells,
            label_code=label_code, ballot=ballot, holdout=holdout,
            dp_epsilon=dp_epsilon, dp_delta=dp_delta, dp_unit=dp_unit, donors=donors,
            partition=owners, agreed_names=agreed_names,
            switch_labels=switch_labels, trials=trials, seed=seed,
            test_size=test_size, split_seed=split_seed, baselines=baselines, drop=drop,
            frame=frame, tradeoff=folder is not None, report=showing(bar),
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
    """Points, or cells if they are not in the disc yet or are to be placed anew, and labels."""
    from fedhull.data.datasets import BUILT_IN, is_raw, load_dataset, load_raw

    raw = dataset in BUILT_IN or is_raw(dataset)
    if raw or frame is not None:
        found = load_raw(dataset, label)
        if found is None:
            raise InvalidInput(
                f"--frame is for raw cells, in an .h5ad file or one of {', '.join(BUILT_IN)}, but "
                f"{dataset} holds points"
            )
        if frame is None:
            note(
                f"{dataset} holds raw cells: in each trial, an encoder is fitted to all training "
                f"cells in one place, with default settings (--frame pooled)."
            )
        return found
    return load_dataset(dataset, label, seed, without=without)


def save_simulation(numbers: dict[str, Any], folder: Path) -> Path:
    """Write result.json and the report page into a folder."""
    from fedhull.disk import write_json
    from fedhull.kits.results import RESULT, write_report

    write_json(folder / RESULT, numbers)
    return write_report(folder)


def _hulls_left(numbers: dict[str, Any]) -> list[str]:
    """What left where sites send hulls."""
    leakage = numbers["leakage"]
    return [
        f"Leakage: {leakage['points_sent']:.0f} of {leakage['points_total']:.0f} points "
        f"({leakage['ratio']:.1%}) left, as bins; the largest hull has {leakage['max_hull']} "
        f"corners. The guard kept {leakage['points_guarded']:.0f} points out, and "
        f"{_withheld(leakage)}.",
        _disclosed(leakage),
        f"Bytes up per site: {numbers['bytes_up_per_client']:,} (label code "
        f"{numbers['label_code']}, field of {numbers['field_bits']} bits, "
        f"{numbers['bins']:,} bins).",
        f"Hulls at the server equal the sites': {_yes(numbers['decoded_exactly'])}; in the right "
        f"class: {numbers['grouping_correct']:.1%}.",
    ]


def _withheld(leakage: dict[str, Any]) -> str:
    # a mean over trials
    return f"{leakage['classes_withheld']:.1f}".removesuffix(".0") + " classes were withheld"


def _moments_left(numbers: dict[str, Any]) -> list[str]:
    """What left where sites send moments."""
    leakage, settings = numbers["leakage"], numbers["settings"]
    smallest, features = leakage["smallest_group"], settings["features"]
    agreed = settings["agreed_names"]
    if numbers["dp"] is not None:
        return _left_in_noise(numbers)
    sketches = (
        "Names were agreed, so nothing was sent to match classes by."
        if agreed
        else f"For each class of each site a count left, and {_told_of_classes(settings)}, all of "
        f"at least {smallest} cells."
    )
    align = settings["align"]
    centres = "" if align == 0 else "The centres of classes that several sites have left as totals."
    return [
        f"Leakage: no points left. {sketches} {centres}".rstrip(),
        f"For all sites together, totals of up to {features} features left, by class, and of their "
        f"products. {_withheld(leakage)}."
        + (f" Behind everything that left stand at least {smallest} cells." if agreed else ""),
        f"Bytes up per site: {numbers['bytes_up_per_client']:,} (field of "
        f"{numbers['field_bits']} bits).",
        f"Totals at the server equal the sites' sums: {_yes(numbers['decoded_exactly'])}"
        + ("." if agreed else f"; classes matched rightly: {numbers['grouping_correct']:.1%}."),
    ]


def _left_in_noise(numbers: dict[str, Any]) -> list[str]:
    """What left where noise hides single cells."""
    settings, dp = numbers["settings"], numbers["dp"]
    matched = "" if settings["agreed_names"] else "For each class of each site a count and a sketch"
    exact = f"Totals at the server equal the sites' sums: {_yes(numbers['decoded_exactly'])}"
    return [
        f"Leakage: no points left. {f'{matched} left, with noise. ' if matched else ''}For all "
        f"sites together, totals of {settings['features']} features left, by class, and of their "
        f"products, with noise.",
        f"Differential privacy of every {dp['unit']}: ε = {dp['epsilon']:g}, δ = {dp['delta']:g}, "
        f"whoever drops out; what was added here is ε = {dp['spent']:.2f}. If as many sites as the "
        f"protocol tolerates tell the coordinator their noise, and only as many as must have "
        f"stayed, it is ε = {dp['spent_against_sites']:.2f}.",
        f"Bytes up per site: {numbers['bytes_up_per_client']:,} (field of "
        f"{numbers['field_bits']} bits).",
        exact
        + (f"; classes matched rightly: {numbers['grouping_correct']:.1%}." if matched else "."),
    ]


def _told_of_classes(settings: dict[str, Any]) -> str:
    """What else is said of a class so that it can be matched."""
    if settings["align"] == 0:
        return "a sketch, eight sums over its cells"
    return "where its cells lie, in five numbers or, of eight cells or more, in thirteen"


def _ballot(numbers: dict[str, Any]) -> str:
    """What the sites' held-out cells said in the first trial, and what came of it."""
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


def _yes(right: bool) -> str:
    return "yes" if right else "NO"


def _disclosed(leakage: dict[str, Any]) -> str:
    """What stands behind each point that left."""
    if leakage["cells_exposed"] == 0:
        return (
            f"No cell's position left: everything sent is the mean of at least "
            f"{leakage['smallest_group']} cells."
        )
    return f"{leakage['cells_exposed']:,} cells left with their own position, to within a bin."


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
    dropped = f" {numbers['dropped']} dropped out." if numbers["dropped"] else ""
    left = _moments_left if numbers["bins"] is None else _hulls_left
    seconds = (f"{stage} {seconds:.2f}" for stage, seconds in numbers["seconds"].items())
    out.print(
        f"Sites: {numbers['survivors']} in the sum.{dropped}",
        *left(numbers),
        _ballot(numbers),
        f"Seconds: {', '.join(seconds)}",
        sep="\n",
    )
