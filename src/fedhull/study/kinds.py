"""The kinds of studies: which of them a file describes, and the task of each."""

from typing import Any

from fedhull.protocol.agreement import parse_toml
from fedhull.study.encoder_study import NeighbourStudy
from fedhull.study.study import Study
from fedhull.study.summaries import SUMMARIES
from fedhull.study.task import Task

AnyStudy = Study | NeighbourStudy


def kind_of(content: dict[str, Any]) -> type[AnyStudy]:
    """Which kind of study the tables of a TOML file describe: one with an [encoder] makes one."""
    return NeighbourStudy if "encoder" in content else Study


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
    return SUMMARIES[study.learning.summary].of(study, attached)
