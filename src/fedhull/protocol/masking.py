"""The masks of an upload: one for every two clients, which cancel, and one of each client's own.

Client i adds +m_ij for every peer j that comes after it and −m_ij for every peer before it, so that
the masks of two clients who both upload cancel in the sum. Its own mask protects an upload that
arrives after the server has asked for the pairwise masks of a client it took for vanished.

How well the model does at each site goes back under pairwise masks alone: the server, which has
learned the self-mask seeds by then, opens the sum only if everybody named in it answers.
"""

from collections.abc import Iterable

import numpy as np

from fedhull.codes.field import Field
from fedhull.protocol.keys import ExchangeKey, digest, mask, stretch

# Two counts, correct and all; a Mersenne prime, wide enough for any number of points.
TALLY_FIELD, TALLY_SIZE = Field(2**61 - 1), 2


def self_mask(seed: bytes, salt: bytes, n: int, field: Field) -> np.ndarray:
    """A client's own mask."""
    return mask(stretch(seed, salt, b"self mask"), n, field)


def pairwise_mask(
    client: str, key: ExchangeKey, peers: dict[str, bytes], salt: bytes, n: int, field: Field
) -> np.ndarray:
    """The sum of a client's masks with its peers, given as {name: public mask key}."""
    return _sum(
        (_signed_mask(client, key, peer, public, salt, n, field) for peer, public in peers.items()),
        n,
        field,
    )


def tally_mask(client: str, key: ExchangeKey, peers: dict[str, bytes], salt: bytes) -> np.ndarray:
    """The masks of a client's counts, which no other message uses."""
    salt = digest(b"tally", salt)
    return pairwise_mask(client, key, peers, salt, TALLY_SIZE, TALLY_FIELD)


def _signed_mask(
    client: str, key: ExchangeKey, peer: str, public: bytes, salt: bytes, n: int, field: Field
) -> np.ndarray:
    pair = "\0".join(sorted((client, peer))).encode()
    values = mask(key.derive(public, salt, b"pairwise mask " + pair), n, field)
    return values if client < peer else field.negate(values)


def _sum(vectors: Iterable[np.ndarray], n: int, field: Field) -> np.ndarray:
    total = field.zeros(n)
    for vector in vectors:
        total = field.add(total, vector)
    return total
