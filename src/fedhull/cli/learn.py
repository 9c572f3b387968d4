"""`fedhull learn`: train again from the sum of a study that has run."""

from pathlib import Path
from typing import Annotated

import typer

from fedhull.cli.console import JsonFlag, out, print_json


def learn(
    result: Annotated[Path, typer.Argument(help="The folder with the coordinator's results.")],
    method: Annotated[str | None, typer.Option(help="The classifier.")] = None,
    grouping: Annotated[str | None, typer.Option(help="How hulls are assigned to classes.")] = None,
    strength: Annotated[float | None, typer.Option(help="The paper's λ, for its SVMs.")] = None,
    classes: Annotated[
        int | None, typer.Option(help="The number of classes over all sites.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="A new folder; by default beside the results.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Train again from the sum that 'fedhull server' has kept, without a new session."""
    from fedhull.kits.relearn import learn_again

    wanted = {"method": method, "grouping": grouping, "strength": strength, "classes": classes}
    settings = {name: value for name, value in wanted.items() if value is not None}
    outcome, folder = learn_again(result, folder, settings)
    if json:
        print_json(outcome.to_json() | {"results": str(folder)})
        return
    out.print(
        f"Model, result and report page: {folder}\n"
        f"Sites that have no model yet get this one from {folder / 'publication.bin'}: send it to "
        f"them for 'fedhull client KIT --fetch --publication FILE'.",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
