"""The coordinator of a study of hulls: one sum, one classifier, one publication."""

import json
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedhull.learn.model import model_to_json
from fedhull.study.coordinator import Coordinator, Publication, Record
from fedhull.study.counts import Counts
from fedhull.study.hulls.learning import Learned, check_hulls, learn
from fedhull.study.hulls.publication import publish
from fedhull.study.hulls.sum import HullSummation, HullTotal
from fedhull.study.study import Study

MODEL = "model.json"


@dataclass(frozen=True, repr=False)
class HullOutcome:
    """What the coordinator has at the end."""

    study: Study
    total: HullTotal
    learned: Learned
    counts: Counts
    record: Record

    def __repr__(self) -> str:
        return (
            f"HullOutcome({self.study.name!r}, {len(self.total.survivors)} of "
            f"{len(self.study.clients)} sites, {len(self.total.hulls)} hulls)"
        )

    @property
    def model(self) -> Any:
        """The classifier; its classes are numbers, which every site names in its own words."""
        return self.learned.model

    @property
    def seconds(self) -> dict[str, float]:
        """Of each step, and of learning."""
        return self.record.seconds | self.learned.seconds

    def published(self) -> bytes:
        """What the sites are given."""
        return publish(self.study, self.total, self.learned)

    def files(self) -> dict[str, bytes]:
        """The model's file; where names are agreed, it speaks them."""
        model = copy(self.model)
        if self.study.agreed:
            model.classes_ = np.array(self.study.agreed)[model.classes_]
        return {MODEL: model_file(model, self.study)}

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        study, total, record = self.study, self.total, self.record
        return {
            "study": study.name,
            "study_hash": study.hash.hex(),
            "clients": sorted(study.clients),
            "survivors": total.survivors,
            "failures": record.failures,
            "accuracy": self.counts.accuracy,
            "correct": self.counts.correct,
            "tested": self.counts.tested,
            "evaluators": self.counts.evaluators,
            "hulls": len(total.hulls),
            "points_received": sum(map(len, total.hulls.values())),
            "classes": len(self.model.classes_),
            "bytes_up": record.bytes_up,
            "bytes_down": record.bytes_down,
            "bins": study.quantizer.n_bins,
            "field_bits": study.coding.field.bits,
            "planes": study.coding.planes,
            "label_code": study.coding.name,
            "seconds": self.seconds,
        }


class HullCoordinator(Coordinator):
    """Sums the sites' hulls, learns, publishes the model, asks how well it does."""

    def __init__(self, study: Study):
        self.study: Study = study
        self._total: HullTotal | None = None
        self._learned: Learned | None = None

    def next_sum(self) -> HullSummation | None:
        """One sum of hulls."""
        return HullSummation(self.study) if self._total is None else None

    def kept(self, opened: HullTotal) -> bytes:
        """The hulls."""
        return opened.to_bytes()

    def take(self, opened: HullTotal, seconds: float) -> Publication:
        """The model, and for each site to which class each of its labels was assigned."""
        self._total = opened
        check_hulls(self.study, opened)
        self._learned = learn(self.study, opened)
        return Publication(publish(self.study, opened, self._learned), ask=True)

    def outcome(self, record: Record, counts: Counts) -> HullOutcome:
        """All of it."""
        assert self._total is not None
        assert self._learned is not None
        return HullOutcome(self.study, self._total, self._learned, counts, record)


def model_file(model: Any, study: Study) -> bytes:
    """The file of a model that was learned in a study."""
    content = model_to_json(model, encoder=study.encoder_hash)
    return (json.dumps(content, indent=1) + "\n").encode()
