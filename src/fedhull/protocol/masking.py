"""The masks of an upload: one for every two clients, which cancel, and one of each client's own.

Client i adds +m_ij for every peer j that comes after it and −m_ij for every peer before it, so that
the masks of two clients who both upload cancel in the sum. Its own mask protects an upload that
arrives after the server has asked for the pairwise masks of a client it took for vanished.

How well the model does at each site goes back under pairwise masks alone: the server, which has
learned the self-mask seeds by then, opens the sum only if everybody named in it answers.
"""

import numpy as np

from fedhull.codes.field import Field
from fedhull.protocol.keys import ExchangeKey, add_mask, digest, stretch

# Two counts, correct and all; a Mersenne prime, wide enough for any number of points.
TALLY_FIELD, TALLY_SIZE = Field(2**61 - 1), 2


def self_mask(seed: bytes, salt: bytes, n: int, field: Field) -> np.ndarray:
    """A client's own mask."""
    return add_mask(field.zeros(n), stretch(seed, salt, b"self mask"), field)


def pairwise_mask(
    client: str, key: ExchangeKey, peers: dict[str, bytes], salt: bytes, n: int, field: Field
) -> np.ndarray:
    """The sum of a client's masks with its peers, given as {name: public mask key}."""
    total = field.zeros(n)
    for peer, public in peers.items():
        pair = "\0".join(sorted((client, peer))).encode()
        shared = key.derive(public, salt, b"pairwise mask " + pair)
        total = add_mask(total, shared, field, negative=client > peer)
    return total


def tally_mask(client: str, key: ExchangeKey, peers: dict[str, bytes], salt: bytes) -> np.ndarray:
    """The masks of a client's counts, which no other message uses."""
    salt = digest(b"tally", salt)
    return pairwise_mask(client, key, peers, salt, TALLY_SIZE, TALLY_FIELD)
