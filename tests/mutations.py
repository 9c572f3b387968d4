"""Damage to files, the same on every run: bits, bytes and, where there is structure, values."""

import json
import random
from collections.abc import Iterator
from typing import Any

HUGE = 10**400
LONG = "x" * 100_000
# What a reader does not expect where it expects something else.
STRANGE: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, -(2**63), 2**64, HUGE, 0.5, -0.0, 1e308, -1e308, 5e-324,
    float("nan"), float("inf"), float("-inf"), "", "a", "\x1b[31m", "\ud800", "9" * 50, LONG, [],
    [[]], [None], [0] * 1000, [[[[0]]]], {}, {"": 0}, {"a": {"b": [{}]}},
]  # fmt: skip


def damaged(content: bytes, n: int, seed: int = 0) -> Iterator[bytes]:
    """The content n times with something wrong: bits flipped, bytes cut, put in, or doubled."""
    rng = random.Random(seed)
    for i in range(n):
        yield _DAMAGES[i % len(_DAMAGES)](bytearray(content), rng)


def twisted(plain: Any, n: int, seed: int = 0) -> Iterator[Any]:
    """Plain values n times with one or two of them replaced, left out or doubled."""
    rng = random.Random(seed)
    for _ in range(n):
        changed = json.loads(json.dumps(plain))
        for _ in range(rng.choice((1, 1, 1, 2))):
            changed = _twist(changed, rng)
        yield changed


def nested(depth: int = 100_000) -> list[str]:
    """Texts that go deeper than a careless reader can follow."""
    return ["[" * depth, "[" * depth + "]" * depth, '{"a":' * depth + "0" + "}" * depth]


def _flip(content: bytearray, rng: random.Random) -> bytes:
    for _ in range(rng.choice((1, 1, 4, 32))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def _cut(content: bytearray, rng: random.Random) -> bytes:
    return bytes(content[: rng.randrange(len(content))])


def _insert(content: bytearray, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    content[at:at] = rng.randbytes(rng.choice((1, 2, 8, 100)))
    return bytes(content)


def _overwrite(content: bytearray, rng: random.Random) -> bytes:
    at, size = rng.randrange(len(content)), rng.choice((1, 2, 4, 8, 64))
    fill = rng.choice((bytes(size), b"\xff" * size, rng.randbytes(size)))
    content[at : at + size] = fill[: len(content) - at]
    return bytes(content)


def _leave_out(content: bytearray, rng: random.Random) -> bytes:
    at = rng.randrange(len(content))
    del content[at : at + rng.choice((1, 2, 8, 100))]
    return bytes(content)


def _double(content: bytearray, rng: random.Random) -> bytes:
    at = rng.randrange(len(content))
    piece = content[at : at + rng.choice((1, 8, 100, 1000))]
    to = rng.randrange(len(content))
    content[to:to] = piece
    return bytes(content)


_DAMAGES = (_flip, _cut, _insert, _overwrite, _leave_out, _double)


def _twist(value: Any, rng: random.Random) -> Any:
    """One value somewhere inside replaced, left out or doubled."""
    places = list(_places(value))
    holder, key = rng.choice(places) if places else (None, None)
    if holder is None:
        return rng.choice(STRANGE)
    what = rng.randrange(6)
    if what == 0:
        del holder[key]
    elif what == 1 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif what == 1:
        holder[f"{key}2"] = holder[key]
    elif what == 2 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
        holder[key] = rng.choice(
            (-holder[key], holder[key] + 1, holder[key] * 1e6, str(holder[key]))
        )
    else:
        holder[key] = rng.choice(STRANGE)
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield value, key
        if isinstance(inner, dict | list):
            yield from _places(inner)
