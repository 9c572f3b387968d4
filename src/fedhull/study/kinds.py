"""The kinds of studies: the rounds of each, in order, and its task."""

from typing import TYPE_CHECKING, Any

from fedhull.errors import InvalidInput
from fedhull.protocol.agreement import parse_toml
from fedhull.rounds.ballot import Ballot, NoBallot
from fedhull.rounds.centres import ClassCentres
from fedhull.rounds.match import Matching
from fedhull.rounds.round import Round
from fedhull.study.study import MOMENTS, SUMMARIES, Study

if TYPE_CHECKING:
    from fedhull.study.encoder_study import NeighbourStudy

    AnyStudy = Study | NeighbourStudy
else:
    AnyStudy = Any


def class_rounds(study: Study) -> tuple[Round, ...]:
    """The rounds of a study of classes: match · centres · learn, each but the last left out where
    the study does not ask for it."""
    if study.privacy is not None:
        return _noisy_rounds(study)
    summary = SUMMARIES[study.learning.summary]
    matched = not study.classes.names and (summary.needs_match or study.alignments > 0)
    learn = summary(study, Ballot(study) if study.learning.ballot else NoBallot())
    if len(learn.discloses()) == len(learn.ballot.discloses(study, None)):
        raise InvalidInput(
            f"the summary {study.learning.summary!r} does not say what it discloses, so nobody "
            f"could agree to it; update or remove the package that adds it"
        )
    return (
        *((Matching(study),) if matched else ()),
        *(ClassCentres(study),) * study.alignments,
        learn,
    )


def _noisy_rounds(study: Study) -> tuple[Round, ...]:
    """The same rounds with noise in their sums."""
    from fedhull.rounds.noisy import NoisyBallot, NoisyMatching, NoisyMomentSums, NoNoisyBallot

    if study.learning.summary != MOMENTS:
        raise InvalidInput(
            f"[privacy] is for summary = 'moments', in which noise can hide a cell, got "
            f"{study.learning.summary!r}; leave [privacy] out"
        )
    return (
        *(() if study.classes.names else (NoisyMatching(study),)),
        NoisyMomentSums(study, NoisyBallot(study) if study.learning.ballot else NoNoisyBallot()),
    )


def kind_of(content: dict[str, Any]) -> type[AnyStudy]:
    """The kind of study in the tables of a TOML file: one with an [encoder] makes one."""
    if "encoder" not in content:
        return Study
    from fedhull.study.encoder_study import NeighbourStudy

    return NeighbourStudy


def study_from_plain(content: dict[str, Any]) -> AnyStudy:
    """The study in the tables of a TOML file."""
    return kind_of(content).from_plain(content)


def study_from_toml(text: str) -> AnyStudy:
    """The study, of whichever kind, in a TOML file."""
    return study_from_plain(parse_toml(text))


def task_of(study: AnyStudy, attached: bytes | None = None) -> Any:
    """The task of a study; `attached` is the content of the file that the study names, if any."""
    if isinstance(study, Study):
        from fedhull.study.classes import ClassTask

        return ClassTask.of(study, attached)
    from fedhull.study.encoder import EncoderTask

    return EncoderTask.of(study, attached)
