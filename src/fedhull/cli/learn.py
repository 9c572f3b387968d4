"""`fedhull learn`: training again from a kept sum."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from fedhull.cli.console import JsonFlag, out, print_json


def learn(
    result: Annotated[Path, Argument(help="Folder of the coordinator's results.")],
    method: Annotated[str | None, Option(help="The classifier.")] = None,
    grouping: Annotated[str | None, Option(help="Method that assigns hulls to classes.")] = None,
    strength: Annotated[float | None, Option(help="The paper's λ, for its SVMs.")] = None,
    classes: Annotated[int | None, Option(help="Number of classes over all sites.")] = None,
    folder: Annotated[
        Path | None, Option("--out", help="A new folder; by default beside the results.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Train again from a kept sum, without a new session."""
    from fedhull.kits.relearn import learn_again

    options = {"method": method, "grouping": grouping, "strength": strength, "classes": classes}
    settings = {name: value for name, value in options.items() if value is not None}
    outcome, folder = learn_again(result, folder, settings)
    if json:
        print_json(outcome.to_json() | {"results": str(folder)})
        return
    out.print(
        f"Model, result and report page: {folder}\n"
        f"For sites without a model: send them {folder / 'publication.bin'}, which 'fedhull client "
        f"KIT --fetch --publication FILE' reads.",
        soft_wrap=True,
    )
