"""The masks of a vector: one for every two clients, which cancel, and one of each client's own.

Client i adds +m_ij for every peer j that comes after it and −m_ij for every peer before it, so that
the masks of two clients who both upload cancel in the sum. Its own mask protects an upload that
arrives after the server has asked for the pairwise masks of a client it took for vanished.

What sites answer to something the server has shown them, a proposal or the published result, goes
back under pairwise masks alone: the server, which has learned the self-mask seeds by then, opens
the sum only if everybody whom it has asked answers. These masks are bound to what was shown and to
who was asked: if two sites have seen different things, theirs do not cancel.
"""

from collections.abc import Mapping, Sequence

from fedhull.protocol.keys import ExchangeKey, digest, stretch
from fedhull.protocol.layout import Layout, Vector


def self_mask(seed: bytes, salt: bytes, layout: Layout) -> Vector:
    """A client's own mask."""
    return layout.add_mask(layout.zeros(), stretch(seed, salt, b"self mask"))


def pairwise_mask(
    client: str, key: ExchangeKey, peers: Mapping[str, bytes], salt: bytes, layout: Layout
) -> Vector:
    """The sum of a client's masks with its peers, given as {name: public mask key}."""
    total = layout.zeros()
    for peer, public in peers.items():
        pair = "\0".join(sorted((client, peer))).encode()
        shared = key.derive(public, salt, b"pairwise mask " + pair)
        total = layout.add_mask(total, shared, negative=client > peer)
    return total


def answer_salt(kind: bytes, salt: bytes, shown: bytes, asked: Sequence[str]) -> bytes:
    """What the masks of an answer are bound to, besides the session."""
    return digest(b"answer", kind, salt, digest(shown), *(name.encode() for name in sorted(asked)))
