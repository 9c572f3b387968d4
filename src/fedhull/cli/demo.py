"""`fedhull demo`: a whole federated study on generated data, in one process, in seconds."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from fedhull.cli.console import (
    JsonFlag,
    SeedOption,
    err,
    out,
    output_folder,
    prepare_kernels,
    print_json,
)
from fedhull.cli.simulate import print_simulation, save_simulation
from fedhull.errors import MissingExtra
from fedhull.text import printable

SITES, EPSILON = 4, 0.1


def demo(
    folder: Annotated[Path, typer.Option("--out", help="Folder for the results.")] = Path(
        "fedhull-demo"
    ),
    seed: SeedOption = 1,
    json: JsonFlag = False,
) -> None:
    """Run a whole study: four sites, six kinds of cells, one site drops out."""
    from fedhull.data.tree import make_tree
    from fedhull.learn.model import save_model
    from fedhull.report.page_file import page_to_json
    from fedhull.simulation.simulate import simulate

    folder = output_folder(folder)
    prepare_kernels(quiet=json)
    data = make_tree(4_000, batches=SITES, seed=seed)
    with err.status("Running the study") as status:
        if json:
            status.stop()
        result = simulate(
            data.x,
            data.y,
            clients=SITES,
            epsilon=EPSILON,
            partition=data.batch,
            switch_labels=True,
            drop="1@upload",
            baselines=True,
            tradeoff=True,
            seed=seed,
            report=lambda progress: status.update(
                Text(printable(f"Running the study: {progress.step}"))
            ),
        )
    trial = result.trials[0]
    page = page_to_json(result.page("A demonstration: four sites, six kinds of cells"))
    numbers = result.to_json() | {"report": page}
    site = trial.session.sites[trial.survivors[0]]
    files = {"model": folder / "model.json", "picture": folder / "hulls.svg"}
    save_model(site.model, files["model"])
    try:
        _draw(files["picture"], result)
        picture = f"Picture of the decoded hulls: {files['picture']}"
    except MissingExtra as missing:
        del files["picture"]
        picture = f"No picture of the decoded hulls: {missing}"
    report = save_simulation(numbers, folder)
    if json:
        print_json(numbers | {name: str(path) for name, path in files.items()})
        return
    print_simulation(numbers)
    out.print(
        f"The server's classes, in order, as {site.name} names them: "
        f"{', '.join(printable(name) for _, name in sorted(site.names.items()))}.\n"
        f"Model with the class names of {site.name}: {files['model']}\n"
        f"Report, to open in a browser: {report}\n"
        f"{picture}\n"
        "Everything ran in this process, through the whole protocol; nothing left this machine.",
    )


def _draw(path: Path, result: Any) -> None:
    """The hulls as the server decoded them, each class in its colour, and the decision regions."""
    from fedhull import pl
    from fedhull.report.disc_plot import new_figure, save_figure

    figure = new_figure(width=7.0)
    axes = figure.subplots()
    axes.set_title("What the server decoded from the sum, and what it learned", fontsize=11)
    pl.boundaries(result.model, radius=result.geometry.radius, ax=axes)
    pl.hulls(result, ax=axes)
    save_figure(figure, path)
