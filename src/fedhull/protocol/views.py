"""What participants have seen, as digests: whoever signs the same digest has seen the same."""

from collections.abc import Mapping, Sequence

from fedhull.protocol.keys import digest


def survivor_digest(survivors: list[str]) -> bytes:
    """What a client signs of a list of survivors."""
    return digest(b"survivors", *(name.encode() for name in sorted(survivors)))


def sized_view(view: bytes, totals: Sequence[int]) -> bytes:
    """What a client has seen when it uploads: the view it announced, and the totals."""
    return digest(b"sized view", view, *(total.to_bytes(8, "big") for total in totals))


def seal_context(sender: str, receiver: str, key_list: bytes) -> bytes:
    """What a sealed message is bound to: who, to whom, and the list of keys both have seen."""
    return digest(sender.encode(), receiver.encode(), key_list)


def view_digest(salt: bytes, orders: Mapping[str, bytes]) -> bytes:
    """Which session it is and what it starts from, who takes part, and in which order: the same for
    all, or nothing is unmasked. The order numbers in it are 128-bit secrets, so that it tells the
    server nothing."""
    parts = []
    for name in sorted(orders):
        parts += [name.encode(), orders[name]]
    return digest(b"view", salt, *parts)
