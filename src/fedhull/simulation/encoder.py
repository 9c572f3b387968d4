"""A federated encoder in one process, through the real protocol."""

from collections.abc import Mapping, Sequence

from fedhull.embed.autoencoder import AutoencoderEmbedder
from fedhull.embed.cells import Cells
from fedhull.engines.memory import MemoryEngine
from fedhull.federation.coordinator import Report
from fedhull.federation.encoder_site import EncoderSite
from fedhull.federation.encoder_study import EncoderOutcome, run_encoder_study
from fedhull.protocol.encoder_study import Encoder, EncoderStudy
from fedhull.protocol.keys import Identity
from fedhull.protocol.study import Cohort


def federated_encoder(
    cells_per_site: Sequence[Cells],
    start: AutoencoderEmbedder,
    rounds: int = 20,
    epochs: int = 1,
    seed: int = 0,
    report: Report = lambda progress: None,
) -> AutoencoderEmbedder:
    """The encoder that sites with these cells would train together, none of which are shared.

    `start` carries genes, architecture and first weights: an untrained encoder, or one that was
    trained on public data. Every message of an encoder study is made, masked and opened; the same
    arguments always give the same encoder.
    """
    named = {f"site-{i:04}": cells for i, cells in enumerate(cells_per_site, 1)}
    return rehearse_encoder(named, start, rounds, epochs, seed, report=report).encoder


def rehearse_encoder(
    cells: Mapping[str, Cells],
    start: AutoencoderEmbedder,
    rounds: int,
    epochs: int,
    seed: int = 0,
    vanish: Mapping[str, Sequence[str]] | None = None,
    report: Report = lambda progress: None,
) -> EncoderOutcome:
    """A whole encoder study over {site: cells}, with fresh identities; two sites are enough."""
    identities = {name: Identity.generate() for name in cells}
    coordinator = Identity.generate()
    study = EncoderStudy(
        name="rehearsal",
        encoder=Encoder(
            start=start.hash,
            rounds=rounds,
            epochs=epochs,
            seed=seed,
        ),
        protocol=Cohort(allow_small_cohort=True),
        coordinator=coordinator.public,
        clients={name: identity.public for name, identity in identities.items()},
    )
    sites = [
        EncoderSite(study, name, identities[name], start, mine) for name, mine in cells.items()
    ]
    return run_encoder_study(study, start, MemoryEngine(sites, vanish), coordinator, report=report)
