"""What passes between two rounds of an encoder study: weights, and the mean loss of the last."""

from dataclasses import dataclass

import numpy as np

from fedhull.codes.mean import LARGEST
from fedhull.embed.autoencoder import AutoencoderEmbedder
from fedhull.embed.network import flatten, unflatten
from fedhull.errors import BadMessage
from fedhull.protocol.keys import digest
from fedhull.study.autoencoder.sum import MeanSummation


@dataclass(frozen=True, repr=False)
class RoundMean:
    """The weights that all sites go on with, (P,), and the mean loss that led to them, per cell and
    gene; NaN before the first round."""

    weights: np.ndarray
    loss: float

    @classmethod
    def start(cls, encoder: AutoencoderEmbedder) -> "RoundMean":
        """What the first round starts from."""
        return cls(flatten(encoder.weights), float("nan"))

    @classmethod
    def from_vector(cls, vector: np.ndarray) -> "RoundMean":
        """The mean of what sites have uploaded: their weights, and last their loss."""
        return cls(vector[:-1], float(vector[-1]))

    @classmethod
    def from_bytes(cls, raw: bytes, size: int) -> "RoundMean":
        """The inverse of `to_bytes`; BadMessage unless these are so many weights within the agreed
        range, and a loss."""
        if len(raw) != 4 * (size + 1):
            raise BadMessage(
                f"a mean of {size:,} weights and a loss takes {4 * (size + 1):,} bytes, got "
                f"{len(raw):,}"
            )
        vector = np.frombuffer(raw, dtype="<f4").astype(np.float32)
        if not (np.abs(vector) <= LARGEST).all():
            raise BadMessage("the published mean has weights that no mean can have")
        return cls.from_vector(vector)

    def to_bytes(self) -> bytes:
        """As it is published."""
        return np.append(self.weights, self.loss).astype("<f4").tobytes()

    def summation(self, number: int) -> MeanSummation:
        """What is summed in round `number`, bound to it and to the weights it starts from."""
        return MeanSummation(len(self.weights) + 1, number, digest(_weight_bytes(self.weights)))

    def encoder(self, start: AutoencoderEmbedder) -> AutoencoderEmbedder:
        """The encoder with these weights."""
        return start.with_weights(unflatten(self.weights, start.weights))


def upload_of(weights: np.ndarray, loss: float) -> np.ndarray:
    """What a site adds to a round, before it is weighted: its weights, and its loss cut to the
    range that a sum can carry."""
    return np.append(weights, np.clip(np.nan_to_num(loss), -LARGEST, LARGEST))


def _weight_bytes(weights: np.ndarray) -> bytes:
    return weights.astype("<f4").tobytes()
