"""Label codes: integers whose sums tell which labels went into them (Sec. 5.4).

A client's class has at most one corner in a bin, so the labels that meet there form a *set*. Any
code with distinct subset sums can tell them apart: powers of two always; a B_h code, in fewer bits,
as long as at most h labels meet.

Bose–Chowla codes (App. G) are B_h codes for any number of labels. Let β generate the multiplicative
group of F_{p^h}. The logarithms a'_α = log_β(β+α), α in F_p, are a B_h set: the product of h
factors β+α is a polynomial of degree h in β and names its roots. The smallest is a'_0 = log_β(β) =
1, and subtracting it makes the sums of *at most* h labels distinct, with α = 0 as the padding (Sec.
5.4; the differences a'_{l+1} − a'_l of App. G do not).
"""

from functools import lru_cache
from math import isqrt
from typing import Any

import flint

from fedhull.disc.points import check_count
from fedhull.errors import InvalidInput, UnknownLabelSum

# The largest number that is factored: a part of p^h − 1.
_MOST_BITS = 127
# Taking m logarithms modulo a prime factor r of p^h − 1 costs about 2√(r·m) steps. Primes p that
# cost more than a second or so are passed over for slightly larger ones, if there are any.
_EASY_STEPS, _MOST_STEPS = 2**18, 2**22
_PRIMES_TRIED = 40


class BinaryCode:
    """Powers of two: any set of labels, never a failure, one bit for each label.

    >>> BinaryCode(5).codes
    [1, 2, 4, 8, 16]
    >>> BinaryCode(5).decode(1 + 8)
    (0, 3)
    """

    def __init__(self, n_labels: int):
        n_labels = check_count(n_labels, "n_labels")
        self.codes = [1 << i for i in range(n_labels)]
        self.most_labels = n_labels

    def decode(self, total: int) -> tuple[int, ...]:
        """Positions of the bits that are set."""
        if not 0 <= total < 1 << len(self.codes):
            raise UnknownLabelSum(f"{total} is not a sum of {len(self.codes)} different labels")
        labels = []
        while total:
            lowest = total & -total
            labels.append(lowest.bit_length() - 1)
            total ^= lowest
        return tuple(labels)


class BoseChowlaCode:
    """m labels whose sums of at most h terms (repetitions allowed) are all different.

    The same m and h give the same integers everywhere. Some pairs are refused, most of them with h
    prime and at least 11: there p^h − 1 has a prime factor so large that logarithms would take too
    long. Studies use `coding`'s pairs by default.

    >>> code = BoseChowlaCode(n_labels=4, h=2)
    >>> code.decode(code.codes[1] + code.codes[3])
    (1, 3)
    """

    def __init__(self, n_labels: int, h: int):
        n_labels, h = check_count(n_labels, "n_labels"), check_count(h, "h")
        self.most_labels = min(h, n_labels)
        self._h = h
        if h == 1:
            # sums of one term: any different integers will do
            self.codes = list(range(1, n_labels + 1))
            return
        self._p = _choose_prime(n_labels, h)
        logs = _shifted_logarithms(n_labels, self._p, h)
        by_size = sorted(range(1, n_labels + 1), key=logs.__getitem__)
        self.codes = [logs[alpha] for alpha in by_size]
        self._position = {alpha: i for i, alpha in enumerate(by_size)}
        self._modulus = _primitive_polynomial(self._p, h)

    def decode(self, total: int) -> tuple[int, ...]:
        """Positions of the labels in a sum, each as often as it occurs, ascending.

        β^(total+h) is the product of β+α over the labels and, for each missing one, of β. Adding
        β's own polynomial, which is zero, gives Π(x+α) in full: its roots are −α.
        """
        labels: list[int] = []
        if self._h == 1:
            labels = [total - 1] if 1 <= total <= len(self.codes) else []
        elif total >= 0:
            power = _ring(self._p).gen().pow_mod(total + self._h, self._modulus)
            roots = (power + self._modulus).roots()
            alphas = [(-int(root) % self._p, count) for root, count in roots]
            labels = [
                self._position[alpha]
                for alpha, count in alphas
                for _ in range(count)
                if alpha in self._position
            ]
        if sum(self.codes[i] for i in labels) != total:
            raise UnknownLabelSum(f"{total} is not a sum of at most {self._h} labels of this code")
        return tuple(sorted(labels))


@lru_cache(maxsize=64)
def _choose_prime(n_labels: int, h: int) -> int:
    """The first prime p > n_labels for which logarithms in F_{p^h} are quick to take."""
    best: tuple[int, int] | None = None
    p = n_labels
    for _ in range(_PRIMES_TRIED):
        p = next(n for n in range(p + 1, 2 * p + 2) if flint.fmpz(n).is_prime())
        if _largest_part(p, h).bit_length() > _MOST_BITS:
            break
        steps = 2 * isqrt(max(_group_order_factors(p, h)) * n_labels)
        if steps <= _EASY_STEPS:
            return p
        best = min(best or (steps, p), (steps, p))
    if best is None:
        raise InvalidInput(
            f"the code for {n_labels} labels with h = {h} would take too long to construct: a "
            f"number of more than {_MOST_BITS} bits has to be factored; use the binary code, "
            f"h = {h - 1} or h = {h + 1}"
        )
    if best[0] > _MOST_STEPS:
        raise InvalidInput(
            f"the code for {n_labels} labels with h = {h} would take too long to construct "
            f"(about {best[0]:.0e} steps); use h = {h - 1} or h = {h + 1}"
        )
    return best[1]


def _largest_part(p: int, h: int) -> int:
    """The largest of the cyclotomic parts of p^h − 1, Φ_h(p)."""
    return int(flint.fmpz_poly.cyclotomic(h)(p))


@lru_cache(maxsize=256)
def _group_order_factors(p: int, h: int) -> dict[int, int]:
    """Prime factors of p^h − 1 with their exponents, from its cyclotomic parts."""
    factors: dict[int, int] = {}
    for d in range(1, h + 1):
        if h % d == 0:
            part = int(flint.fmpz_poly.cyclotomic(d)(p))
            for prime, exponent in flint.fmpz(part).factor():
                factors[int(prime)] = factors.get(int(prime), 0) + exponent
    return factors


def _ring(p: int) -> Any:
    return flint.fmpz_mod_poly_ctx(flint.fmpz_mod_ctx(p))


@lru_cache(maxsize=64)
def _primitive_polynomial(p: int, h: int) -> Any:
    """The first monic polynomial of degree h over F_p whose root generates F_{p^h}'s units."""
    ring = _ring(p)
    x, order = ring.gen(), p**h - 1
    factors = _group_order_factors(p, h)
    for number in range(1, p**h):
        digits, rest = [], number
        for _ in range(h):
            rest, digit = divmod(rest, p)
            digits.append(digit)
        candidate = ring([*digits, 1])
        if candidate.is_irreducible() and all(
            not x.pow_mod(order // r, candidate).is_one() for r in factors
        ):
            return candidate
    raise AssertionError("every finite field has a generator")


@lru_cache(maxsize=64)
def _shifted_logarithms(n_labels: int, p: int, h: int) -> list[int]:
    """log_β(β+α) − 1 for α = 0..n_labels, by Pohlig–Hellman and baby and giant steps."""
    order = p**h - 1
    modulus = _primitive_polynomial(p, h)
    x = _ring(p).gen()
    targets = [x + alpha for alpha in range(n_labels + 1)]
    logs, known = [0] * len(targets), 1
    for r, exponent in _group_order_factors(p, h).items():
        part = r**exponent
        residues = _logs_in_part(targets, x, modulus, order, r, exponent)
        # Chinese remainders, one prime power at a time
        lift = known * pow(known, -1, part)
        logs = [
            (log + lift * (residue - log)) % (known * part)
            for log, residue in zip(logs, residues, strict=True)
        ]
        known *= part
    assert known == order
    assert logs[0] == 1
    return [log - 1 for log in logs]


def _logs_in_part(
    targets: list[Any], base: Any, modulus: Any, order: int, r: int, exponent: int
) -> list[int]:
    """Logarithms modulo r^exponent, digit by digit to base r."""
    cofactor = order // r**exponent
    generator = base.pow_mod(cofactor, modulus)
    inverse = generator.pow_mod(r**exponent - 1, modulus)
    find = _StepFinder(
        generator.pow_mod(r ** (exponent - 1), modulus), modulus, r, len(targets) * exponent
    )
    logs = []
    for target in targets:
        left, log = target.pow_mod(cofactor, modulus), 0
        for digit in range(exponent):
            part = find(left.pow_mod(r ** (exponent - 1 - digit), modulus)) * r**digit
            left = left.mul_mod(inverse.pow_mod(part, modulus), modulus)
            log += part
        logs.append(log)
    return logs


class _StepFinder:
    """Baby steps, giant steps: logarithms to a base of prime order r, sized for `questions`."""

    def __init__(self, base: Any, modulus: Any, r: int, questions: int):
        self._modulus = modulus
        self._n_baby = min(r, isqrt(r * questions) + 1)
        self._baby: dict[tuple[int, ...], int] = {}
        power = base.pow_mod(0, modulus)
        for i in range(self._n_baby):
            self._baby[_key(power)] = i
            power = power.mul_mod(base, modulus)
        self._giant = base.pow_mod(r - self._n_baby % r, modulus)
        self._n_giant = -(-r // self._n_baby)

    def __call__(self, power: Any) -> int:
        for i in range(self._n_giant):
            step = self._baby.get(_key(power))
            if step is not None:
                return i * self._n_baby + step
            power = power.mul_mod(self._giant, self._modulus)
        raise AssertionError("not a power of the base")


def _key(element: Any) -> tuple[int, ...]:
    return tuple(map(int, element.coeffs()))
