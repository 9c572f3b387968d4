"""Results of a study that makes an encoder, for the coordinator and for a site."""

from dataclasses import dataclass
from typing import Any

from fedhull.embed.neighbours import NeighbourEmbedder
from fedhull.rounds.cells import CellHoldings
from fedhull.rounds.counts import Counts
from fedhull.rounds.disclosure import Disclosure
from fedhull.rounds.round import Record, disclosures
from fedhull.study.encoder_study import NeighbourStudy

ENCODER = "encoder.npz"


@dataclass(frozen=True, repr=False)
class EncoderOutcome:
    """The coordinator's result: the encoder, which everybody has, the fewest cells behind any of
    its anchors, and the sites in each round, with their numbers of cells."""

    study: NeighbourStudy
    encoder: NeighbourEmbedder
    listed: int
    group: int
    cells: list[int]
    in_rounds: list[list[str]]
    quality: dict[str, float]
    counts: Counts
    record: Record
    rounds: tuple[Any, ...]

    def __repr__(self) -> str:
        return (
            f"EncoderOutcome({self.study.name!r}, {len(self.encoder.anchors)} anchors, encoder "
            f"{self.encoder.hash[:12]}…)"
        )

    @property
    def survivors(self) -> list[str]:
        """The sites in the last round."""
        return self.in_rounds[-1]

    @property
    def neighbours_kept(self) -> float | None:
        """Of the anchors that are nearest to cells which sites held out, the share that still is in
        the disc; None if a site did not answer, or none held cells out."""
        accuracy = self.counts.accuracy
        return None if accuracy is None else accuracy / 100.0

    @property
    def disclosures(self) -> list[Disclosure]:
        """Everything that has left any site."""
        return disclosures(self.rounds)

    def files(self, stamp: Any = None) -> dict[str, bytes]:
        """The encoder's file."""
        return {ENCODER: self.encoder.to_bytes()}

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        record = self.record
        return {
            "study": self.study.name,
            "study_hash": self.study.hash.hex(),
            "clients": sorted(self.study.clients),
            "survivors": self.survivors,
            "failures": record.failures,
            "encoder": self.encoder.hash,
            "cells": self.cells,
            "sites": list(map(len, self.in_rounds)),
            "genes_listed": self.listed,
            "genes": len(self.encoder.preparation.genes),
            "axes": len(self.encoder.axes.components),
            "anchors": len(self.encoder.anchors),
            "smallest_group": self.group,
            "neighbours_kept": self.neighbours_kept,
            "quality_of_anchors": self.quality,
            "bytes_up": record.bytes_up,
            "bytes_down": record.bytes_down,
            "seconds": record.seconds,
        }


@dataclass(frozen=True, repr=False)
class EncoderSiteOutcome:
    """A site's result: the encoder and its `file`, the cells in the earlier sums, as far as it was
    told, and of the anchors nearest to its held-out cells those `agreeing`, and all."""

    study: NeighbourStudy
    name: str
    encoder: NeighbourEmbedder
    file: bytes
    holdings: CellHoldings
    listed: int
    rounds: tuple[Any, ...]
    cells_in_sums: list[int]
    agreeing: tuple[int, int]
    survivors: list[str]

    @property
    def disclosures(self) -> list[Disclosure]:
        """Everything that has left this site."""
        return disclosures(self.rounds, self.holdings)

    def files(self, stamp: Any = None) -> dict[str, bytes]:
        """The encoder's file, which is everybody's."""
        return {ENCODER: self.file}

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        held, encoder, (agreeing, of) = self.holdings, self.encoder, self.agreeing
        return {
            "study": self.study.name,
            "study_hash": self.study.hash.hex(),
            "site": self.name,
            "encoder": encoder.hash,
            "cells": len(held.training),
            "held_out": int(held.test.sum()),
            "genes": len(encoder.preparation.genes),
            "missing_genes": len(encoder.preparation.missing(held.cells)),
            "axes": len(encoder.axes.components),
            "anchors": len(encoder.anchors),
            "neighbours_kept": agreeing / of if of else None,
        }
