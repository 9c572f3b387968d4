"""`fedhull check`: everything that can be refused, before anything is sent."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedhull.cli.attachment import EncoderOption, GenesOption, read_attachment
from fedhull.cli.console import JsonFlag, out, prepare_kernels, print_json
from fedhull.cli.options import DataOption, DonorOption, LabelOption, LayerOption, MapOption
from fedhull.text import printable

if TYPE_CHECKING:
    from fedhull.kits.checkup import Checkup


def check(
    study: Annotated[Path, typer.Argument(help="The study or its draft, a TOML file, or a kit.")],
    data: DataOption = None,
    label: LabelOption = "label",
    donor: DonorOption = None,
    names: MapOption = None,
    layer: LayerOption = None,
    encoder: EncoderOption = None,
    genes: GenesOption = None,
    json: JsonFlag = False,
) -> None:
    """Try everything that a session would refuse, on this machine, and send nothing.

    Without --data, whether the study's settings go together; with it, also whether a session would
    take your data, and what would leave. In a kit, the encoder or list of genes is found.
    """
    from datetime import date

    from fedhull.kits.checkup import check_up
    from fedhull.kits.inspection import refuse_code
    from fedhull.study.task import Source

    refuse_code(study.resolve())  # if it is a kit, before anything is compiled
    prepare_kernels(quiet=json)
    source = None if data is None else Source(data, label, layer, donor, names)
    checked = check_up(study, read_attachment(encoder, genes), source)
    checked.study.check_valid(date.today())
    if json:
        print_json(_as_json(checked))
    else:
        out.print("\n".join(map(printable, _lines(checked))), soft_wrap=True)


def _lines(checked: "Checkup") -> list[str]:
    from fedhull.protocol.agreement import about_words, collusion_words

    study = checked.study
    named = f"Draft of a study '{study.name}'" if checked.open else f"Study '{study.name}'"
    by_hash = "" if checked.open else f", hash {study.hash.hex()}"
    lines = [
        f"{named}{by_hash}: {len(study.clients)} sites, of which {study.threshold} must stay to "
        f"the end.",
        *about_words(study),
        "Its settings go together.",
        *checked.told,
        collusion_words(study),
        *(f"Careful: {words}" for words in checked.careful),
    ]
    if checked.holdings is None:
        lines.append("No data were checked; --data FILE tries what a site would send.")
    else:
        lines.append("A session would take these data. Nothing was sent.")
    return lines


def _as_json(checked: "Checkup") -> dict[str, Any]:
    study = checked.study
    return {
        "study": {
            "name": study.name,
            "hash": None if checked.open else study.hash.hex(),
            "purpose": study.purpose,
            "contact": study.contact,
            "valid_until": None if study.valid_until is None else str(study.valid_until),
            "sites": sorted(study.clients),
            "threshold": study.threshold,
        },
        "data_taken": checked.holdings is not None,
        "what_leaves": checked.told,
        "careful": checked.careful,
    }
