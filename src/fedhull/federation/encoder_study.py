"""The coordinator's side of an encoder study: round after round, sum, divide, publish."""

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from fedhull.embed.autoencoder import AutoencoderEmbedder
from fedhull.embed.network import flatten
from fedhull.errors import OutOfTurn
from fedhull.federation.coordinator import PUBLISH, Counted, Progress, Report
from fedhull.federation.encoder_site import round_summation, weights_to_bytes, with_vector
from fedhull.federation.engine import Engine
from fedhull.protocol.encoder_study import EncoderStudy
from fedhull.protocol.keys import Identity
from fedhull.protocol.server import ServerSession
from fedhull.protocol.summation import WeightedTotal


@dataclass(frozen=True)
class Round:
    """Who was in a round's sum, and how many cells they have together."""

    survivors: list[str]
    cells: int
    seconds: float


@dataclass
class EncoderOutcome:
    """What the coordinator has at the end: the encoder, which everybody has."""

    study: EncoderStudy
    encoder: AutoencoderEmbedder
    rounds: list[Round]
    failures: dict[str, str]
    bytes_up: dict[str, int]
    bytes_down: dict[str, int]
    seconds: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        return {
            "study": self.study.name,
            "study_hash": self.study.hash.hex(),
            "clients": sorted(self.study.clients),
            "survivors": self.rounds[-1].survivors,
            "failures": self.failures,
            "encoder": self.encoder.hash,
            "weights": len(flatten(self.encoder.weights)),
            "rounds": len(self.rounds),
            "cells": [each.cells for each in self.rounds],
            "sites": [len(each.survivors) for each in self.rounds],
            "bytes_up": self.bytes_up,
            "bytes_down": self.bytes_down,
            "seconds": self.seconds,
        }

    def to_markdown(self) -> str:
        """What happened, on one page."""
        study, settings, last = self.study, self.study.encoder, self.rounds[-1]
        left = ", ".join(f"{name} ({why})" for name, why in sorted(self.failures.items()))
        lines = [
            f"# {study.name}",
            f"Study {study.hash.hex()}, {len(study.clients)} sites on the roster, threshold "
            f"{study.threshold}.",
            f"{len(self.rounds)} rounds of {settings.epochs} epochs, from the encoder "
            f"{settings.start}.",
            f"In the last sum: {', '.join(last.survivors)}, with {last.cells:,} cells together.",
            f"Did not stay to the end: {left}." if left else "",
            f"The coordinator received, of each round, the sum of the sites' weights, "
            f"{len(flatten(self.encoder.weights)):,} numbers, and of their numbers of cells. It "
            f"has not tried the encoder on any cell.",
            f"The result: encoder {self.encoder.hash}.",
            f"Bytes up, at most per site: {max(self.bytes_up.values()):,}; down: "
            f"{max(self.bytes_down.values()):,}.",
            "Seconds: " + ", ".join(f"{k} {v:.2f}" for k, v in self.seconds.items()) + ".",
        ]
        return "\n\n".join(line for line in lines if line) + "\n"


def run_encoder_study(
    study: EncoderStudy,
    start: AutoencoderEmbedder,
    engine: Engine,
    identity: Identity | None = None,
    timeout: float = 600.0,
    report: Report = lambda progress: None,
) -> EncoderOutcome:
    """A whole encoder study over an engine, one session for each round.

    A site that does not answer a step in `timeout` seconds, its training included, is left out of
    the round and of all later ones: it has not been told what they start from. Too few of them end
    the study with BelowThreshold.
    """
    counted = Counted(engine, lambda progress: None)
    weights, rounds, invited = flatten(start.weights), [], sorted(study.clients)
    for turn in range(1, study.encoder.rounds + 1):
        begin = perf_counter()
        session = ServerSession(
            study, identity, summation=round_summation(weights, turn), invited=invited
        )
        total = _weighted_total(session, counted, timeout)
        weights = total.total.mean
        publication = session.publish(weights_to_bytes(weights), ask=False)
        _, lost = counted.step(PUBLISH, publication, timeout)
        seconds = perf_counter() - begin
        rounds.append(Round(total.survivors, total.total.weight, seconds))
        counted.failures |= {n: type(why).__name__ for n, why in session.refused.items()}
        missing = {n: counted.failures[n] for n in invited if n in counted.failures}
        report(
            Progress(
                f"round {turn} of {study.encoder.rounds}",
                len(invited),
                len(total.survivors),
                missing,
                seconds,
            )
        )
        invited = [name for name in total.survivors if name not in lost]
    return EncoderOutcome(
        study=study,
        encoder=with_vector(start, weights),
        rounds=rounds,
        failures=counted.failures,
        bytes_up=counted.bytes_up,
        bytes_down=counted.bytes_down,
        seconds=counted.seconds,
    )


def _weighted_total(session: ServerSession, engine: Engine, timeout: float) -> WeightedTotal:
    outgoing = session.start()
    while outgoing:
        replies, _ = engine.step(session.step.value, outgoing, timeout)
        outgoing = session.advance(replies)
    if not isinstance(session.aggregate, WeightedTotal):
        raise OutOfTurn("the session ended without a sum of weights")
    return session.aggregate
