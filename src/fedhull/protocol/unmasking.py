"""The sum of the uploads, freed from its masks by the shares that the survivors hand in."""

from collections.abc import Mapping
from functools import partial

from fedhull.protocol import messages as m
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.keys import ExchangeKey, digest
from fedhull.protocol.layout import Layout, Vector
from fedhull.protocol.masking import pairwise_mask, self_mask
from fedhull.protocol.recovery import Sought, recover


def unmasked_sum(
    study: Agreement,
    salt: bytes,
    layout: Layout,
    uploads: Mapping[str, Vector],
    advertised: Mapping[str, m.Advertise],
    shares: Mapping[str, m.Unmask],
) -> tuple[Vector, dict[str, list[str]]]:
    """The sum of the uploads without masks, and who has handed in wrong shares of whose secrets;
    BadShares if the secrets cannot be restored."""
    survivors = {name: advertised[name].mask_key for name in uploads}
    vanished = sorted(next(iter(shares.values())).key_shares)

    def shares_of(name: str, kind: str) -> dict[int, int]:
        return {
            study.seats[holder]: int.from_bytes(getattr(given, kind)[name], "big")
            for holder, given in shares.items()
        }

    seeds = [
        Sought(name, "seed", shares_of(name, "seed_shares"),
               partial(_is_seed, advertised[name].seed_commitment))
        for name in uploads
    ]  # fmt: skip
    keys = [
        Sought(name, "mask key", shares_of(name, "key_shares"),
               partial(_is_key, advertised[name].mask_key))
        for name in vanished
    ]  # fmt: skip
    recovered = recover([*seeds, *keys], study.threshold)
    total = layout.zeros()
    for upload, seed in zip(uploads.values(), recovered.secrets, strict=False):
        total = layout.add(total, upload)
        total = layout.subtract(total, self_mask(seed, salt, layout))
    for name, secret in zip(vanished, recovered.secrets[len(seeds) :], strict=True):
        # what the vanished client would have added is missing from the sum
        missing = pairwise_mask(name, ExchangeKey(secret), survivors, salt, layout)
        total = layout.add(total, missing)
    names = {seat: name for name, seat in study.seats.items()}
    return total, {names[seat]: owners for seat, owners in recovered.wrong.items()}


def _is_seed(commitment: bytes, secret: bytes) -> bool:
    return digest(b"seed", secret) == commitment


def _is_key(public: bytes, secret: bytes) -> bool:
    return ExchangeKey(secret).public == public
