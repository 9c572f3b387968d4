"""What participants have seen, as digests: whoever signs the same digest has seen the same."""

from collections.abc import Iterable, Mapping, Sequence

from fedhull.errors import InconsistentView
from fedhull.protocol.keys import digest

# Nobody finds a second advertisement with the fingerprint of an honest site's.
FINGERPRINT_BYTES = 16


def fingerprint(advertisement: bytes) -> bytes:
    """A signed advertisement in short."""
    return digest(b"advertisement", advertisement)[:FINGERPRINT_BYTES]


def fingerprints(advertisements: Iterable[bytes]) -> bytes:
    """Those of all participants, one after the other, in the order of their seats."""
    return b"".join(map(fingerprint, advertisements))


def keys_digest(listed: bytes) -> bytes:
    """What all participants' fingerprints come to."""
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
    """Which session it is and what it starts from, who takes part, with which keys, and in which
    order: the same for all, or nothing is unmasked. Keys are fresh, so that no view is that of
    another session. The key of the order is made of 128-bit secrets, so that this tells the server
    nothing."""
    return digest(b"view", salt, participants, keys, order)


def sized_view(view: bytes, totals: Sequence[int]) -> bytes:
    """What a client has seen when it uploads: the view it announced, and the totals."""
    return digest(b"sized view", view, *(total.to_bytes(8, "big") for total in totals))


def survivor_digest(survivors: bytes) -> bytes:
    """What a client signs of a list of survivors."""
    return digest(b"survivors", survivors)


def seal_context(sender: bytes, receiver: bytes) -> bytes:
    """What a sealed message is bound to: the advertisements of the two, as both have seen them."""
    return digest(b"seal", sender, receiver)
