"""`fedhull demo`: a whole federated study on generated data, in one process, in seconds."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from rich.table import Table
from rich.text import Text
from typer import Option

from fedhull import make_tree, save_model, simulate
from fedhull.errors import MissingExtra
from fedhull.extend import (
    JsonFlag,
    out,
    output_folder,
    page_to_json,
    prepare_kernels,
    print_json,
    print_simulation,
    printable,
    save_simulation,
    spinner,
)

SITES, EPSILON = 4, 0.1


def demo(
    folder: Annotated[Path, Option("--out", help="Folder for the results.")] = Path("fedhull-demo"),
    seed: Annotated[int, Option(help="Random seed.")] = 1,
    json: JsonFlag = False,
) -> None:
    """Run a demo study of four sites, one of which drops out."""
    folder = output_folder(folder)
    prepare_kernels(quiet=json)
    data = make_tree(4_000, batches=SITES, seed=seed)
    with spinner("Running the study") as status:
        hulls = _run(data, "hulls", seed, status, baselines=True, tradeoff=True)
        moments = _run(data, "moments", seed, status)
    trial = hulls.trials[0]
    title = "A demonstration: four sites, six kinds of cells"
    numbers = hulls.to_json() | {"report": page_to_json(hulls.page(title))}
    others = moments.to_json() | {"report": page_to_json(moments.page(f"{title}, moments"))}
    site = trial.session.sites[trial.survivors[0]].outcome
    files = {"model": folder / "model.json", "picture": folder / "hulls.svg"}
    save_model(site.model, files["model"])
    try:
        _draw(files["picture"], hulls)
        picture = f"Picture of the decoded hulls: {files['picture']}"
    except MissingExtra as missing:
        del files["picture"]
        picture = f"No picture of the decoded hulls: {missing}"
    report = save_simulation(numbers, folder)
    other_report = save_simulation(others, output_folder(folder / "moments"))
    if json:
        paths = {name: str(path) for name, path in files.items()}
        print_json(numbers | {"moments": others} | paths)
        return
    print_simulation(numbers)
    out.print(_side_by_side(numbers, others))
    out.print(
        f"The model's classes, in order, as {site.name} names them: "
        f"{', '.join(printable(name) for _, name in sorted(site.names.items()))}.\n"
        f"Model with the class names of {site.name}: {files['model']}\n"
        f"Reports, to open in a browser: {report} and {other_report}\n"
        f"{picture}\n"
        "The whole protocol ran in this process; nothing left this machine."
    )


def _run(data: Any, summary: str, seed: int, status: Any, **options: Any) -> Any:
    return simulate(
        data.x,
        data.y,
        clients=SITES,
        epsilon=EPSILON,
        partition=data.batch,
        summary=summary,
        switch_labels=True,
        drop="1@upload",
        seed=seed,
        report=lambda progress: status.update(
            Text(printable(f"Running the study with {summary}: {progress.step}"))
        ),
        **options,
    )


def _side_by_side(hulls: dict[str, Any], moments: dict[str, Any]) -> Table:
    """Compare the two summaries: quality and disclosure."""
    table = Table(title="The two summaries side by side")
    for column in ("", "hulls", "moments"):
        table.add_column(column)
    rows: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("test points right", lambda r: f"{r['accuracy']['FL']['mean']:.1f} %"),
        ("classes matched rightly", lambda r: f"{r['grouping_correct']:.0%}"),
        ("points that left, as bins", lambda r: f"{r['leakage']['points_sent']:.0f}"),
        ("cells behind anything that left", lambda r: f"≥ {r['leakage']['smallest_group']}"),
        ("cells whose own position left", lambda r: f"{r['leakage']['cells_exposed']}"),
        ("bytes up per site", lambda r: f"{r['bytes_up_per_client']:,}"),
    ]
    for name, value in rows:
        table.add_row(name, value(hulls), value(moments))
    table.add_row(
        "what the coordinator reads",
        "hulls, sketches and counts of unnamed sites' classes",
        "counts, sketches and places of unnamed sites' classes, and totals over all sites",
    )
    return table


def _draw(path: Path, result: Any) -> None:
    """Draw the decoded hulls, a colour for each class, and the decision regions."""
    from fedhull import pl
    from fedhull.extend import new_figure, save_figure

    figure = new_figure(width=7.0)
    axes = figure.subplots()
    axes.set_title("Hulls decoded from the sum, and the regions learned from them", fontsize=11)
    pl.boundaries(result.model, radius=result.geometry.radius, ax=axes)
    pl.hulls(result, ax=axes)
    save_figure(figure, path)
