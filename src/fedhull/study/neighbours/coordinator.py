"""The coordinator of an encoder study of three sums: it chooses genes, finds axes, lays anchors
out."""

from dataclasses import dataclass
from typing import Any

from fedhull.embed.embedding import measure_quality
from fedhull.embed.neighbours import NeighbourEmbedder
from fedhull.errors import InvalidInput
from fedhull.protocol.keys import digest
from fedhull.protocol.summation import Summation
from fedhull.study.coordinator import Coordinator, Publication, Record
from fedhull.study.counts import Counts
from fedhull.study.encoder_study import NeighbourStudy
from fedhull.study.neighbours.anchor_sum import AnchorSummation, AnchorTotal
from fedhull.study.neighbours.axis_sum import AxisNews, AxisSummation, AxisTotal
from fedhull.study.neighbours.gene_sum import GeneNews, GeneSummation, GeneTotal
from fedhull.study.neighbours.genes import GeneList
from fedhull.study.neighbours.holdings import group_size
from fedhull.study.neighbours.site import ENCODER, SUMS
from fedhull.study.stamp import Stamp

_FEWEST_ANCHORS = 4


@dataclass(frozen=True, repr=False)
class NeighbourOutcome:
    """What the coordinator has at the end: the encoder, which everybody has, how many cells stand
    behind each of its anchors, at least, and who was in each sum, with how many cells."""

    study: NeighbourStudy
    encoder: NeighbourEmbedder
    listed: int
    group: int
    cells: list[int]
    survivors: list[list[str]]
    quality: dict[str, float]
    counts: Counts
    record: Record

    def __repr__(self) -> str:
        return (
            f"NeighbourOutcome({self.study.name!r}, {len(self.encoder.anchors)} anchors, encoder "
            f"{self.encoder.hash[:12]}…)"
        )

    @property
    def neighbours_kept(self) -> float | None:
        """Of the anchors that are nearest to cells which sites held out, the share that still is in
        the disc; None if a site did not answer, or none held cells out."""
        accuracy = self.counts.accuracy
        return None if accuracy is None else accuracy / 100.0

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
            "survivors": self.survivors[-1],
            "failures": record.failures,
            "encoder": self.encoder.hash,
            "cells": self.cells,
            "sites": list(map(len, self.survivors)),
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


class NeighbourCoordinator(Coordinator):
    """After each sum it publishes what the next one starts from, the same for all."""

    def __init__(self, study: NeighbourStudy, genes: GeneList):
        self.study: NeighbourStudy = study
        self._genes = genes
        self._published: list[bytes] = []
        self._survivors: list[list[str]] = []
        self._cells: list[int] = []
        self._gene_news: GeneNews | None = None
        self._axis_news: AxisNews | None = None
        self._encoder: NeighbourEmbedder | None = None

    def next_sum(self) -> Summation | None:
        """Genes, axes, anchors."""
        if self._gene_news is None:
            return GeneSummation(self.study, len(self._genes.names))
        n_genes, basis = len(self._gene_news.chosen), digest(*self._published)
        if self._axis_news is None:
            return AxisSummation(self.study, n_genes, basis)
        if self._encoder is None:
            n_components = len(self._axis_news.axes(n_genes).components)
            return AnchorSummation(self.study, n_components, basis)
        return None

    def purpose(self) -> str:
        """What the next sum is of."""
        return SUMS[len(self._published)]

    def take(self, opened: GeneTotal | AxisTotal | AnchorTotal, seconds: float) -> Publication:
        """What the next sum starts from or, in the end, the encoder."""
        self._survivors.append(opened.survivors)
        if isinstance(opened, GeneTotal):
            self._gene_news = GeneNews.of(self.study, opened.sums)
            self._cells.append(opened.sums.cells)
            content = self._gene_news.to_bytes()
        elif isinstance(opened, AxisTotal):
            assert self._gene_news is not None
            standard = self._gene_news.standard(self._genes)
            self._axis_news = AxisNews.of(self.study, standard, opened.products)
            self._cells.append(opened.products.cells)
            content = self._axis_news.to_bytes()
        else:
            self._encoder = self._laid_out(opened)
            self._cells.append(opened.cells)
            return Publication(self._encoder.to_bytes(), ask=True)
        self._published.append(content)
        return Publication(content)

    def outcome(self, record: Record, counts: Counts) -> NeighbourOutcome:
        """The encoder, and how it came about."""
        encoder = self._encoder
        assert encoder is not None
        return NeighbourOutcome(
            study=self.study,
            encoder=encoder,
            listed=len(self._genes.names),
            group=group_size(self.study, self._cells[1]),
            cells=self._cells,
            survivors=self._survivors,
            quality=measure_quality(encoder.anchors, encoder.places),
            counts=counts,
            record=record,
        )

    def _laid_out(self, opened: AnchorTotal) -> NeighbourEmbedder:
        assert self._gene_news is not None
        assert self._axis_news is not None
        if len(opened.anchors) < _FEWEST_ANCHORS:
            raise InvalidInput(
                f"an encoder needs at least {_FEWEST_ANCHORS} anchors, but the sites have "
                f"{len(opened.anchors)}: there are too few cells"
            )
        chosen = self.study.encoder
        embedder = NeighbourEmbedder(
            curvature=chosen.curvature,
            n_genes=chosen.n_genes,
            n_components=chosen.n_components,
            n_neighbors=chosen.n_neighbors,
            seed=chosen.seed,
            counts=True,
            correction=chosen.correction,
        )
        standard = self._gene_news.standard(self._genes)
        axes = self._axis_news.axes(len(standard.mean))
        return embedder.fit_anchors(standard, axes, opened.anchors)
