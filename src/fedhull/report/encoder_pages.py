"""Report pages of encoder studies."""

from typing import Any

from fedhull.embed.autoencoder import AutoencoderEmbedder
from fedhull.report.content import EncoderCoordinatorPage, EncoderRound, EncoderSitePage
from fedhull.report.parts import (
    SERVER_CHECKS,
    SITE_CHECKS,
    agreement_parts,
    passed,
    site_lines,
)
from fedhull.study.encoder.coordinator import EncoderOutcome
from fedhull.study.encoder.site import EncoderSite
from fedhull.study.study import EncoderStudy


def encoder_coordinator_page(outcome: EncoderOutcome) -> EncoderCoordinatorPage:
    """What the coordinator may show."""
    record, last = outcome.record, outcome.rounds[-1]
    return EncoderCoordinatorPage(
        **_study_parts(outcome.study, outcome.encoder),
        rounds=[
            EncoderRound(sites=len(each.survivors), loss=each.loss, cells=each.cells)
            for each in outcome.rounds
        ],
        sites=site_lines(outcome.study, last.survivors, record),
        checks=passed(*SERVER_CHECKS),
        bytes_up=max(record.bytes_up.values()),
        bytes_down=max(record.bytes_down.values()),
        seconds=record.seconds,
    )


def encoder_site_page(site: EncoderSite, bytes_up: int, bytes_down: int) -> EncoderSitePage:
    """What a site may show."""
    return EncoderSitePage(
        **_study_parts(site.study, site.encoder),
        rounds=[
            EncoderRound(sites=each.sites, loss=each.loss, own_loss=each.own_loss)
            for each in site.rounds
        ],
        sites=site_lines(site.study, site.session.survivors),
        checks=passed(*SITE_CHECKS),
        name=site.name,
        cells=len(site.cells),
        bytes_up=bytes_up,
        bytes_down=bytes_down,
    )


def _study_parts(study: EncoderStudy, encoder: AutoencoderEmbedder) -> dict[str, Any]:
    settings = study.encoder
    weights = sum(array.size for array in encoder.weights.values())
    genes = len(encoder.preparation.genes)
    return agreement_parts(study) | {
        "parameters": {
            "rounds": f"{settings.rounds}",
            "epochs in a round": f"{settings.epochs}",
            "genes": f"{genes:,}",
            "weights": f"{weights:,}",
            "threshold": f"{study.threshold} of {len(study.clients)} sites",
        },
        "start": settings.start,
        "encoder": encoder.hash,
        "weights": weights,
        "genes": genes,
    }
