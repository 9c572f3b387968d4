"""`fedhull check`: all of a study's checks, with nothing sent."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from fedhull.cli.console import JsonFlag, out, prepare_kernels, print_json
from fedhull.cli.options import (
    DataOption,
    DonorOption,
    EncoderOption,
    GenesOption,
    LabelOption,
    LayerOption,
    MapOption,
    read_attachment,
)
from fedhull.text import printable

if TYPE_CHECKING:
    from fedhull.kits.checkup import Checkup


def check(
    study: Annotated[Path, Argument(help="The study or its draft, a TOML file, or a kit.")],
    data: DataOption = None,
    label: LabelOption = "label",
    donor: DonorOption = None,
    names: MapOption = None,
    layer: LayerOption = None,
    encoder: EncoderOption = None,
    genes: GenesOption = None,
    json: JsonFlag = False,
) -> None:
    """Run all of a study's checks locally; send nothing.

    Without --data, check the study's settings; with it, also the data, and show what would leave.
    In a kit, the encoder or list of genes is found.
    """
    from datetime import date

    from fedhull.kits.checkup import check_up
    from fedhull.kits.kit import refuse_code
    from fedhull.study.task import Source

    refuse_code(study.resolve())  # before anything is compiled in a kit
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
        "Its settings work together.",
        *checked.leaves,
        collusion_words(study),
        *(f"Careful: {words}" for words in checked.careful),
    ]
    if checked.holdings is None:
        lines.append("No data were checked; name a site's with --data FILE.")
    else:
        lines.append("A session would accept these data. Nothing was sent.")
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
        "what_leaves": checked.leaves,
        "careful": checked.careful,
    }
