"""Numbers of holders and witnesses that a sparse graph needs.

In a complete graph every site shares masks with every other and holds shares of its secrets. In a
sparse one (after Bell, Bonawitz, Gascón, Lepoint, Raykova: "Secure single-server aggregation with
(poly)logarithmic overhead", CCS 2020) it does so with a few, drawn at random. With n sites, of
which c = collusion·n work together with the server and d = dropout·n may drop out:

- The *circle* of a site is k others, which hold its shares; s of them restore a secret, and no site
  stays in the sum unless s of its circle do. Honest sites of the sum could be told apart only if
  there were a set A of at most half of them in which everybody has s of its k holders among A and
  the colluders: then no mask would lead out of A. With H hypergeometric, any such A exists with a
  probability of at most Σ_a C(n−c, a) · P(H(n−1, a−1+c, k) ≥ s)^a for a = 1 … (n−c)/2. The term a =
  1 is also that of s colluders in one circle, who could restore a secret by themselves.
- The *jury* of the session is m witnesses, of whom a quorum of w must have seen the same before
  anybody acts on it. Two views could each find a quorum only if 2w − m witnesses collude, which has
  the probability P(H(n, c, m) ≥ 2w − m).

Both are at most 2^−80 for graphs that nobody has chosen. If no more than d sites drop out, every
circle keeps s and the jury w of its members, except with a probability of 2^−20.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import count

import numpy as np

# Probabilities as powers of 1/2: that a graph is of use to colluders, and that it cannot bear the
# dropouts that it should.
SECURITY, AVAILABILITY = 80, 20


@dataclass(frozen=True)
class Degree:
    """An m-of-n quorum."""

    members: int
    enough: int


@cache
def circle(n: int, collusion: float, dropout: float) -> Degree | None:
    """Circles that do, as small as can be; None if n is too small for any."""
    c, d = _counts(n, collusion, dropout)

    def enough(k: int) -> int:
        # the more are needed the safer: as many as dropouts allow
        return k - _most_missing(n - 1, d, k, AVAILABILITY + float(np.log2(n)))

    k = _smallest(n - 1, lambda k: _separable(n, c, k, enough(k)) <= -SECURITY)
    return None if k is None else Degree(k, enough(k))


@cache
def jury(n: int, collusion: float, dropout: float) -> Degree | None:
    """A jury that does, as small as can be; None if n is too small for any."""
    c, d = _counts(n, collusion, dropout)

    def quorum(m: int) -> int:
        return m - _most_missing(n, d, m, AVAILABILITY)

    def does(m: int) -> bool:
        both = 2 * quorum(m) - m
        return both > 0 and _log2_tails(n, np.array([c]), m)[0, both] <= -SECURITY

    m = _smallest(n - 1, does)
    return None if m is None else Degree(m, quorum(m))


@cache
def fewest_sites(collusion: float, dropout: float) -> int:
    """The smallest number of sites that circles and juries can be drawn from."""

    def does(n: int) -> bool:
        return None not in (circle(n, collusion, dropout), jury(n, collusion, dropout))

    return next(filter(does, count(3)))


@cache
def few(n: int, dropout: float) -> int:
    """Number of sites that do not all drop out."""
    d = np.array([_counts(n, 0, dropout)[1]])
    return next(r for r in range(1, n + 1) if _log2_tails(n, d, r)[0, r] <= -AVAILABILITY)


def _counts(n: int, collusion: float, dropout: float) -> tuple[int, int]:
    """Numbers of sites that collude and that drop out: at least one each."""
    return max(1, int(collusion * n)), max(1, int(dropout * n))


def _smallest(most: int, does: Callable[[int], bool]) -> int | None:
    """The smallest number that does, up to rounding of thresholds: what does is about monotone."""
    bound = min(3, most)
    while bound < most and not does(bound):
        bound = min(2 * bound, most)
    return bisect_left(range(bound), x=True, key=does) if does(bound) else None


def _most_missing(n: int, dropouts: int, drawn: int, bits: float) -> int:
    """The smallest number that the dropouts among those drawn exceed only once in 2^bits draws."""
    tails = _log2_tails(n, np.array([dropouts]), drawn)[0]
    return int(np.argmax(np.append(tails, -np.inf)[1:] <= -bits))


def _separable(n: int, c: int, k: int, s: int) -> float:
    """log2 of the sum over the sizes a of sets A."""
    a = np.arange(1, (n - c) // 2 + 1)
    terms = _log2_choose(n - c, a) + a * _log2_tails(n - 1, a - 1 + c, k, s)[:, 0]
    return float(np.logaddexp2.reduce(terms))


def _log2_tails(population: int, marked: np.ndarray, drawn: int, least: int = 0) -> np.ndarray:
    """log2 P(H ≥ x), x = least … drawn, for H marked among the drawn; a row per number marked."""
    x, marked = np.arange(least, drawn + 1), marked[:, None]
    ways = _log2_choose(marked, x) + _log2_choose(population - marked, drawn - x)
    tails = np.logaddexp2.accumulate(ways[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(tails - _log2_choose(population, drawn))


def _log2_choose(n: np.ndarray | int, k: np.ndarray | int) -> np.ndarray:
    """log2 of the binomial coefficient, −∞ where it is 0."""
    # only large studies get here, and SciPy takes its time to import
    from scipy.special import gammaln

    n, k = np.broadcast_arrays(n, k)
    possible = (k >= 0) & (k <= n)
    n, k = np.where(possible, n, 1), np.where(possible, k, 0)
    logs = (gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)) / np.log(2)
    return np.where(possible, logs, -np.inf)
