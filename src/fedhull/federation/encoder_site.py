"""A site in an encoder study: it trains on its own cells, and its weights go into the sums."""

import msgspec
import numpy as np

from fedhull.embed.autoencoder import AutoencoderEmbedder
from fedhull.embed.cells import Cells
from fedhull.embed.network import flatten, unflatten
from fedhull.embed.training import train
from fedhull.errors import BadMessage, InvalidInput, OutOfTurn
from fedhull.federation.frame import named_encoder
from fedhull.protocol.client import ClientSession, ClientState
from fedhull.protocol.encoder_study import EncoderStudy
from fedhull.protocol.keys import Identity, Randomness, digest
from fedhull.protocol.mean_sum import LARGEST, MOST_WEIGHT, MeanContribution, MeanSummation


class Checkpoint(msgspec.Struct, frozen=True):
    """Where a site stands between two rounds: how many are over, and the mean of the last."""

    rounds_done: int
    weights: bytes


class EncoderSite:
    """A site's sessions, one after the other, together with its cells.

    `start` is the encoder that `read_start` has checked. Every round trains from the mean that the
    last one published, uploads once, and ends with the next mean; all sites must have been shown
    the same one, or the round's upload is never unmasked. After the last round, `encoder` is the
    result. With the `randomness` and the `checkpoint` of an earlier object, and the messages since,
    a site takes the same course.
    """

    def __init__(
        self,
        study: EncoderStudy,
        name: str,
        identity: Identity,
        start: AutoencoderEmbedder,
        cells: Cells,
        randomness: Randomness | None = None,
        checkpoint: Checkpoint | None = None,
    ):
        check_cells(start, cells)
        self.study = study
        self.name = name
        self.cells = cells
        self.rounds_done = 0
        self._identity = identity
        self._start = start
        self._randomness = randomness or Randomness()
        self._weights = flatten(start.weights)
        if checkpoint is not None:
            self.rounds_done = checkpoint.rounds_done
            self._weights = weights_from_bytes(checkpoint.weights, len(self._weights))
        self.session = self._next_session()

    def receive(self, raw: bytes) -> bytes | None:
        """Answer a message of the server's; the upload of a round takes as long as the training."""
        if self.done:
            raise OutOfTurn(f"all {self.rounds_done} rounds of the study are over")
        reply = self.session.receive(raw)
        if self.session.state is ClientState.DONE:
            assert self.session.result is not None
            self._weights = weights_from_bytes(self.session.result, len(self._weights))
            self.rounds_done += 1
            self.session = self._next_session()
        return reply

    @property
    def done(self) -> bool:
        """Whether the last round is over."""
        return self.rounds_done == self.study.encoder.rounds

    @property
    def checkpoint(self) -> Checkpoint | None:
        """What is to be kept if a round has just ended, None within one."""
        if self.session.state is not ClientState.READY or not self.rounds_done:
            return None
        return Checkpoint(self.rounds_done, weights_to_bytes(self._weights))

    @property
    def encoder(self) -> AutoencoderEmbedder:
        """The encoder with the last published mean."""
        return with_vector(self._start, self._weights)

    def _next_session(self) -> ClientSession:
        turn = self.rounds_done + 1
        contribution = MeanContribution(round_summation(self._weights, turn), self._trained)
        randomness = self._randomness.branch(f"round {turn}")
        return ClientSession(self.study, self.name, self._identity, contribution, randomness)

    def _trained(self) -> tuple[np.ndarray, int]:
        """This round's weights, and how many cells they come from."""
        settings, turn = self.study.encoder, self.rounds_done + 1
        own = np.random.SeedSequence([settings.seed, self.study.seats[self.name], turn])
        trained = train(
            unflatten(self._weights, self._start.weights),
            self._start.observe(self.cells),
            self._start,
            settings.epochs,
            int(own.generate_state(1)[0]),
            span=((turn - 1) / settings.rounds, turn / settings.rounds),
        )
        return flatten(trained), len(self.cells)


def read_start(study: EncoderStudy, content: bytes) -> AutoencoderEmbedder:
    """The encoder that everybody starts from, if this is the content of its file."""
    encoder = named_encoder(content, study.encoder.start, "the encoder that the study starts from")
    if not isinstance(encoder, AutoencoderEmbedder):
        raise InvalidInput(
            f"an encoder study trains an autoencoder, but its start is of method {encoder.method!r}"
        )
    return encoder


def check_cells(start: AutoencoderEmbedder, cells: Cells) -> None:
    """Whether a site can train on its cells: their number, their genes, counts if need be."""
    if len(cells) > MOST_WEIGHT:
        raise InvalidInput(
            f"a site may train on at most {MOST_WEIGHT:,} cells, got {len(cells):,}; take a sample"
        )
    start.observe(cells)


def round_summation(weights: np.ndarray, turn: int) -> MeanSummation:
    """What is summed in a round, bound to its number and to the weights it starts from."""
    return MeanSummation(len(weights), turn, digest(weights_to_bytes(weights)))


def with_vector(encoder: AutoencoderEmbedder, weights: np.ndarray) -> AutoencoderEmbedder:
    """The encoder with other weights, given as one vector."""
    return encoder.with_weights(unflatten(weights, encoder.weights))


def weights_to_bytes(weights: np.ndarray) -> bytes:
    """A vector of weights as it is published."""
    return weights.astype("<f4").tobytes()


def weights_from_bytes(raw: bytes, size: int) -> np.ndarray:
    """The inverse; BadMessage unless these are so many weights within the agreed range."""
    if len(raw) != 4 * size:
        raise BadMessage(f"a mean of {size:,} weights takes {4 * size:,} bytes, got {len(raw):,}")
    weights = np.frombuffer(raw, dtype="<f4").astype(np.float32)
    if not (np.abs(weights) <= LARGEST).all():
        raise BadMessage("the published mean has weights that no mean can have")
    return weights
