"""What the coordinator of a study of classes has at the end."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from fedhull.learn.centres import Centres
from fedhull.learn.model import model_to_json
from fedhull.study.classes.matching import Match
from fedhull.study.classes.publication import publish
from fedhull.study.coordinator import Record
from fedhull.study.counts import Counts
from fedhull.study.study import Study

MODEL = "model.json"


@dataclass(frozen=True, repr=False, kw_only=True)
class ClassOutcome(ABC):
    """The classifier, whose classes are numbers, which every site names in its own words; how
    labels were matched, if they were, and the secrets shared with their owners; the centres of all
    classes that were published for sites to align themselves to; how well the model does, and what
    the study has cost."""

    study: Study
    survivors: list[str]
    model: Any
    match: Match | None
    secrets: Mapping[int, Sequence[int]]
    centres: list[Centres]
    learning_seconds: dict[str, float]
    counts: Counts
    record: Record

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.study.name!r}, {len(self.survivors)} of "
            f"{len(self.study.clients)} sites)"
        )

    @property
    def scatter(self) -> list[float]:
        """How far cells scatter about the centres of their classes, root mean square over all
        sites, each time that the centres were summed: all that is known of how well the sites fit
        together."""
        curvature = self.study.geometry.curvature
        return [
            float(np.sqrt(c.counts @ c.scatter() / max(c.counts.sum(), 1) / curvature))
            for c in self.centres
        ]

    @property
    def model_centres(self) -> Centres | None:
        """The centres of the model's classes that were published last, if any were."""
        return self.centres[-1].only(self.model.classes_) if self.centres else None

    def published(self) -> bytes:
        """What the sites are given at the end."""
        return publish(self.study, self.model, self.match, self.secrets)

    @property
    def seconds(self) -> dict[str, float]:
        """Of each step, and of learning."""
        return self.record.seconds | self.learning_seconds

    @property
    def names(self) -> list[str]:
        """What the coordinator calls the model's classes: as agreed, or by their numbers."""
        agreed = self.study.agreed
        return [agreed[n] if agreed else f"class {n + 1}" for n in self.model.classes_.tolist()]

    @abstractmethod
    def is_exact(self, sites: Mapping[str, Any]) -> bool:
        """Whether the opened sums are those of what the sites have put in, to the last bit; only a
        rehearsal can tell."""

    @abstractmethod
    def fewest_cells(self, holdings: Iterable[Any]) -> int:
        """The fewest cells behind anything that left, if the sites in the sum hold this."""

    def files(self) -> dict[str, bytes]:
        """The model's file; where names are agreed, it speaks them."""
        model = copy(self.model)
        if self.study.agreed:
            model.classes_ = np.array(self.study.agreed)[model.classes_]
        return {MODEL: model_file(model, self.study, self.model_centres)}

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        study, record = self.study, self.record
        return {
            "study": study.name,
            "study_hash": study.hash.hex(),
            "summary": study.learning.summary,
            "clients": sorted(study.clients),
            "survivors": self.survivors,
            "failures": record.failures,
            "accuracy": self.counts.accuracy,
            "correct": self.counts.correct,
            "tested": self.counts.tested,
            "evaluators": self.counts.evaluators,
            "classes": len(self.model.classes_),
            "matches": [] if self.match is None else msgspec.to_builtins(self.match.classes()),
            "scatter": self.scatter,
            "bytes_up": record.bytes_up,
            "bytes_down": record.bytes_down,
            "seconds": self.seconds,
        }


def model_file(model: Any, study: Study, centres: Centres | None = None) -> bytes:
    """The file of a model that was learned in a study."""
    content = model_to_json(model, study.encoder_hash, centres)
    return (json.dumps(content, indent=1) + "\n").encode()
