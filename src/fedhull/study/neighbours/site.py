"""A site in an encoder study of three sums."""

from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from fedhull.embed.embedder import embedder_from_bytes
from fedhull.embed.features import GeneSums, Products, corrected
from fedhull.embed.neighbours import NeighbourEmbedder
from fedhull.errors import BadMessage, InvalidInput
from fedhull.protocol.client import ClientState
from fedhull.protocol.keys import Identity, Randomness, digest
from fedhull.protocol.summation import Contribution
from fedhull.study.encoder_study import NeighbourStudy
from fedhull.study.neighbours.agreement import count_agreeing
from fedhull.study.neighbours.anchor_sum import AnchorContribution, AnchorSummation
from fedhull.study.neighbours.axis_sum import AxisContribution, AxisNews, AxisSummation
from fedhull.study.neighbours.gene_sum import GeneContribution, GeneNews, GeneSummation, in_list
from fedhull.study.neighbours.genes import GeneList
from fedhull.study.neighbours.holdings import NeighbourHoldings, group_size
from fedhull.study.site import Site
from fedhull.study.stamp import Stamp

ENCODER = "encoder.npz"
SUMS = ("genes", "axes", "anchors")


class _Standing(msgspec.Struct, frozen=True):
    """What was published after each sum that is over."""

    published: list[bytes] = []


class NeighbourSite(Site):
    """It adds up genes, then their products, then fills slots with anchors, each sum starting from
    what was published after the last. After the third, `encoder` is the result."""

    study: NeighbourStudy

    def __init__(
        self,
        study: NeighbourStudy,
        name: str,
        identity: Identity,
        genes: GeneList,
        holdings: NeighbourHoldings,
        randomness: Randomness | None = None,
        checkpoint: bytes | None = None,
    ):
        self.genes = genes
        self.holdings = holdings
        self.agreeing: tuple[int, int] = (0, 0)
        self._published = [] if checkpoint is None else _read(checkpoint).published
        done = len(self._published)
        super().__init__(study, name, identity, len(SUMS), randomness, sums_done=done)

    def contribution(self) -> Contribution:
        """The site's part of the next sum."""
        announced = (len(self.holdings.training),)
        if self.sums_done == 0:
            summation = GeneSummation(self.study, len(self.genes.names))
            return GeneContribution(summation, announced, self.gene_sums)
        basis = digest(*self._published)
        if self.sums_done == 1:
            axes = AxisSummation(self.study, len(self.gene_news.chosen), basis)
            return AxisContribution(axes, announced, self.products)
        n_components = len(self.axis_news.axes(len(self.gene_news.chosen)).components)
        anchors = AnchorSummation(self.study, n_components, basis)
        return AnchorContribution(anchors, lambda: self.anchors)

    def gene_sums(self) -> GeneSums:
        """What the site adds to the first sum."""
        cells = self.holdings.training
        own = GeneSums.of(cells, counts=True)
        return in_list(own, self.genes.find(cells.genes), len(self.genes.names))

    def products(self) -> Products:
        """What the site adds to the second sum."""
        preparation = self.gene_news.standard(self.genes).preparation
        return Products.of(preparation, self.holdings.training)

    @property
    def anchors(self) -> tuple[np.ndarray, int]:
        """What the site adds to the third sum: means of groups (m, c), and how many cells there are
        in all of them."""
        features, groups = self.groups_of_cells
        means = np.array([features[group].mean(axis=0) for group in groups])
        return means, sum(map(len, groups))

    @cached_property
    def groups_of_cells(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """What the training cells have on the axes (n, c), and in which groups they leave, as
        rows."""
        study, news = self.study, self.axis_news
        standard = self.gene_news.standard(self.genes)
        axes = news.axes(len(standard.mean))
        features = axes.features(standard, self.holdings.training)
        features = corrected(features, axes, study.encoder.correction)
        smallest = group_size(study, news.cells)
        return features, self.holdings.groups(features, smallest, study.disclosure.min_donors)

    @property
    def gene_news(self) -> GeneNews:
        """What was published after the first sum."""
        return GeneNews.from_bytes(self._published[0], self.study, self.genes)

    @property
    def axis_news(self) -> AxisNews:
        """What was published after the second sum."""
        return AxisNews.from_bytes(self._published[1], self.study, len(self.gene_news.chosen))

    @property
    def cells_in_sums(self) -> list[int]:
        """Over how many cells the first two sums are; a site that came late was told of fewer."""
        told = len(self._published) - self.done
        of_genes = [self.gene_news.cells] if told > 0 else []
        return [*of_genes, self.axis_news.cells] if told > 1 else of_genes

    def take(self, published: bytes) -> tuple[int, int] | None:
        """Genes, axes, or the encoder, which the site judges by the cells that it has held out."""
        last = self.sums_done == len(SUMS) - 1
        if last:
            self._check(read_encoder(published))
        elif self.sums_done == 1:
            AxisNews.from_bytes(published, self.study, len(self.gene_news.chosen))
        else:
            self._check_cells(GeneNews.from_bytes(published, self.study, self.genes))
        self._published.append(published)
        return self._judge_encoder() if last else None

    @property
    def encoder(self) -> NeighbourEmbedder:
        """The encoder that was published last."""
        return read_encoder(self._published[-1])

    @property
    def checkpoint(self) -> bytes | None:
        """What is to be kept if a sum has just ended, None within one."""
        if not self._published or not (self.done or self.session.state is ClientState.READY):
            return None
        return self._where_it_stands()

    @property
    def receipt(self) -> bytes | None:
        """Where the site stood when it uploaded last."""
        if not self._published and not self.session.uploaded:
            return None
        return self._where_it_stands()

    def take_late(self, published: bytes) -> None:
        """The encoder, to a site that has missed the end of the session."""
        encoder = read_encoder(published)
        if len(self._published) == len(SUMS) - 1:
            self._check(encoder)
        self._published.append(published)
        self._judge_encoder()
        self.sums_done = self.n_sums

    def files(self, stamp: Stamp | None = None) -> dict[str, bytes]:
        """The encoder's file, which is everybody's."""
        return {ENCODER: self._published[-1]}

    def result(self) -> dict[str, Any]:
        """Plain numbers and words."""
        held, encoder = self.holdings, self.encoder
        agreeing, of = self.agreeing
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

    def _judge_encoder(self) -> tuple[int, int]:
        """How many of the anchors that are nearest to held-out cells still are in the disc, and of
        how many; nothing of too few cells."""
        held = self.holdings
        if held.test.sum() >= self.study.disclosure.min_cells:
            # all cells at once: how the site measures is told by all of them
            features = self.encoder.features(held.cells)[held.test]
            self.agreeing = count_agreeing(self.encoder, features)
        return self.agreeing

    def _check_cells(self, news: GeneNews) -> None:
        """BadMessage if the server counts more cells than all sites have announced: it could then
        choose more genes than so many cells allow. All sites judge alike."""
        (announced,) = self.session.totals
        if news.cells > announced:
            raise BadMessage(
                f"the server counts {news.cells:,} cells, but sites have announced {announced:,}"
            )

    def _check(self, encoder: NeighbourEmbedder) -> None:
        """BadMessage unless the encoder stands on what was published before."""
        standard, chosen = self.gene_news.standard(self.genes), self.study.encoder
        axes = self.axis_news.axes(len(standard.mean))
        same = (
            encoder.preparation == standard.preparation
            and np.array_equal(encoder.standard.mean, standard.mean)
            and np.array_equal(encoder.standard.deviation, standard.deviation)
            and np.array_equal(encoder.axes.components, axes.components)
            and encoder.correction == chosen.correction
            and encoder.curvature == chosen.curvature
        )
        if not same:
            raise BadMessage("the server's encoder has other genes or axes than were published")

    def _where_it_stands(self) -> bytes:
        return msgspec.msgpack.encode(_Standing(self._published))


def read_encoder(published: bytes) -> NeighbourEmbedder:
    """The encoder that was published; BadMessage if it is none."""
    try:
        encoder = embedder_from_bytes(published, "what the server published")
    except InvalidInput as problem:
        raise BadMessage(f"{problem}") from None
    if not isinstance(encoder, NeighbourEmbedder):
        raise BadMessage(f"the server's encoder has the method {encoder.method!r}")
    return encoder


def _read(raw: bytes) -> _Standing:
    try:
        return msgspec.msgpack.decode(raw, type=_Standing)
    except msgspec.MsgspecError:
        raise InvalidInput(
            "what was kept between two sums is damaged; start a new session with --again"
        ) from None
