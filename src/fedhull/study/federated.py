"""A federated encoder in one process, through the real protocol."""

from collections.abc import Sequence
from typing import Any

from fedhull.embed.cells import Cells
from fedhull.embed.neighbours import NeighbourEmbedder
from fedhull.progress import Report, ignore
from fedhull.protocol.agreement import Cohort
from fedhull.rounds.cells import hold
from fedhull.study.draft import site_name
from fedhull.study.encoder_study import Neighbours, NeighbourStudy
from fedhull.study.gene_list import GeneList
from fedhull.study.rehearsal import Rehearsal, rehearse
from fedhull.study.study import Disclosure

_USUAL = Disclosure()


def federated_encoder(
    cells_per_site: Sequence[Cells],
    *,
    disclosure: Disclosure = _USUAL,
    report: Report = ignore,
    **settings: Any,
) -> NeighbourEmbedder:
    """The encoder that sites with these cells would make together, none of which are shared.

    `settings` are those of `[encoder]`, such as `n_genes`, `n_components`, `n_neighbors` or
    `correction`. Every message of an encoder study is made, masked and opened; the same arguments
    always give the same encoder. Two sites are enough.
    """
    rehearsed = rehearse_neighbours(cells_per_site, disclosure, report=report, **settings)
    encoder: NeighbourEmbedder = rehearsed.outcome.encoder
    return encoder


def rehearse_neighbours(
    cells_per_site: Sequence[Cells],
    disclosure: Disclosure = _USUAL,
    vanish: dict[str, list[str]] | None = None,
    report: Report = ignore,
    **settings: Any,
) -> Rehearsal:
    """An encoder study of three sums over these sites; the list of genes is what they have."""
    listed = GeneList(tuple(dict.fromkeys(str(g) for each in cells_per_site for g in each.genes)))
    study = draft_neighbours(len(cells_per_site), listed, disclosure, **settings)
    holdings = {
        name: hold(study, listed, cells)
        for name, cells in zip(study.clients, cells_per_site, strict=True)
    }
    return rehearse(study, holdings, listed.to_bytes(), vanish, report)


def draft_neighbours(
    sites: int, genes: GeneList, disclosure: Disclosure = _USUAL, **settings: Any
) -> NeighbourStudy:
    """An encoder study of unnamed sites, with keys that are nobody's."""
    return NeighbourStudy(
        name="rehearsal",
        encoder=Neighbours(genes=genes.hash, **settings),
        disclosure=disclosure,
        protocol=Cohort(allow_small_cohort=True),
        clients={site_name(i): f"{i:064x}" for i in range(sites)},
    )
