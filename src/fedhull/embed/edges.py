"""Edges of a tree: read from a file, checked, and ordered from the root outwards."""

import csv
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedhull.errors import InvalidInput

Edge = tuple[Hashable, Hashable] | tuple[Hashable, Hashable, float]
# Beyond this and its inverse, sums of weights are no longer exact to any digit.
_LIGHTEST = 1e-100
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True, eq=False)
class Rooted:
    """A tree by the numbers of its nodes, in the order in which the edges name them.

    parent : (n,), −1 for the root; weight : (n,), of the edge to the parent; depth : (n,), the sum
    of the weights from the root; levels : the nodes at 0, 1, 2, … edges from the root, children of
    one parent side by side.
    """

    nodes: tuple[Hashable, ...]
    parent: np.ndarray
    weight: np.ndarray
    depth: np.ndarray
    levels: list[np.ndarray]


def rooted(edges: Iterable[Edge], root: Hashable | None = None) -> Rooted:
    """The tree of (child, parent) or (child, parent, weight) edges; with a `root`, edges may run
    either way. What is no tree is refused, with the name of a node that shows it.

    >>> rooted([("b", "a"), ("c", "b")]).parent.tolist()
    [1, -1, 0]
    >>> rooted([("whale", "mammal"), ("whale", "fish")])
    Traceback (most recent call last):
    ...
    fedhull.errors.InvalidInput: edges must form a tree, but 'whale' has two parents, 'mammal' and \
'fish'; keep one of them, or name the root if edges run either way
    """
    triples = [_checked(edge) for edge in edges]
    if not triples:
        raise InvalidInput("edges must hold at least one edge (child, parent), got none")
    nodes = tuple(dict.fromkeys(node for a, b, _ in triples for node in (a, b)))
    if root is None:
        root = _only_root(triples, nodes)
    elif root not in nodes:
        raise InvalidInput(f"root must be a node of the edges, got {root!r}")
    beside: dict[Hashable, list[tuple[Hashable, float]]] = {node: [] for node in nodes}
    for a, b, weight in triples:
        beside[a].append((b, weight))
        beside[b].append((a, weight))
    number = {node: i for i, node in enumerate(nodes)}
    parent, weights = np.full(len(nodes), -1), np.ones(len(nodes))
    depth = np.full(len(nodes), np.nan)
    depth[number[root]] = 0.0
    levels, level = [], [root]
    while level:
        levels.append(np.array([number[node] for node in level]))
        outer = []
        for node in level:
            here, came_from = number[node], parent[number[node]]
            for other, weight in beside[node]:
                there = number[other]
                if there == came_from:
                    came_from = -1  # back over the edge by which it was reached: once only
                elif not np.isnan(depth[there]):
                    raise InvalidInput(
                        f"edges must form a tree, but there are two ways from {root!r} to "
                        f"{other!r}; where a node has several parents, keep one"
                    )
                else:
                    parent[there], weights[there] = here, weight
                    depth[there] = depth[here] + weight
                    outer.append(other)
        level = outer
    if np.isnan(depth).any():
        raise InvalidInput(
            f"edges must form one tree, but {nodes[int(np.isnan(depth).argmax())]!r} is not "
            f"connected with {root!r}; add the missing edge or embed the parts apart"
        )
    return Rooted(nodes, parent, weights, depth, levels)


def read_edges(path: str | Path) -> list[Edge]:
    """The edges in a .csv or .tsv file with columns child, parent and perhaps weight.

    A first line is taken for a heading if its weight is no number, or if neither of its names comes
    again, which no edge of a larger tree can do. A line without a parent names the root.
    """
    path = Path(path)
    if path.suffix not in _DELIMITERS:
        raise InvalidInput(
            f"{path} must end in {' or '.join(_DELIMITERS)}, got {path.suffix or 'no ending'!r}"
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise InvalidInput(f"{path} cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} cannot be read: it is not UTF-8 text") from None
    reader = csv.reader(text.splitlines(), delimiter=_DELIMITERS[path.suffix])
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as problem:
        raise InvalidInput(f"{path} cannot be read: {problem} in line {reader.line_num}") from None
    rows = [(line, row) for line, row in rows if any(row)]
    if rows and _is_heading(rows[0][1], [row for _, row in rows[1:]]):
        rows = rows[1:]
    edges: list[Edge] = []
    for line, row in rows:
        if len(row) not in (2, 3) or not row[0]:
            raise InvalidInput(
                f"{path} must have columns child, parent and perhaps weight, got "
                f"{','.join(row)!r} in line {line}"
            )
        if row[1] and len(row) == 2:
            edges.append((row[0], row[1]))
        elif row[1]:
            weight = _number(row[2])
            if weight is None:
                raise InvalidInput(f"{path}: the weight in line {line} is not a number: {row[2]!r}")
            edges.append((row[0], row[1], weight))
    if not edges:
        raise InvalidInput(f"{path} holds no edges")
    return edges


def _is_heading(first: list[str], others: list[list[str]]) -> bool:
    if len(first) == 3 and _number(first[2]) is None:
        return True
    if [cell.lower() for cell in first[:2]] == ["child", "parent"]:
        return True
    again = {name for row in others for name in row[:2]}
    return bool(others) and all(first[:2]) and not again & set(first[:2])


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _checked(edge: Edge) -> tuple[Hashable, Hashable, float]:
    """(child, parent, weight) with a weight above zero."""
    if len(edge) not in (2, 3) or isinstance(edge, str):
        raise InvalidInput(
            f"edges must be (child, parent) or (child, parent, weight), got {edge!r}"
        )
    child, parent = edge[0], edge[1]
    weight = _number(edge[2]) if len(edge) == 3 else 1.0
    if child == parent:
        raise InvalidInput(
            f"edges must form a tree, but {child!r} is its own parent; drop that edge"
        )
    if weight is None or not _LIGHTEST <= weight <= 1.0 / _LIGHTEST:
        raise InvalidInput(
            f"weights of edges must be numbers > 0, between {_LIGHTEST:g} and {1 / _LIGHTEST:g}, "
            f"got {edge[-1]!r} from {child!r} to {parent!r}"
        )
    return child, parent, weight


def _only_root(
    triples: list[tuple[Hashable, Hashable, float]], nodes: tuple[Hashable, ...]
) -> Hashable:
    """The one node without a parent."""
    parent: dict[Hashable, Hashable] = {}
    for child, above, _ in triples:
        if child in parent:
            raise InvalidInput(
                f"edges must form a tree, but {child!r} has two parents, {parent[child]!r} and "
                f"{above!r}; keep one of them, or name the root if edges run either way"
            )
        parent[child] = above
    circle = _on_circle(parent)
    if circle is not None:
        raise InvalidInput(
            f"edges must form a tree, but they run in a circle through {circle!r}; drop one of them"
        )
    roots = [node for node in nodes if node not in parent]
    if len(roots) > 1:
        raise InvalidInput(
            f"edges must form one tree, but {roots[0]!r} and {roots[1]!r} both have no parent; "
            f"give them a common one, embed the parts apart, or name the root if edges run either "
            f"way"
        )
    return roots[0]


def _on_circle(parent: dict[Hashable, Hashable]) -> Hashable | None:
    """A node from which its ancestors lead back to it."""
    safe: set[Hashable] = set()
    for start in parent:
        path: set[Hashable] = set()
        node = start
        while node in parent and node not in safe and node not in path:
            path.add(node)
            node = parent[node]
        if node in path:
            return node
        safe |= path
    return None
