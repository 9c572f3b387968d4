"""The sum of the uploads, freed from its masks by the shares that the survivors hand in."""

from collections.abc import Mapping, Sequence
from functools import partial

from fedhull.protocol import messages as m
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.graph import Graph
from fedhull.protocol.keys import ExchangeKey, digest
from fedhull.protocol.layout import Layout, Vector
from fedhull.protocol.masking import pairwise_mask, take_off_self_mask
from fedhull.protocol.recovery import Sought, recover


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
