"""A site in an encoder study: it trains on its own cells, and its weights go into the sums."""

from typing import Any

import msgspec
import numpy as np

from fedhull.embed.autoencoder import AutoencoderEmbedder
from fedhull.embed.cells import Cells
from fedhull.embed.network import flatten, unflatten
from fedhull.embed.training import train
from fedhull.errors import InvalidInput
from fedhull.protocol.client import ClientState
from fedhull.protocol.keys import Identity, Randomness
from fedhull.study.autoencoder.rounds import RoundMean, upload_of
from fedhull.study.autoencoder.sum import MeanContribution
from fedhull.study.encoder_study import AutoencoderStudy
from fedhull.study.site import Site
from fedhull.study.stamp import Stamp

ENCODER = "encoder.npz"


class SiteRound(msgspec.Struct, frozen=True):
    """A round as a site knows it: how many sites were in the sum, the site's own loss, the mean."""

    sites: int
    own_loss: float
    loss: float


class _Checkpoint(msgspec.Struct, frozen=True):
    """Where a site stands between two rounds."""

    rounds: list[SiteRound]
    mean: bytes


class AutoencoderSite(Site):
    """Every round trains from the mean that the last one published, uploads once, and ends with
    the next mean; all sites must have been shown the same one, or the round's upload is never
    unmasked. After the last round, `encoder` is the result.

    `start` is the encoder that everybody starts from. With the `randomness` and the `checkpoint` of
    an earlier object, and the messages since, a site takes the same course.
    """

    study: AutoencoderStudy

    def __init__(
        self,
        study: AutoencoderStudy,
        name: str,
        identity: Identity,
        start: AutoencoderEmbedder,
        cells: Cells,
        randomness: Randomness | None = None,
        checkpoint: bytes | None = None,
    ):
        self.cells = cells
        self.rounds: list[SiteRound] = []
        self._start = start
        self._observations = start.observe(cells)
        self._mean = RoundMean.start(start)
        self._own_loss = float("nan")
        if checkpoint is not None:
            kept = _read_checkpoint(checkpoint)
            self.rounds = kept.rounds
            self._mean = RoundMean.from_bytes(kept.mean, len(self._mean.weights))
        super().__init__(
            study,
            name,
            identity,
            n_sums=study.encoder.rounds,
            randomness=randomness,
            sums_done=len(self.rounds),
        )

    def contribution(self) -> MeanContribution:
        """This round's weights; training begins when the upload is due."""
        return MeanContribution(self._mean.summation(len(self.rounds) + 1), self._trained)

    def take(self, published: bytes) -> None:
        """The mean that the next round starts from."""
        self._mean = RoundMean.from_bytes(published, len(self._mean.weights))
        survivors = len(self.session.survivors)
        self.rounds.append(SiteRound(survivors, self._own_loss, self._mean.loss))

    @property
    def checkpoint(self) -> bytes | None:
        """What is to be kept if a round has just ended, None within one."""
        if not self.rounds or not (self.done or self.session.state is ClientState.READY):
            return None
        return self._where_it_stands()

    @property
    def receipt(self) -> bytes | None:
        """Where the site stood when it uploaded last."""
        if not self.rounds and not self.session.uploaded:
            return None
        return self._where_it_stands()

    def take_late(self, published: bytes) -> None:
        """The mean of the last round, to a site that has missed it."""
        self._mean = RoundMean.from_bytes(published, len(self._mean.weights))
        self.sums_done = self.n_sums

    @property
    def encoder(self) -> AutoencoderEmbedder:
        """The encoder with the last published mean."""
        return self._mean.encoder(self._start)

    def files(self, stamp: Stamp | None = None) -> dict[str, bytes]:
        """The encoder's file, which is everybody's."""
        return {ENCODER: self.encoder.to_bytes()}

    def result(self) -> dict[str, Any]:
        """Plain numbers and words."""
        return {
            "study": self.study.name,
            "study_hash": self.study.hash.hex(),
            "site": self.name,
            "encoder": self.encoder.hash,
            "rounds": len(self.rounds),
            "cells": len(self.cells),
            "loss": [each.loss for each in self.rounds],
        }

    def _where_it_stands(self) -> bytes:
        return msgspec.msgpack.encode(_Checkpoint(self.rounds, self._mean.to_bytes()))

    def _trained(self) -> tuple[np.ndarray, int]:
        """This round's weights and loss, and how many cells they come from."""
        settings, number = self.study.encoder, len(self.rounds) + 1
        own = np.random.SeedSequence([settings.seed, self.study.seats[self.name], number])
        trained, loss = train(
            unflatten(self._mean.weights, self._start.weights),
            self._observations,
            self._start,
            settings.epochs,
            int(own.generate_state(1)[0]),
            span=((number - 1) / settings.rounds, number / settings.rounds),
        )
        # per gene, so that studies of few and of many genes can be compared
        self._own_loss = loss / len(self._start.preparation.genes)
        return upload_of(flatten(trained), self._own_loss), len(self.cells)


def _read_checkpoint(raw: bytes) -> _Checkpoint:
    try:
        return msgspec.msgpack.decode(raw, type=_Checkpoint)
    except msgspec.MsgspecError:
        raise InvalidInput(
            "what was kept between two rounds is damaged; start a new session with --again"
        ) from None
