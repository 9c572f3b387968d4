"""What the coordinator of a study of classes has at the end."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from fedhull.learn.centres import Centres
from fedhull.learn.content import Carried, Judged, Provenance
from fedhull.learn.model import model_to_json
from fedhull.study.classes.matching import Match
from fedhull.study.classes.publication import publish
from fedhull.study.coordinator import Record
from fedhull.study.counts import Counts
from fedhull.study.stamp import Stamp
from fedhull.study.study import Study

MODEL = "model.json"
# Why no site has judged the model before it was published.
NOT_ASKED = "the study has no ballot"
LOST_IN_NOISE = "the sites hold out too few cells for their votes to stand out from the noise"
TOO_FEW = "the sites have too few held-out cells to judge by"
TOO_MANY = "there are too many classes for a ballot"
CAME_TO_NOTHING = "a site that was asked did not answer, or there are too few held-out cells"
LEARNED_AGAIN = "the model was learned again from the sum, and sites were not asked about it"


def unanswered(silent: Sequence[str]) -> str:
    """Why the sum of the sites' judgements could not be opened, if these have not answered."""
    if silent:
        return f"{', '.join(silent)} did not answer when candidates were proposed"
    return "a site that was asked to judge candidates objected, or answered something else"


@dataclass(frozen=True)
class Vote:
    """What the sites have said of the model's candidates, and who was asked; or why nothing is
    known of that."""

    judged: Judged | None = None
    judges: list[str] = field(default_factory=list)
    missed: str = ""

    @property
    def counts(self) -> Counts | None:
        """How many held-out cells are classified correctly, if that is known."""
        if self.judged is None:
            return None
        return Counts(self.judged.correct, self.judged.cells, self.judges)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        if self.judged is None:
            return {"held": False, "why_not": self.missed}
        return {"held": True, "why_not": None} | msgspec.to_builtins(self.judged)


@dataclass(frozen=True, repr=False, kw_only=True)
class ClassOutcome(ABC):
    """The classifier, whose classes are numbers, which every site names in its own words; how
    labels were matched, if they were, and the secrets shared with their owners; the centres of all
    classes that were published for sites to align themselves to; what sites have said of the model
    before it was published, how well it does, and what the study has cost."""

    study: Study
    survivors: list[str]
    model: Any
    match: Match | None
    secrets: Mapping[int, Sequence[int]]
    centres: list[Centres]
    learning_seconds: dict[str, float]
    vote: Vote
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

    def files(self, stamp: Stamp | None = None) -> dict[str, bytes]:
        """The model's file; where names are agreed, it speaks them. With a stamp it says where it
        comes from, and carries the study's encoder."""
        model = copy(self.model)
        if self.study.agreed:
            model.classes_ = np.array(self.study.agreed)[model.classes_]
        file = model_file(model, self.study, self.model_centres, stamp, self.survivors)
        return {MODEL: file}

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
            "ballot": self.vote.to_json(),
            "classes": len(self.model.classes_),
            "matches": [] if self.match is None else msgspec.to_builtins(self.match.classes()),
            "scatter": self.scatter,
            "bytes_up": record.bytes_up,
            "bytes_down": record.bytes_down,
            "seconds": self.seconds,
        }


def model_file(
    model: Any,
    study: Study,
    centres: Centres | None = None,
    stamp: Stamp | None = None,
    survivors: Sequence[str] | None = None,
) -> bytes:
    """The file of a model that was learned in a study; `survivors` are the sites in the sum, if
    they are known."""
    content = model_to_json(model, study.attached, centres)
    if stamp is not None:
        judged: Judged | None = getattr(model, "judged_", None)
        provenance = Provenance(
            study=study.name,
            study_hash=study.hash.hex(),
            summary=study.learning.summary,
            sites=len(study.clients),
            survivors=sorted(survivors) if survivors else None,
            accuracy=None if judged is None else judged.accuracy,
            cells=None if judged is None else judged.cells,
            fedhull=stamp.fedhull,
            date=stamp.date,
        )
        encoder = stamp.attached if study.attached == stamp.attached_hash else None
        content = Carried(provenance=provenance, encoder_file=encoder).added_to(content)
    return (json.dumps(content, indent=1) + "\n").encode()
