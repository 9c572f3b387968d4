"""The masks of a vector: one for every two partners, which cancel, and one of each client's own.

Client i adds +m_ij for every partner j that comes after it and −m_ij for every one before it, so
that the masks of two clients who both upload cancel in the sum, if both have seen the same: the
session, the participants and their keys, and what all of them have announced. Its own mask
protects an upload that arrives after the server has asked for the pairwise masks of a client it
took for vanished.

What sites answer to something the server has shown them, a proposal or the published result, goes
back under pairwise masks alone: the server, which has learned the self-mask seeds by then, opens
the sum only if everybody whom it has asked answers. These masks are bound to what was shown and to
who was asked: if two sites have seen different things, theirs do not cancel.
"""

from collections.abc import Mapping

from fedhull.protocol.keys import digest, stretch
from fedhull.protocol.layout import Layout, Vector


def self_mask(seed: bytes, salt: bytes, layout: Layout) -> Vector:
    """A client's own mask."""
    return layout.add_mask(layout.zeros(), _self_mask_key(seed, salt))


def take_off_self_mask(total: Vector, seed: bytes, salt: bytes, layout: Layout) -> None:
    """Subtract a client's own mask from a sum, in place."""
    layout.mask_in_place(total, _self_mask_key(seed, salt), negative=True)


def _self_mask_key(seed: bytes, salt: bytes) -> bytes:
    return stretch(seed, salt, b"self mask")


def pairwise_mask(client: str, agreed: Mapping[str, bytes], salt: bytes, layout: Layout) -> Vector:
    """The sum of a client's masks with its partners, given as {name: what the two mask keys agree
    on}."""
    total = layout.zeros()
    for partner, secret in agreed.items():
        pair = "\0".join(sorted((client, partner))).encode()
        shared = stretch(secret, salt, b"pairwise mask " + pair)
        layout.mask_in_place(total, shared, negative=client > partner)
    return total


def answer_salt(kind: bytes, view: bytes, shown: bytes, asked: bytes) -> bytes:
    """What the masks of an answer are bound to, besides what all had seen when they uploaded."""
    return digest(b"answer", kind, view, digest(shown), asked)
