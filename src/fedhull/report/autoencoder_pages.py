"""Report pages of encoder studies."""

import math
from typing import Any

from fedhull.embed.autoencoder import AutoencoderEmbedder
from fedhull.report.autoencoder_content import (
    AutoencoderCoordinatorPage,
    AutoencoderRound,
    AutoencoderSitePage,
)
from fedhull.report.content import SiteLine
from fedhull.report.parts import (
    SERVER_CHECKS,
    SITE_CHECKS,
    agreement_parts,
    passed,
    site_line,
    upload_check,
)
from fedhull.study.autoencoder.coordinator import AutoencoderOutcome
from fedhull.study.autoencoder.site import AutoencoderSite
from fedhull.study.encoder_study import AutoencoderStudy


def autoencoder_coordinator_page(outcome: AutoencoderOutcome) -> AutoencoderCoordinatorPage:
    """What the coordinator may show."""
    record = outcome.record
    return AutoencoderCoordinatorPage(
        **_study_parts(outcome.study, outcome.encoder),
        rounds=[
            AutoencoderRound(sites=len(each.survivors), loss=_finite(each.loss), cells=each.cells)
            for each in outcome.rounds
        ],
        sites=[_site_line(outcome, name) for name in sorted(outcome.study.clients)],
        checks=passed(*SERVER_CHECKS),
        bytes_up=max(record.bytes_up.values()),
        bytes_down=max(record.bytes_down.values()),
        seconds=record.seconds,
    )


def autoencoder_site_page(
    site: AutoencoderSite, bytes_up: int, bytes_down: int, earlier: int = 0
) -> AutoencoderSitePage:
    """What a site may show. Of other sites it knows which are in the sum of the last round."""
    in_last = site.session.survivors
    return AutoencoderSitePage(
        **_study_parts(site.study, site.encoder),
        rounds=[
            AutoencoderRound(
                sites=each.sites, loss=_finite(each.loss), own_loss=_finite(each.own_loss)
            )
            for each in site.rounds
        ],
        sites=[
            site_line(
                name,
                "in the last round" if name in in_last else "not in the last round",
                name in in_last,
            )
            for name in sorted(site.study.clients)
        ],
        checks=[
            *passed(*SITE_CHECKS),
            upload_check("This site uploaded once in each round", earlier),
        ],
        name=site.name,
        earlier_sessions=earlier,
        cells=len(site.cells),
        bytes_up=bytes_up,
        bytes_down=bytes_down,
    )


def _site_line(outcome: AutoencoderOutcome, name: str) -> SiteLine:
    """Who has missed a round is not asked again: a site's rounds are the first so many."""
    n, total = sum(name in each.survivors for each in outcome.rounds), len(outcome.rounds)
    if n in (0, total):
        fate = "in every round" if n else "in no round"
    else:
        fate = "in the first round only" if n == 1 else f"in the first {n} rounds only"
    return site_line(name, fate, n == total, outcome.record.failures.get(name))


def _finite(loss: float) -> float | None:
    """JSON has no way to write the loss of a training that came to nothing."""
    return loss if math.isfinite(loss) else None


def _study_parts(study: AutoencoderStudy, encoder: AutoencoderEmbedder) -> dict[str, Any]:
    settings = study.encoder
    weights = sum(array.size for array in encoder.weights.values())
    genes = len(encoder.preparation.genes)
    return agreement_parts(study) | {
        "parameters": {
            "rounds": f"{settings.rounds}",
            "epochs per round": f"{settings.epochs}",
            "genes": f"{genes:,}",
            "weights": f"{weights:,}",
            "threshold": f"{study.threshold} of {len(study.clients)} sites",
        },
        "start": settings.start,
        "encoder": encoder.hash,
        "weights": weights,
        "genes": genes,
    }
