"""The graph of a session: who shares masks with whom, who holds whose shares, who bears witness.

Up to 250 sites everybody does all of it. Beyond, or if the study says so, each site has a circle of
holders, and the session a jury of witnesses (see `degree`). Both are drawn from the study's hash
and the session's number, so that everybody works out the same graph.

The server chooses that number and may try many. Each try costs a scrypt of 16 MB, perhaps 20
microseconds of a fast graphics card. After 2^35 tries, a week of such a card, a chance of 2^−40 is
left that any of up to 16 sums had a graph that is of use to it.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fedhull.protocol.agreement import Agreement
from fedhull.protocol.degree import Degree, few
from fedhull.protocol.keys import costly_seed, keystream, stretch


@dataclass(frozen=True, repr=False, eq=False)
class Graph:
    """Holders and owners of secrets by site, witnesses, and dealers of the order's key."""

    holders: dict[str, frozenset[str]]
    owners: dict[str, frozenset[str]]
    enough_holders: int
    witnesses: frozenset[str]
    quorum: int
    dealers: frozenset[str]

    def partners(self, name: str) -> frozenset[str]:
        """The sites that a site shares masks with."""
        return (self.holders[name] | self.owners[name]) - {name}

    def known_to(self, name: str) -> Collection[str]:
        """The sites whose keys a site needs, its own among them."""
        if name in self.witnesses:
            return self.holders.keys()
        return self.holders[name] | self.owners[name] | self.witnesses | {name}

    def receivers(self, name: str) -> Collection[str]:
        """For whom a site seals something, itself included."""
        if name in self.dealers:
            return self.holders.keys()
        return self.holders[name] | self.witnesses

    def senders(self, name: str) -> Collection[str]:
        """The sites that seal something for a site, itself included."""
        if name in self.witnesses:
            return self.holders.keys()
        return self.owners[name] | self.dealers

    def keeps(self, name: str, there: Collection[str]) -> bool:
        """True if enough of a site's holders are there."""
        return sum(holder in there for holder in self.holders[name]) >= self.enough_holders

    def keeps_all(self, there: frozenset[str]) -> bool:
        """True if everybody who is there keeps enough holders."""
        return _keeps_all(self, there)

    def bearable(self, there: Iterable[str]) -> set[str]:
        """Those who keep enough holders if all of the others leave."""
        staying = set(there)
        while thin := {name for name in staying if not self.keeps(name, staying)}:
            staying -= thin
        return staying


# In a rehearsal all sites are told the same, and ask the same.
@lru_cache(maxsize=4)
def _keeps_all(graph: Graph, there: frozenset[str]) -> bool:
    return all(graph.keeps(name, there) for name in there)


def graph_of(study: Agreement, session: bytes, ordered: bool) -> Graph:
    """The graph of a session; `ordered` if its sites go by an order."""
    names = tuple(study.seats)
    if study.circle is None or study.jury is None:
        return _complete(names, study.threshold, ordered)
    dealers = few(len(names), study.protocol.dropout) if ordered else 0
    return _sparse(names, study.circle, study.jury, dealers, study.hash, session)


@lru_cache(maxsize=4)
def _complete(names: tuple[str, ...], threshold: int, ordered: bool) -> Graph:
    all_of_them = frozenset(names)
    everybody = dict.fromkeys(names, all_of_them)
    dealers = all_of_them if ordered else frozenset[str]()
    return Graph(everybody, everybody, threshold, all_of_them, threshold, dealers)


# In a rehearsal all sites are in one process and draw the same graph.
@lru_cache(maxsize=2)
def _sparse(
    names: tuple[str, ...], circle: Degree, jury: Degree, dealers: int, study: bytes, session: bytes
) -> Graph:
    n, seed = len(names), costly_seed(study, session)
    called = _draws(seed, b"jury", 1, jury.members, n)[0]
    witnesses = [names[place] for place in called]
    # the places of the others as seen from each site: nobody holds its own shares
    ahead = _draws(seed, b"circles", n, circle.members, n - 1)
    holders = {
        name: frozenset(names[(i + 1 + step) % n] for step in steps)
        for i, (name, steps) in enumerate(zip(names, ahead, strict=True))
    }
    owners: dict[str, set[str]] = {name: set() for name in names}
    for name, members in holders.items():
        for holder in members:
            owners[holder].add(name)
    return Graph(
        holders,
        {name: frozenset(held) for name, held in owners.items()},
        circle.enough,
        frozenset(witnesses),
        jury.enough,
        frozenset(witnesses[:dealers]),
    )


def _draws(seed: bytes, purpose: bytes, rows: int, size: int, below: int) -> list[list[int]]:
    """`rows` draws of `size` different numbers below a bound: the first different ones of a
    keystream of 64-bit numbers, which a remainder biases by less than 2^−40."""
    stream = keystream(stretch(seed, b"", b"graph " + purpose))
    draws: list[list[int]] = []
    for _ in range(rows):
        drawn: dict[int, None] = {}
        while len(drawn) < size:
            words = np.frombuffer(stream(16 * size), dtype="<u8") % np.uint64(below)
            drawn |= dict.fromkeys(words.tolist())
        draws.append(list(drawn)[:size])
    return draws
