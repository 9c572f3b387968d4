"""The coordinator of an encoder study: round after round, sum, divide, publish."""

from dataclasses import dataclass
from typing import Any

from fedhull.embed.autoencoder import AutoencoderEmbedder
from fedhull.study.autoencoder.rounds import RoundMean
from fedhull.study.autoencoder.site import ENCODER
from fedhull.study.autoencoder.sum import MeanSummation, WeightedTotal
from fedhull.study.coordinator import Coordinator, Publication, Record
from fedhull.study.counts import Counts
from fedhull.study.encoder_study import AutoencoderStudy
from fedhull.study.stamp import Stamp


@dataclass(frozen=True)
class Round:
    """Who was in a round's sum, how many cells they have together, and their mean loss per cell and
    gene."""

    survivors: list[str]
    cells: int
    loss: float
    seconds: float


@dataclass(frozen=True, repr=False)
class AutoencoderOutcome:
    """What the coordinator has at the end: the encoder, which everybody has."""

    study: AutoencoderStudy
    encoder: AutoencoderEmbedder
    rounds: list[Round]
    record: Record

    def __repr__(self) -> str:
        return (
            f"AutoencoderOutcome({self.study.name!r}, {len(self.rounds)} rounds, encoder "
            f"{self.encoder.hash[:12]}…)"
        )

    @property
    def n_weights(self) -> int:
        """How many numbers travelled in each round, the loss and the number of cells apart."""
        return sum(array.size for array in self.encoder.weights.values())

    def files(self, stamp: Stamp | None = None) -> dict[str, bytes]:
        """The encoder's file."""
        return {ENCODER: self.encoder.to_bytes()}

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        record = self.record
        return {
            "study": self.study.name,
            "study_hash": self.study.hash.hex(),
            "clients": sorted(self.study.clients),
            "survivors": self.rounds[-1].survivors,
            "failures": record.failures,
            "encoder": self.encoder.hash,
            "weights": self.n_weights,
            "rounds": len(self.rounds),
            "cells": [each.cells for each in self.rounds],
            "loss": [each.loss for each in self.rounds],
            "sites": [len(each.survivors) for each in self.rounds],
            "bytes_up": record.bytes_up,
            "bytes_down": record.bytes_down,
            "seconds": record.seconds,
        }


class AutoencoderCoordinator(Coordinator):
    """Federated averaging: each round's mean is what the next one starts from."""

    def __init__(self, study: AutoencoderStudy, start: AutoencoderEmbedder):
        self.study: AutoencoderStudy = study
        self._start = start
        self._mean = RoundMean.start(start)
        self._rounds: list[Round] = []

    def next_sum(self) -> MeanSummation | None:
        """The next round's."""
        if len(self._rounds) == self.study.encoder.rounds:
            return None
        return self._mean.summation(len(self._rounds) + 1)

    def title(self) -> str:
        """Rounds are reported as a whole."""
        return f"round {len(self._rounds) + 1} of {self.study.encoder.rounds}"

    def take(self, opened: WeightedTotal, seconds: float) -> Publication:
        """The mean."""
        self._mean = RoundMean.from_vector(opened.total.mean)
        self._rounds.append(Round(opened.survivors, opened.total.weight, self._mean.loss, seconds))
        return Publication(self._mean.to_bytes())

    def outcome(self, record: Record, counts: Counts) -> AutoencoderOutcome:
        """The encoder, and how it came about."""
        return AutoencoderOutcome(self.study, self._mean.encoder(self._start), self._rounds, record)
