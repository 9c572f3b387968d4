"""What participants have seen, as digests: whoever signs the same digest has seen the same."""

from collections.abc import Sequence

from fedhull.protocol.keys import digest


def view_digest(salt: bytes, participants: bytes, order: bytes) -> bytes:
    """Which session it is and what it starts from, who takes part, and in which order: the same for
    all, or nothing is unmasked. The key of the order is made of 128-bit secrets, so that this tells
    the server nothing."""
    return digest(b"view", salt, participants, order)


def sized_view(view: bytes, totals: Sequence[int]) -> bytes:
    """What a client has seen when it uploads: the view it announced, and the totals."""
    return digest(b"sized view", view, *(total.to_bytes(8, "big") for total in totals))


def survivor_digest(survivors: bytes) -> bytes:
    """What a client signs of a list of survivors."""
    return digest(b"survivors", survivors)


def seal_context(sender: bytes, receiver: bytes) -> bytes:
    """What a sealed message is bound to: the advertisements of the two, as both have seen them."""
    return digest(b"seal", sender, receiver)
