"""The task of a study that makes an encoder: genes, axes, anchors."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fedhull.data.files import read_column
from fedhull.errors import InvalidInput
from fedhull.protocol.drive import bytes_up
from fedhull.protocol.summation import Layout
from fedhull.rounds.anchors import Anchors, rounded_up
from fedhull.rounds.axes import Axes
from fedhull.rounds.cells import FEWEST_HELD_OUT, CellHoldings, group_size, hold
from fedhull.rounds.counts import COUNTS
from fedhull.rounds.disclosure import Plan, sentences
from fedhull.rounds.genes import Genes, most_genes
from fedhull.rounds.round import Known, Round
from fedhull.study.cells import load_cells_of_site
from fedhull.study.encoder_study import NeighbourStudy
from fedhull.study.gene_list import GeneList
from fedhull.study.task import Source, Task

# The cells that a site is taken to have if nobody says.
_CELLS = 10_000


@dataclass(frozen=True)
class EncoderTask(Task):
    """Finds the genes that vary, the axes, and the anchors, in a round each."""

    study: NeighbourStudy
    genes: GeneList
    kind = "Encoder study"
    product = "encoder"
    needs_labels = False

    @classmethod
    def of(cls, study: NeighbourStudy, genes: bytes | None) -> "EncoderTask":
        """The task, given the content of the file that lists the genes."""
        if genes is None:
            raise InvalidInput(f"this study needs {study.attachment.words}")
        if hashlib.sha256(genes).hexdigest() != study.encoder.genes:
            raise InvalidInput(
                f"this is not the study's list of genes, whose SHA-256 is {study.encoder.genes}; "
                f"ask the coordinator for the file"
            )
        return cls(study, GeneList.from_bytes(genes))

    @cached_property
    def rounds(self) -> tuple[Round, ...]:  # type: ignore[override]
        """Three rounds."""
        parts = self.study, self.genes
        return Genes(*parts), Axes(*parts), Anchors(*parts)

    def read(self, source: Source) -> CellHoldings:
        """The cells that the sums are over, and those that are kept out."""
        cells = load_cells_of_site(source)
        donors = None if source.donor is None else read_column(source.data, source.donor)
        return hold(self.study, self.genes, cells, donors)

    def holdings_from_bytes(self, raw: bytes) -> CellHoldings:
        """The inverse of the holdings' `to_bytes`."""
        return CellHoldings.from_bytes(raw)

    def plan(self, holdings: CellHoldings | None, corners: int = 0) -> Plan:
        """Numbers and bytes of each round, if all sites hold what this one does. Which genes vary
        is known after the first round only: as many as may be chosen are counted, so that the
        second round and the total are upper bounds."""
        study, genes, own = self.study, self.genes, holdings
        sites, site = len(study.clients), min(study.clients)
        cells = sites * (_CELLS if own is None else len(own.training))
        n_genes = min(most_genes(study, cells), len(genes.names))
        n_components = min(study.encoder.n_components, n_genes)
        size = group_size(study, cells)
        anchors = max(1, cells // sites // size)
        parts = study, genes
        layouts = {
            "genes": Genes(*parts).layout(Known(), (cells,), sites),
            "axes": Axes(*parts).layout_for(n_genes),
            "anchors": Anchors(*parts).layout_for(n_components, sites * rounded_up(anchors)),
        }
        answers = {"anchors": (COUNTS,)}
        sent = {
            name: bytes_up(study, site, layout, *answers.get(name, ()))
            for name, layout in layouts.items()
        }
        numbers: dict[str, Any] = {
            "sums": len(layouts),
            "genes_listed": len(genes.names),
            "genes": n_genes,
            "axes": n_components,
            "group": size,
            "anchors_per_site": anchors,
            **{f"numbers_{name}": _numbers(layout) for name, layout in layouts.items()},
            **{f"bytes_up_{name}": bytes_sent for name, bytes_sent in sent.items()},
            "bytes_up_per_client": sum(sent.values()),
            "threshold": study.threshold,
            "tolerated": study.tolerated,
        }
        words = [
            *sentences(self.disclosures(own)),
            *(f"Round {name}: {size:,} bytes with all messages." for name, size in sent.items()),
            f"In all at most {numbers['bytes_up_per_client']:,} bytes up per site.",
        ]
        if own is not None:
            known = int((genes.find(own.cells.genes) >= 0).sum())
            numbers |= {
                "cells": len(own.training),
                "held_out": int(own.test.sum()),
                "genes_known": known,
                "genes_rare": int(own.rare.sum()),
            }
            words.append(
                f"You hold {len(own.cells):,} cells, of which {numbers['held_out']:,} would be "
                f"kept out, and {known:,} of the listed genes; {numbers['genes_rare']:,} genes "
                f"that fewer than {own.fewest} of your cells express would count as not expressed."
            )
        return Plan(numbers, words, sum(sent.values()))

    def holds(self, holdings: CellHoldings) -> list[str]:
        """The site's cells, and the genes that it knows."""
        known = int((self.genes.find(holdings.cells.genes) >= 0).sum())
        return [
            f"You hold {len(holdings.cells):,} cells, of which {int(holdings.test.sum()):,} are "
            f"kept out. The study lists {len(self.genes.names):,} genes; you have {known:,} of "
            f"them, and those that you lack count as not expressed. So do, in what leaves, "
            f"{int(holdings.rare.sum()):,} genes that fewer than "
            f"{self.study.disclosure.min_cells} of your cells express."
        ]

    def warnings(self, holdings: CellHoldings) -> list[str]:
        """Warnings of what may be read from the sums, and of what the site does by itself."""
        words = [
            "What may be read from this: how genes vary together over all sites' cells, and so "
            "whether there are cells of a type whose profile is known, even if they are few; and "
            "which groups of like cells there are. No cell, gene count or label leaves. This is "
            "not differential privacy."
        ]
        correction = self.study.encoder.correction
        if correction != "none":
            how = "moved" if correction == "centre" else "moved and stretched"
            words.append(
                f"Your cells are {how} as a whole along each axis, on this machine, so that they "
                f"lie where all sites' cells lie; nobody is told how."
            )
        return words

    def doubts(self, holdings: CellHoldings) -> list[str]:
        """The listed genes that the site does not measure, and whether it can judge."""
        doubts = []
        lacking = len(self.genes.names) - int((self.genes.find(holdings.cells.genes) >= 0).sum())
        if lacking:
            doubts.append(
                f"Your data lack {lacking:,} of the study's {len(self.genes.names):,} genes: they "
                f"are not chosen if the sites have enough others in common."
            )
        share = self.study.encoder.holdout
        if share and not holdings.test.any():
            doubts.append(
                f"No cells are kept out: {share:.0%} of your {len(holdings.cells):,} would be "
                f"fewer than {FEWEST_HELD_OUT}. This site does not judge the encoder."
            )
        return doubts

    def summarize(self, result: Mapping[str, Any]) -> str:
        """The encoder, what it stands on, and how well it keeps neighbours together."""
        words = (
            f"{result['genes']:,} genes, {result['axes']} axes, {result['anchors']:,} anchors. "
            f"Encoder: {result['encoder']} (SHA-256), the same for everybody."
        )
        kept = result["neighbours_kept"]
        if kept is not None:
            whose = "cells that you kept out" if "site" in result else "cells that sites kept out"
            words += (
                f"\nOf the anchors nearest to {whose}, {100 * kept:.1f} % still are in the disc."
            )
        if result.get("missing_genes"):
            words += (
                f"\nYour cells lack {result['missing_genes']:,} of the encoder's genes, which "
                f"count as not expressed."
            )
        return words


def _numbers(layout: Layout) -> int:
    return sum(length for _, length in layout.parts)
