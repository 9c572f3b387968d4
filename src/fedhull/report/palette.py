"""Colours that colour-blind readers can tell apart, on light and on dark paper."""

import re
from collections.abc import Iterable

# Okabe and Ito's first six, a darker yellow and a grey for their last two, then Paul Tol's; beyond
# the first eight, names on the figure have to help
PALETTE = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
    "#C9B800", "#77797C", "#882255", "#44AA99", "#AA4499", "#999933",
    "#332288", "#661100", "#117733", "#6699CC", "#AA4466", "#A0522D", "#4B0082", "#808000",
    "#2F6F8F", "#E07B91", "#5B8C5A", "#B8860B", "#6A5ACD", "#3F5F5F", "#D2691E", "#008B8B",
    "#9E5AA8", "#7B3F00", "#4682B4", "#C71585",
]  # fmt: skip


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """A colour for each name, in the order in which names come."""
    return {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(dict.fromkeys(names))}


def by_name(names: Iterable[str]) -> list[str]:
    """Names as people sort them.

    >>> by_name(["class 10", "T cell", "class 9"])
    ['class 9', 'class 10', 'T cell']
    """
    return sorted(names, key=lambda name: (_in_parts(name), name))


def _in_parts(name: str) -> list[tuple[int, str]]:
    """Text and numbers in turn: numbers are compared by size."""
    parts = re.split(r"([0-9]+)", name.casefold())
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
