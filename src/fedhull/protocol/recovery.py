"""The secrets behind the shares that are handed in, though some of the shares may be wrong.

If all shares together restore what the owners have committed to, there is no more to do. Otherwise
the secrets that are shared among the same holders are looked at together: a random combination of
them is shared likewise, so that one codeword shows which holders have handed in a wrong share of
any secret (see `shares`); only a lie about all of them at once, and about the same combination,
could slip through: once in 2^256. The others restore every secret, which is then checked against
what its owner has committed to. Where there are too few shares for that, sets of t holders are
tried in turn.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from fedhull.errors import BadShares
from fedhull.protocol.shares import PRIME, weighted, weights, wrong_holders

# How many sets of t holders are tried before wrong shares among them end the session.
_MOST_SETS = 500


@dataclass(frozen=True, repr=False)
class Sought:
    """A secret: whose it is, what it is, the shares {holder: share} and whether a secret fits what
    the owner has committed to."""

    owner: str
    what: str
    shares: dict[int, int]
    fits: Callable[[bytes], bool]


@dataclass(frozen=True, repr=False)
class Recovered:
    """The secrets, in the order they were sought, and for each holder of wrong shares whose secrets
    they were shares of."""

    secrets: list[bytes]
    wrong: dict[int, list[str]]


def recover(sought: Sequence[Sought], threshold: int) -> Recovered:
    """Restore all secrets; BadShares if one of them cannot be."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for number, each in enumerate(sought):
        alike.setdefault(tuple(sorted(each.shares)), []).append(number)
    found: dict[int, bytes] = {}
    wrong: dict[int, list[str]] = {}
    for holders, numbers in alike.items():
        together = _recover_together([sought[i] for i in numbers], list(holders), threshold)
        found |= zip(numbers, together.secrets, strict=True)
        for holder, owners in together.wrong.items():
            wrong.setdefault(holder, []).extend(owners)
    return Recovered([found[number] for number in range(len(sought))], wrong)


def _recover_together(sought: Sequence[Sought], holders: list[int], threshold: int) -> Recovered:
    """Secrets that are shared among the same holders."""
    if len(holders) >= threshold:
        weight = weights(holders)
        values = [weighted(each.shares, weight) for each in sought]
        if all(_fits(each, value) for each, value in zip(sought, values, strict=True)):
            return Recovered([value.to_bytes(32, "big") for value in values], {})
    suspects = wrong_holders(_combined(sought, holders), threshold)
    trusted = sorted(holders, key=lambda x: (x in (suspects or ()), x))
    sets = _Sets(trusted, threshold)
    restored = [_restore(each, sets) for each in sought]
    wrong: dict[int, list[str]] = {}
    for x in holders if suspects is None else sorted(suspects):
        for each, (_, used) in zip(sought, restored, strict=True):
            if x not in used and weighted(each.shares, sets.weights(used, at=x)) != each.shares[x]:
                wrong.setdefault(x, []).append(each.owner)
    return Recovered([secret for secret, _ in restored], wrong)


class _Sets:
    """Sets of t holders, the most trusted first, and Lagrange's weights of those that are used."""

    def __init__(self, holders: list[int], threshold: int):
        self._holders, self._threshold = holders, threshold
        self._weights: dict[tuple[tuple[int, ...], int], dict[int, int]] = {}

    def __iter__(self) -> "islice[tuple[int, ...]]":
        return islice(combinations(self._holders, self._threshold), _MOST_SETS)

    def weights(self, holders: tuple[int, ...], at: int = 0) -> dict[int, int]:
        """As in `shares`, worked out once."""
        key = holders, at
        if key not in self._weights:
            self._weights[key] = weights(holders, at)
        return self._weights[key]


def _combined(sought: Sequence[Sought], holders: list[int]) -> dict[int, int]:
    factors = [secrets.randbelow(PRIME) for _ in sought]
    return {
        x: sum(f * each.shares[x] for f, each in zip(factors, sought, strict=True)) % PRIME
        for x in holders
    }


def _fits(sought: Sought, secret: int) -> bool:
    return secret.bit_length() <= 256 and sought.fits(secret.to_bytes(32, "big"))


def _restore(sought: Sought, sets: _Sets) -> tuple[bytes, tuple[int, ...]]:
    """The secret, and the holders whose shares gave it."""
    for holders in sets:
        secret = weighted(sought.shares, sets.weights(holders))
        if _fits(sought, secret):
            return secret.to_bytes(32, "big"), holders
    raise BadShares(
        f"the shares of {sought.owner!r}'s {sought.what} do not fit what it has committed to: "
        f"{sought.owner!r} has dealt wrong ones, or too many sites have handed in wrong ones"
    )
