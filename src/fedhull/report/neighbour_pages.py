"""Report pages of encoder studies of three sums."""

from typing import Any

import numpy as np

from fedhull.embed.neighbours import NeighbourEmbedder
from fedhull.report.class_content import Disc
from fedhull.report.content import SiteLine
from fedhull.report.neighbour_content import (
    AnchorQuality,
    Kept,
    NeighbourCoordinatorPage,
    NeighbourSitePage,
    NeighbourSum,
)
from fedhull.report.parts import (
    CAME_LATE,
    SERVER_CHECKS,
    SITE_CHECKS,
    agreement_parts,
    passed,
    site_line,
    upload_check,
)
from fedhull.report.words import count
from fedhull.study.encoder_study import NeighbourStudy
from fedhull.study.neighbours.coordinator import NeighbourOutcome
from fedhull.study.neighbours.site import SUMS, NeighbourSite

_SAME_AXES = ("The encoder has the genes and axes that were published before it",)
_CORRECTIONS = {
    "none": "none",
    "centre": "sites move their cells",
    "scale": "sites move and stretch their cells",
}


def neighbour_coordinator_page(outcome: NeighbourOutcome) -> NeighbourCoordinatorPage:
    """What the coordinator may show."""
    record, counts = outcome.record, outcome.counts
    return NeighbourCoordinatorPage(
        **_study_parts(outcome.study, outcome.encoder, outcome.listed),
        sums=[
            NeighbourSum(of=of, sites=len(survivors), cells=cells)
            for of, survivors, cells in zip(SUMS, outcome.survivors, outcome.cells, strict=True)
        ],
        kept=_kept(counts.correct, counts.tested),
        quality=AnchorQuality(**outcome.quality),
        sites=[_site_line(outcome, name) for name in sorted(outcome.study.clients)],
        checks=passed(
            *SERVER_CHECKS,
            f"Behind the anchors stand at least "
            f"{count(outcome.study.disclosure.group_size, 'cell')} each, on average",
        ),
        bytes_up=max(record.bytes_up.values()),
        bytes_down=max(record.bytes_down.values()),
        seconds=record.seconds,
    )


def neighbour_site_page(
    site: NeighbourSite, bytes_up: int, bytes_down: int, earlier: int = 0
) -> NeighbourSitePage:
    """What a site may show. Of other sites it knows which are in the last sum."""
    held, encoder, in_last = site.holdings, site.encoder, site.session.survivors
    known: list[dict[str, int]] = [{"cells": cells} for cells in site.cells_in_sums]
    known += [{}] * (len(SUMS) - 1 - len(known))
    known += [{"sites": len(in_last)} if in_last else {}]
    out = "not in the last sum" if in_last else CAME_LATE
    return NeighbourSitePage(
        **_study_parts(site.study, encoder, len(site.genes.names)),
        sums=[NeighbourSum(of=of, **each) for of, each in zip(SUMS, known, strict=True)],
        kept=_kept(*site.agreeing),
        sites=[
            site_line(name, "in the last sum" if name in in_last else out, name in in_last)
            for name in sorted(site.study.clients)
        ],
        checks=[
            *passed(*SITE_CHECKS),
            upload_check("This site uploaded at most once for each sum", earlier),
            # a site that came late may not have heard of them
            *passed(*(_SAME_AXES if len(site.cells_in_sums) == len(SUMS) - 1 else ())),
        ],
        name=site.name,
        earlier_sessions=earlier,
        cells=len(held.training),
        held_out=int(held.test.sum()),
        missing=len(encoder.preparation.missing(held.cells)),
        rare=int(held.rare.sum()),
        bytes_up=bytes_up,
        bytes_down=bytes_down,
    )


def _site_line(outcome: NeighbourOutcome, name: str) -> SiteLine:
    """Who has missed a sum is not asked again: a site's sums are the first so many."""
    n = sum(name in survivors for survivors in outcome.survivors)
    fates = ("in no sum", "in the first sum only", "in the first two sums only", "in all sums")
    return site_line(name, fates[n], n == len(SUMS), outcome.record.failures.get(name))


def _kept(kept: int | None, of: int | None) -> Kept | None:
    return Kept(kept=kept, of=of) if of and kept is not None else None


def _study_parts(study: NeighbourStudy, encoder: NeighbourEmbedder, listed: int) -> dict[str, Any]:
    settings, rules = study.encoder, study.disclosure
    genes, axes = len(encoder.preparation.genes), len(encoder.axes.components)
    points = encoder.places / np.sqrt(encoder.curvature)
    return agreement_parts(study) | {
        "parameters": {
            "genes listed": f"{listed:,}",
            "genes chosen": f"{genes:,}",
            "axes": f"{axes}",
            "anchors": f"{len(points):,}",
            "neighbours": f"{settings.n_neighbors} of each anchor",
            "smallest group": count(rules.group_size, "cell"),
            "correction": _CORRECTIONS[settings.correction],
            "threshold": f"{study.threshold} of {len(study.clients)} sites",
        },
        "space": Disc(radius=None, curvature=encoder.curvature),
        "encoder": encoder.hash,
        "listed": listed,
        "genes": genes,
        "axes": axes,
        "group": rules.group_size,
        "min_cells": rules.min_cells,
        "anchors": points.astype("<f4").tobytes(),
    }
