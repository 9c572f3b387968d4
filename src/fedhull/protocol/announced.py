"""What sites announce: small numbers, of which nobody learns more than the totals over all.

Every site shares its numbers among the witnesses. Each of them adds up the shares that it holds,
which gives it a share of every total.
"""

from collections.abc import Callable, Mapping, Sequence

from fedhull.errors import BadMessage, BadShares
from fedhull.protocol.shares import split, weighted, weights, wrong_holders
from fedhull.protocol.summation import Totals

COUNT_PRIME, COUNT_BYTES = 2**61 - 1, 8


def share_numbers(
    numbers: Sequence[int], holders: list[int], threshold: int, draw: Callable[[int], int]
) -> dict[int, bytes]:
    """For each holder its shares of some small numbers, one after the other."""
    each = [split(number, holders, threshold, COUNT_PRIME, draw) for number in numbers]
    return {
        holder: b"".join(shares[holder].to_bytes(COUNT_BYTES, "big") for shares in each)
        for holder in holders
    }


def share_of(shares: bytes, number: int) -> int:
    """The share of one of several numbers."""
    begin = number * COUNT_BYTES
    return int.from_bytes(shares[begin : begin + COUNT_BYTES], "big") % COUNT_PRIME


def add_shares(held: Sequence[bytes]) -> bytes:
    """One holder's shares of everybody's numbers added up, which are its shares of the totals."""
    numbers = range(len(held[0]) // COUNT_BYTES)
    sums = (sum(share_of(shares, number) for shares in held) for number in numbers)
    return b"".join((total % COUNT_PRIME).to_bytes(COUNT_BYTES, "big") for total in sums)


def restore_totals(shares: Mapping[int, bytes], numbers: int, threshold: int) -> Totals:
    """The totals behind t holders' shares of so many of them; further shares are not looked at."""
    enough = sorted(shares)[:threshold]
    weight = weights(enough, prime=COUNT_PRIME)
    return tuple(
        weighted({x: share_of(shares[x], number) for x in enough}, weight, COUNT_PRIME)
        for number in range(numbers)
    )


def wrong_witnesses(shares: Mapping[int, bytes], numbers: int, quorum: int) -> set[int]:
    """Whose shares of the totals do not fit together with the rest; BadShares if there are too many
    of them."""
    found: set[int] = set()
    for number in range(numbers):
        wrong = wrong_holders(
            {seat: share_of(raw, number) for seat, raw in shares.items()}, quorum, COUNT_PRIME
        )
        if wrong is None:
            raise BadShares(
                "the shares of how much the sites will send do not fit together: too many of them "
                "are wrong"
            )
        found |= wrong
    return found


def check_allowed(totals: Totals, most: Totals, participants: int) -> None:
    """Raise BadMessage if so many participants may not announce so much together."""
    for total, each in zip(totals, most, strict=True):
        if total > participants * each:
            raise BadMessage(
                f"the sites announce more together than the study allows: {total}, but at most "
                f"{participants * each}; one of them lies about how much it will send"
            )
