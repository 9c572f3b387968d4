"""What an encoder study of three sums would send, before anything is sent."""

from typing import Any

from fedhull.protocol.drive import bytes_up
from fedhull.protocol.summation import Layout
from fedhull.study.counts import COUNTS
from fedhull.study.encoder_study import NeighbourStudy
from fedhull.study.neighbours.anchor_sum import AnchorSummation, rounded_up
from fedhull.study.neighbours.axis_sum import AxisSummation
from fedhull.study.neighbours.gene_sum import GeneSummation, most_genes
from fedhull.study.neighbours.genes import GeneList
from fedhull.study.neighbours.holdings import NeighbourHoldings, group_size
from fedhull.study.plan import Plan

# How many cells a site is taken to have if nobody says.
_CELLS = 10_000


def plan_neighbours(study: NeighbourStudy, genes: GeneList, own: NeighbourHoldings | None) -> Plan:
    """Numbers and bytes of each sum, if all sites hold what this one does, and what would leave a
    site that holds this. Which genes vary is known after the first sum only: as many as may be
    chosen are counted, so that the second sum and the total are upper bounds."""
    sites, site = len(study.clients), min(study.clients)
    cells = sites * (_CELLS if own is None else len(own.training))
    n_genes = min(most_genes(study, cells), len(genes.names))
    n_components = min(study.encoder.n_components, n_genes)
    size = group_size(study, cells)
    anchors = max(1, cells // sites // size)
    layouts = {
        "genes": GeneSummation(study, len(genes.names)).layout((cells,), sites),
        "axes": AxisSummation(study, n_genes, b"").layout((cells,), sites),
        "anchors": AnchorSummation(study, n_components, b"").layout(
            (sites * rounded_up(anchors),), sites
        ),
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
        **{f"bytes_up_{name}": size for name, size in sent.items()},
        "bytes_up_per_client": sum(sent.values()),
        "threshold": study.threshold,
        "tolerated": study.tolerated,
    }
    held = f"{_CELLS:,} cells" if own is None else "what you hold"
    words = [
        f"Genes: of {len(genes.names):,} genes, how many cells express them and sums over cells; "
        f"{sent['genes']:,} bytes with all messages.",
        f"Axes: sums of products of at most {n_genes:,} genes, those that vary; at most "
        f"{numbers['numbers_axes']:,} numbers and {sent['axes']:,} bytes.",
        f"Anchors: if every site holds {held}, {anchors:,} means of groups of at least {size} "
        f"cells along at most {n_components} axes; {sent['anchors']:,} bytes.",
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
            f"You hold {len(own.cells):,} cells, of which {numbers['held_out']:,} would be kept "
            f"out, and {known:,} of the listed genes; {numbers['genes_rare']:,} genes that fewer "
            f"than {own.fewest} of your cells express would count as not expressed."
        )
    return Plan(numbers, words)


def _numbers(layout: Layout) -> int:
    return sum(length for _, length in layout.parts)
