"""The kinds of studies: which of them a file describes, and the task of each."""

from typing import Any

from fedhull.errors import InvalidInput
from fedhull.protocol.agreement import parse_toml
from fedhull.protocol.keys import VERSION
from fedhull.study.encoder_study import AUTOENCODER, NEIGHBOURS, AutoencoderStudy, NeighbourStudy
from fedhull.study.study import Study
from fedhull.study.summaries import SUMMARIES
from fedhull.study.task import Task
from fedhull.text import shortened

AnyStudy = Study | NeighbourStudy | AutoencoderStudy
_ENCODERS: dict[str, type[NeighbourStudy | AutoencoderStudy]] = {
    NEIGHBOURS: NeighbourStudy,
    AUTOENCODER: AutoencoderStudy,
}


def kind_of(content: dict[str, Any]) -> type[AnyStudy]:
    """Which kind of study the tables of a TOML file describe: one with an [encoder] makes one."""
    if "encoder" not in content:
        return Study
    settings = content["encoder"]
    if not isinstance(settings, dict):
        return NeighbourStudy
    # studies of earlier versions had no other method; that they are of one is said elsewhere
    older = "start" in settings and content.get("version", VERSION) != VERSION
    method = settings.get("method", AUTOENCODER if older else NEIGHBOURS)
    if not isinstance(method, str) or method not in _ENCODERS:
        raise InvalidInput(
            f"[encoder] method must be one of {', '.join(_ENCODERS)}, got {shortened(method)}"
        )
    if method == NEIGHBOURS and "start" in settings:
        raise InvalidInput(
            'an [encoder] that is trained from a start has method = "autoencoder"; without start '
            "and rounds, the encoder is made of three sums"
        )
    return _ENCODERS[method]


def study_from_plain(content: dict[str, Any]) -> AnyStudy:
    """The study in the tables of a TOML file."""
    return kind_of(content).from_plain(content)


def study_from_toml(text: str) -> AnyStudy:
    """The study, of whichever kind, in a TOML file."""
    return study_from_plain(parse_toml(text))


def task_of(study: AnyStudy, attached: bytes | None = None) -> Task:
    """The task of a study; `attached` is the content of the file that the study names, if any."""
    # what only one kind of study needs is loaded for that kind only
    if isinstance(study, NeighbourStudy):
        from fedhull.study.neighbours.task import NeighbourTask

        return NeighbourTask.of(study, attached)
    if isinstance(study, AutoencoderStudy):
        from fedhull.study.autoencoder.task import AutoencoderTask

        return AutoencoderTask.of(study, attached)
    return SUMMARIES[study.learning.summary].of(study, attached)
