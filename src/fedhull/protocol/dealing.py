"""Sealed messages between sites, by the part that each plays for the other, and announcements.

A holder gets shares of the site's seed and mask key, a witness shares of what it announces, and
from a dealer everybody gets a piece of the key of the order. All of this is known from the graph,
so that the length of a sealed message says nothing about its content.

Announced are digests of what a participant has seen, and small numbers, of which nobody learns more
than the totals over all: every witness adds up its shares, which gives it a share of every total.
Whoever signs the same digest has seen the same.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from fedhull.errors import BadMessage, BadShares, InconsistentView
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.graph import Graph
from fedhull.protocol.keys import Randomness, digest, tag
from fedhull.protocol.shares import PRIME, SHARE_BYTES, split, weighted, weights, wrong_holders
from fedhull.protocol.summation import Totals

COUNT_PRIME, COUNT_BYTES = 2**61 - 1, 8
# Nobody finds a second advertisement with the fingerprint of an honest site's.
FINGERPRINT_BYTES = 16
PIECE_BYTES, _SEAL_BYTES = 16, 16


def share_numbers(
    numbers: Sequence[int], holders: list[int], threshold: int, draw: Callable[[int], int]
) -> dict[int, bytes]:
    """For each holder its shares of some small numbers, one after the other."""
    each = [split(number, holders, threshold, COUNT_PRIME, draw) for number in numbers]
    return {
        holder: b"".join(shares[holder].to_bytes(COUNT_BYTES, "big") for shares in each)
        for holder in holders
    }


def share_of(shares: bytes, number: int) -> int:
    """The share of one of several numbers."""
    begin = number * COUNT_BYTES
    return int.from_bytes(shares[begin : begin + COUNT_BYTES], "big") % COUNT_PRIME


def add_shares(held: Sequence[bytes]) -> bytes:
    """One holder's shares of everybody's numbers added up, which are its shares of the totals."""
    numbers = range(len(held[0]) // COUNT_BYTES)
    sums = (sum(share_of(shares, number) for shares in held) for number in numbers)
    return b"".join((total % COUNT_PRIME).to_bytes(COUNT_BYTES, "big") for total in sums)


def restore_totals(shares: Mapping[int, bytes], numbers: int, threshold: int) -> Totals:
    """The totals behind t holders' shares; further shares are ignored."""
    enough = sorted(shares)[:threshold]
    weight = weights(enough, prime=COUNT_PRIME)
    return tuple(
        weighted({x: share_of(shares[x], number) for x in enough}, weight, COUNT_PRIME)
        for number in range(numbers)
    )


def wrong_witnesses(shares: Mapping[int, bytes], numbers: int, quorum: int) -> set[int]:
    """Holders whose shares of the totals do not fit the rest; BadShares if there are too many."""
    suspects: set[int] = set()
    for number in range(numbers):
        wrong = wrong_holders(
            {seat: share_of(raw, number) for seat, raw in shares.items()}, quorum, COUNT_PRIME
        )
        if wrong is None:
            raise BadShares(
                "the shares of announced totals do not fit together: too many of them are wrong"
            )
        suspects |= wrong
    return suspects


def check_allowed(totals: Totals, most: Totals, participants: int) -> None:
    """Raise BadMessage if the totals exceed what this many participants may announce."""
    for total, each in zip(totals, most, strict=True):
        if total > participants * each:
            raise BadMessage(
                f"the sites announce more together than the study allows: {total}, but at most "
                f"{participants * each}; one of them lies about how much it will send"
            )


def fingerprint(advertisement: bytes) -> bytes:
    """A signed advertisement in short."""
    return digest(b"advertisement", advertisement)[:FINGERPRINT_BYTES]


def fingerprints(advertisements: Iterable[bytes]) -> bytes:
    """Those of all participants, one after the other, in the order of their seats."""
    return b"".join(map(fingerprint, advertisements))


def keys_digest(listed: bytes) -> bytes:
    """Digest of all participants' fingerprints."""
    return digest(b"keys", listed)


def check_fingerprints(
    listed: bytes, keys: bytes, places: Mapping[str, int], shown: Mapping[str, bytes]
) -> None:
    """Raise InconsistentView unless the advertisements that a client was shown are those that the
    witnesses know, who have heard of everybody under them in this session: they have signed `keys`,
    and a participant's fingerprint stands at its place."""
    if keys_digest(listed) != keys:
        raise InconsistentView("the fingerprints are not those that this client has announced")
    for name, advertisement in shown.items():
        begin = places.get(name, 0) * FINGERPRINT_BYTES
        expected = listed[begin : begin + FINGERPRINT_BYTES]
        if name in places and fingerprint(advertisement) != expected:
            raise InconsistentView(f"this client was shown other keys of {name!r} than others")


def view_digest(salt: bytes, participants: bytes, keys: bytes, order: bytes) -> bytes:
    """The session, its start, its participants, their keys and their order: the same for all, or
    nothing is unmasked. Keys are fresh, so views of different sessions differ. The key of the order
    is made of 128-bit secrets, so the digest tells the server nothing."""
    return digest(b"view", salt, participants, keys, order)


def sized_view(view: bytes, totals: Sequence[int]) -> bytes:
    """The view at upload: the view announced, and the totals."""
    return digest(b"sized view", view, *(total.to_bytes(8, "big") for total in totals))


def survivor_digest(survivors: bytes) -> bytes:
    """The digest of survivors that a client signs."""
    return digest(b"survivors", survivors)


def seal_context(sender: bytes, receiver: bytes) -> bytes:
    """The context of a sealed message: the advertisements of the two, as both have seen them."""
    return digest(b"seal", sender, receiver)


@dataclass(frozen=True, repr=False)
class Secrets:
    """A piece of the order's key, and shares of seed, mask key and announced numbers."""

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
    """Length of each part of what one site seals for another; `numbers` are announced."""
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
    """Length of the sealed message to each of the receivers."""
    size_of = {
        (holds, witnesses): sum(_lengths(graph, sender, holds, witnesses, numbers)) + _SEAL_BYTES
        for holds in (False, True)
        for witnesses in (False, True)
    }
    holders, jury = graph.holders[sender], graph.witnesses
    return {each: size_of[each in holders, each in jury] for each in receivers}


def largest_sealed(numbers: int) -> int:
    """Maximum length of a sealed message."""
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
    """The secrets that a site seals for each receiver, or keeps if it is one itself."""
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
