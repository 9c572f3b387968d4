"""The task of an encoder study."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fedhull.codes.mean import MOST_WEIGHT
from fedhull.embed.autoencoder import AutoencoderEmbedder
from fedhull.errors import InvalidInput
from fedhull.protocol.keys import Identity, Randomness
from fedhull.protocol.messages import published_content
from fedhull.study.autoencoder.coordinator import AutoencoderCoordinator
from fedhull.study.autoencoder.site import AutoencoderSite
from fedhull.study.cells import TrainingCells, load_training_cells
from fedhull.study.encoder_study import AutoencoderStudy
from fedhull.study.frame import named_encoder
from fedhull.study.task import Source, Task


@dataclass(frozen=True)
class AutoencoderTask(Task):
    """As many sums as rounds, each of the weights that the sites have trained from the last."""

    study: AutoencoderStudy
    start: AutoencoderEmbedder
    kind = "Encoder study"
    product = "encoder"
    needs_labels = False

    @classmethod
    def of(cls, study: AutoencoderStudy, encoder: bytes | None) -> "AutoencoderTask":
        """The task, given the content of the file of the encoder that everybody starts from."""
        start = named_encoder(encoder, study.attached, "the encoder that the study starts from")
        if not isinstance(start, AutoencoderEmbedder):
            raise InvalidInput(
                f"an encoder study trains an autoencoder, but its start has the method "
                f"{start.method!r}"
            )
        return cls(study, start)

    @property
    def sums(self) -> int:
        """One for each round."""
        return self.study.encoder.rounds

    def read(self, source: Source) -> TrainingCells:
        """The cells that the site would train on: their number, their genes, counts if need be."""
        cells = load_training_cells(source)
        if len(cells) > MOST_WEIGHT:
            raise InvalidInput(
                f"a site may train on at most {MOST_WEIGHT:,} cells, got {len(cells):,}; take a "
                f"sample"
            )
        self.start.observe(cells)
        return TrainingCells(cells)

    def holdings_from_bytes(self, raw: bytes) -> TrainingCells:
        """The inverse of the holdings' `to_bytes`."""
        return TrainingCells.from_bytes(raw)

    def site(
        self,
        name: str,
        identity: Identity,
        holdings: TrainingCells,
        randomness: Randomness | None = None,
        checkpoint: bytes | None = None,
    ) -> AutoencoderSite:
        """A site with these cells."""
        return AutoencoderSite(
            self.study, name, identity, self.start, holdings.cells, randomness, checkpoint
        )

    def coordinator(self) -> AutoencoderCoordinator:
        """The coordinator's side."""
        return AutoencoderCoordinator(self.study, self.start)

    def late(
        self,
        name: str,
        identity: Identity,
        holdings: TrainingCells,
        receipt: bytes,
        publication: bytes,
    ) -> AutoencoderSite:
        """A site that gets the encoder after the session."""
        site = self.site(name, identity, holdings, checkpoint=receipt)
        site.take_late(published_content(publication, self.study))
        return site

    def what_leaves(self, holdings: TrainingCells) -> list[str]:
        """On what would be trained, what leaves, how often, and what may be read from it."""
        study, settings, cells = self.study, self.study.encoder, holdings.cells
        missing = self.start.preparation.missing(cells)
        n_weights = sum(array.size for array in self.start.weights.values())
        return [
            f"You hold {len(cells):,} cells. The encoder {settings.start} uses "
            f"{len(self.start.preparation.genes):,} genes, of which your cells lack "
            f"{len(missing):,}. It would be trained on this machine, {settings.epochs} epochs in "
            f"each of {settings.rounds} rounds. No cell, gene count or label leaves.",
            f"In each round, {n_weights:,} trained weights and the training loss, each times your "
            f"number of cells, and that number would leave, masked. The coordinator opens their "
            f"sum over all sites in the round, at least {study.threshold}, and nothing else; every "
            f"site gets the mean.",
            "What the sum may reveal: it is a model of all sites' cells together, and models "
            "remember. Whoever has the means of all rounds may test guesses about a cell or a rare "
            "type of cell. If a site drops out, the sums before and after it differ by about its "
            "weights, and by exactly its number of cells. This is not differential privacy.",
        ]

    def summarize(self, result: Mapping[str, Any]) -> str:
        """The encoder, and after how many rounds."""
        return (
            f"{result['rounds']} rounds. Encoder: {result['encoder']} (SHA-256), the same for "
            f"everybody."
        )
