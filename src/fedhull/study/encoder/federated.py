"""A federated encoder in one process, through the real protocol."""

from collections.abc import Sequence

from fedhull.embed.autoencoder import AutoencoderEmbedder
from fedhull.embed.cells import Cells
from fedhull.progress import Report, ignore
from fedhull.protocol.agreement import Cohort
from fedhull.study.draft import site_name
from fedhull.study.encoder.holdings import TrainingCells
from fedhull.study.rehearsal import rehearse
from fedhull.study.study import Encoder, EncoderStudy


def federated_encoder(
    cells_per_site: Sequence[Cells],
    start: AutoencoderEmbedder,
    rounds: int = 20,
    epochs: int = 1,
    seed: int = 0,
    report: Report = ignore,
) -> AutoencoderEmbedder:
    """The encoder that sites with these cells would train together, none of which are shared.

    `start` carries genes, architecture and first weights: an untrained encoder, or one that was
    trained on public data. Every message of an encoder study is made, masked and opened; the same
    arguments always give the same encoder. Two sites are enough.
    """
    holdings = {site_name(i): TrainingCells(cells) for i, cells in enumerate(cells_per_site)}
    study = EncoderStudy(
        name="rehearsal",
        encoder=Encoder(start=start.hash, rounds=rounds, epochs=epochs, seed=seed),
        protocol=Cohort(allow_small_cohort=True),
        clients={site: f"{i:064x}" for i, site in enumerate(holdings)},
    )
    encoder: AutoencoderEmbedder = rehearse(
        study, holdings, start.to_bytes(), report=report
    ).outcome.encoder
    return encoder
