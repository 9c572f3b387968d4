"""What one site tells another, sealed: what it deals, by the part that each plays for the other.

A holder gets shares of the site's seed and mask key, a witness shares of what it announces, and
from a dealer everybody gets a piece of the key of the order. All of this is known from the graph,
so that the length of a sealed message says nothing about its content.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise

from fedhull.protocol.agreement import Agreement
from fedhull.protocol.announced import COUNT_BYTES, share_numbers
from fedhull.protocol.graph import Graph
from fedhull.protocol.keys import Randomness, digest, tag
from fedhull.protocol.shares import PRIME, SHARE_BYTES, split
from fedhull.protocol.summation import Totals

PIECE_BYTES, _SEAL_BYTES = 16, 16


@dataclass(frozen=True, repr=False)
class Secrets:
    """A piece of the key of the order, shares of the sender's seed and mask key, and of what it
    announces; empty where the receiver gets none."""

    piece: bytes = b""
    seed_share: bytes = b""
    key_share: bytes = b""
    count_shares: bytes = b""

    def to_bytes(self) -> bytes:
        """All of them, one after the other."""
        return self.piece + self.seed_share + self.key_share + self.count_shares

    @classmethod
    def from_bytes(cls, raw: bytes, lengths: Iterable[int]) -> "Secrets":
        """The inverse of `to_bytes`, given how long each part is."""
        ends = accumulate(lengths, initial=0)
        return cls(*(raw[begin:end] for begin, end in pairwise(ends)))


def lengths(graph: Graph, sender: str, receiver: str, numbers: int) -> tuple[int, int, int, int]:
    """How long each part of what one site seals for another is, if so many numbers are
    announced."""
    holds, witnesses = receiver in graph.holders[sender], receiver in graph.witnesses
    return _lengths(graph, sender, holds, witnesses, numbers)


def _lengths(
    graph: Graph, sender: str, holds: bool, witnesses: bool, numbers: int
) -> tuple[int, int, int, int]:
    share = SHARE_BYTES * holds
    piece = PIECE_BYTES * (sender in graph.dealers)
    return piece, share, share, numbers * COUNT_BYTES * witnesses


def sealed_bytes(
    graph: Graph, sender: str, receivers: Iterable[str], numbers: int
) -> dict[str, int]:
    """How long the sealed message to each of the receivers is."""
    size_of = {
        (holds, witnesses): sum(_lengths(graph, sender, holds, witnesses, numbers)) + _SEAL_BYTES
        for holds in (False, True)
        for witnesses in (False, True)
    }
    holders, jury = graph.holders[sender], graph.witnesses
    return {each: size_of[each in holders, each in jury] for each in receivers}


def largest_sealed(numbers: int) -> int:
    """How long a sealed message can be."""
    return PIECE_BYTES + 2 * SHARE_BYTES + numbers * COUNT_BYTES + _SEAL_BYTES


def deal(
    study: Agreement,
    graph: Graph,
    name: str,
    receivers: Iterable[str],
    seed: bytes,
    mask_key: bytes,
    announced: Totals,
    randomness: Randomness,
) -> dict[str, Secrets]:
    """What a site seals for each of the receivers, or keeps if it is one itself."""
    receivers = list(receivers)
    holders, witnesses = (
        [study.seats[each] for each in receivers if each in members]
        for members in (graph.holders[name], graph.witnesses)
    )
    seeds, keys = (
        split(
            int.from_bytes(secret, "big"),
            holders,
            graph.enough_holders,
            PRIME,
            randomness.below(f"shares of {kind}"),
        )
        for kind, secret in (("seed", seed), ("mask key", mask_key))
    )
    counts = share_numbers(
        announced, witnesses, graph.quorum, randomness.below("shares of what is announced")
    )
    piece = randomness.token("order", PIECE_BYTES) if name in graph.dealers else b""

    def secrets_for(seat: int) -> Secrets:
        seed_share, key_share = (
            shares[seat].to_bytes(SHARE_BYTES, "big") if seat in shares else b""
            for shares in (seeds, keys)
        )
        return Secrets(piece, seed_share, key_share, counts.get(seat, b""))

    return {each: secrets_for(study.seats[each]) for each in receivers}


def order_key(received: Mapping[str, Secrets], graph: Graph) -> bytes:
    """The key of the order, of the pieces of all dealers who take part; empty without dealers."""
    dealt = sorted(received.keys() & graph.dealers)
    return digest(b"order", *(received[name].piece for name in dealt)) if dealt else b""


def place_in_order(name: str, participants: Iterable[str], key: bytes) -> int:
    """A participant's place, from 0, in the order that all who have the key know."""
    return sorted(participants, key=lambda each: (tag(key, each.encode()), each)).index(name)
