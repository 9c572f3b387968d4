"""The masks of a vector: one for every two partners, which cancel, and one of each client's own.

Client i adds +m_ij for every partner j after it and −m_ij for every one before it, so that the
masks of two clients who both upload cancel, if both have seen the same session, participants, keys
and announced totals. Its own mask protects an upload that arrives after the server has asked for
the pairwise masks of a client it took for vanished.

Answers to a proposal or to the published result go back under pairwise masks alone: the server,
which has learned the self-mask seeds by then, opens their sum only if everybody whom it has asked
answers. These masks are bound to what was shown and to who was asked.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from fedhull.protocol import messages as m
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.graph import Graph
from fedhull.protocol.keys import ExchangeKey, digest, stretch
from fedhull.protocol.shares import Sought, recover
from fedhull.protocol.summation import Layout, Vector


def self_mask(seed: bytes, salt: bytes, layout: Layout) -> Vector:
    """A client's own mask."""
    return layout.add_mask(layout.zeros(), _self_mask_key(seed, salt))


def take_off_self_mask(total: Vector, seed: bytes, salt: bytes, layout: Layout) -> None:
    """Subtract a client's own mask from a sum, in place."""
    layout.mask_in_place(total, _self_mask_key(seed, salt), negative=True)


def _self_mask_key(seed: bytes, salt: bytes) -> bytes:
    return stretch(seed, salt, b"self mask")


def pairwise_mask(client: str, agreed: Mapping[str, bytes], salt: bytes, layout: Layout) -> Vector:
    """The sum of a client's masks with its partners, from {name: the secret agreed on}."""
    total = layout.zeros()
    for partner, secret in agreed.items():
        pair = "\0".join(sorted((client, partner))).encode()
        shared = stretch(secret, salt, b"pairwise mask " + pair)
        layout.mask_in_place(total, shared, negative=client > partner)
    return total


def answer_salt(kind: bytes, view: bytes, shown: bytes, asked: bytes) -> bytes:
    """Salt of an answer's masks, beside what all had seen when they uploaded."""
    return digest(b"answer", kind, view, digest(shown), asked)


def unmasked_sum(
    study: Agreement,
    graph: Graph,
    salt: bytes,
    layout: Layout,
    masked: Vector,
    survivors: Sequence[str],
    advertised: Mapping[str, m.Advertise],
    shares: Mapping[str, m.Unmask],
) -> tuple[Vector, dict[str, list[str]]]:
    """The sum of the survivors' uploads without masks, and who has handed in wrong shares of whose
    secrets; BadShares if the secrets cannot be restored."""
    seed_shares, key_shares = (
        _by_owner(study, {name: getattr(given, kind) for name, given in shares.items()})
        for kind in ("seed_shares", "key_shares")
    )
    seeds = [
        Sought(name, "seed", seed_shares.get(name, {}),
               partial(_is_seed, advertised[name].seed_commitment))
        for name in survivors
    ]  # fmt: skip
    keys = [
        Sought(name, "mask key", held, partial(_is_key, advertised[name].mask_key))
        for name, held in key_shares.items()
    ]
    recovered = recover([*seeds, *keys], graph.enough_holders)
    total, there = [part.copy() for part in masked], set(survivors)
    for seed in recovered.secrets[: len(seeds)]:
        take_off_self_mask(total, seed, salt, layout)
    for name, secret in zip(key_shares, recovered.secrets[len(seeds) :], strict=True):
        # what the vanished client would have added is missing from the sum
        key = ExchangeKey(secret)
        partners = sorted(graph.partners(name) & there)
        agreed = {each: key.agree(advertised[each].mask_key) for each in partners}
        total = layout.add(total, pairwise_mask(name, agreed, salt, layout))
    names = {seat: name for name, seat in study.seats.items()}
    return total, {names[seat]: owners for seat, owners in recovered.wrong.items()}


def _by_owner(
    study: Agreement, given: Mapping[str, Mapping[str, bytes]]
) -> dict[str, dict[int, int]]:
    """Shares by whose secrets they are of, from those {holder: {owner: share}}."""
    held: dict[str, dict[int, int]] = {}
    for holder, shares in given.items():
        for owner, share in shares.items():
            held.setdefault(owner, {})[study.seats[holder]] = int.from_bytes(share, "big")
    return held


def _is_seed(commitment: bytes, secret: bytes) -> bool:
    return digest(b"seed", secret) == commitment


def _is_key(public: bytes, secret: bytes) -> bool:
    return ExchangeKey(secret).public == public
