"""Trees in the disc without training: Sarkar's construction (2011).

The root is put at the origin. Around every node, its parent and its children are spread over all
directions, each child one edge length away. As edges get longer, distances in the disc approach the
edge length times the distances in the tree; the limit is the deepest path, whose end must still be
told apart from the rim.

Sarkar spreads evenly, which is best for edges as long as his proof asks for. With shorter edges
subtrees run into each other. Then every neighbour gets a part of the circle in proportion to the
square root of the number of leaves beyond it: on WordNet's mammals that brings the mean distortion
from 1.44 to 1.10 and the worst from 201 to 15.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import msgspec
import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from fedhull.disc.maps import mobius_add, pairwise_distance
from fedhull.disc.points import as_ball_points, check_curvature, check_positive
from fedhull.embed.edges import Edge, Rooted, rooted
from fedhull.embed.embedder import Embedder, numbers, settings_as
from fedhull.errors import InvalidInput

# The farthest node is put at ‖x‖√k = 1 − 1e-9 at most, where floats still know its place to 1e-7.
_FARTHEST = 2.0 * np.arctanh(1.0 - 1e-9)
# Edges are not made longer than brings the distortion of the closest siblings to 1.05.
_ENOUGH = 1.05
_MOST_PAIRS = 4_000_000
_SPREADS = ("even", "leaves")


@dataclass(frozen=True, eq=False)
class TreeEmbedding:
    """Nodes and their points (n, 2), and how well distances in the disc are those of the tree.

    edge_length : the distance in the disc of an edge of weight 1; longest_edge : what the deepest
    path would have allowed; spread : "even" or "leaves". The distortion of two nodes is
    edge_length · tree distance / distance, at least 1; `worst_distortion` and `mean_distortion` are
    over all pairs, or for more than two thousand nodes over the pairs of some nodes with all.
    """

    nodes: tuple[Hashable, ...]
    points: np.ndarray
    root: Hashable
    curvature: float
    edge_length: float
    longest_edge: float
    spread: str
    worst_distortion: float
    mean_distortion: float


def embed_tree(
    edges: Iterable[Edge],
    root: Hashable | None = None,
    edge_length: float | None = None,
    curvature: float = 1.0,
    spread: str | None = None,
) -> TreeEmbedding:
    """Points of the disc for the nodes of a tree, given as (child, parent[, weight]).

    The root is the one node without a parent. If a `root` is named, edges may run either way. An
    edge of weight w becomes edge_length·w long. Without `edge_length` it is chosen: as long as the
    deepest path allows, but no longer than brings siblings to within 5% of their tree distance.
    Children are spread "even" or by "leaves"; without `spread`, as gives less mean distortion.

    >>> tree = embed_tree([("cat", "mammal"), ("dog", "mammal"), ("puppy", "dog")])
    >>> tree.nodes, tree.root
    (('cat', 'mammal', 'dog', 'puppy'), 'mammal')
    >>> round(tree.edge_length, 3), round(tree.worst_distortion, 3)
    (1.0, 1.0)
    """
    k = check_curvature(curvature)
    tree = rooted(edges, root)
    longest = float(_FARTHEST / np.sqrt(k) / tree.depth.max())
    if edge_length is None:
        length = min(longest, float(_enough(tree) / np.sqrt(k)))
    else:
        length = check_positive(edge_length, "edge_length", "1.0")
    if length > longest * (1.0 + 1e-12):
        raise InvalidInput(
            f"edge_length must be at most {longest:.6g}, so that the deepest node stays off "
            f"the rim, got {edge_length!r}; leave it out to have it chosen"
        )
    if spread not in (None, *_SPREADS):
        raise InvalidInput(f"spread must be 'even', 'leaves' or left out, got {spread!r}")
    embeddings = []
    for way in _SPREADS if spread is None else (spread,):
        points = _placed(tree, np.sqrt(k) * length, way) / np.sqrt(k)
        worst, mean = _distortion(tree, points, length, k)
        root = tree.nodes[tree.levels[0][0]]
        embeddings.append(
            TreeEmbedding(tree.nodes, points, root, k, length, longest, way, worst, mean)
        )
    return min(embeddings, key=lambda embedding: embedding.mean_distortion)


@dataclass(eq=False)
class TreeEmbedder(Embedder):
    """Sarkar's construction as an embedder, fitted to edges; it places nodes by their names.

    Names are compared as strings, as they are in a file. Nothing can be said of nodes that were not
    in the tree.

    >>> TreeEmbedder().fit([("cat", "mammal"), ("dog", "mammal")]).transform(["mammal"])
    array([[0., 0.]])
    """

    method: ClassVar[str] = "tree"
    root: Hashable | None = None
    edge_length: float | None = None
    curvature: float = 1.0
    supervised: bool = field(default=False, init=False)
    names: np.ndarray = field(init=False, repr=False)
    points: np.ndarray = field(init=False, repr=False)

    def fit(self, edges: Iterable[Edge], labels: np.ndarray | None = None) -> Self:
        """Place the nodes of a tree, with edges as in `embed_tree` and no labels."""
        if labels is not None:
            raise InvalidInput("labels must be left out: a tree is embedded by its edges alone")
        tree = embed_tree(edges, self.root, self.edge_length, self.curvature)
        names = [str(node) for node in tree.nodes]
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise InvalidInput(
                f"nodes must have different names as strings, but {twice!r} appears twice"
            )
        self.names, self.points = np.array(names), tree.points
        self.edge_length = tree.edge_length
        return self

    def transform(self, names: Sequence[Hashable]) -> np.ndarray:
        """The points (n, 2) of nodes of the tree."""
        if not hasattr(self, "points"):
            raise InvalidInput("the tree embedder must be fitted before it can place nodes")
        place = {name: i for i, name in enumerate(self.names.tolist())}
        wanted = [str(name) for name in names]
        unknown = [name for name in wanted if name not in place]
        if unknown:
            raise InvalidInput(
                f"names must be nodes of the tree, but {unknown[0]!r} is not"
                f"{f' (nor are {len(unknown) - 1} more)' if len(unknown) > 1 else ''}; add it to "
                f"the edges and fit again"
            )
        return self.points[[place[name] for name in wanted]].reshape(-1, 2)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The root and edge length, and names (n,) with their points (n, 2)."""
        if not hasattr(self, "points"):
            raise InvalidInput("the tree embedder must be fitted before it can be saved")
        root = None if self.root is None else str(self.root)
        settings = {"root": root, "edge_length": self.edge_length, "curvature": self.curvature}
        return settings, {"names": self.names, "points": self.points}

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """The fitted embedder of a state."""
        content = settings_as(_Kept, settings)
        embedder = cls(content.root, content.edge_length, check_curvature(content.curvature))
        embedder.names = arrays["names"]
        if embedder.names.dtype.kind != "U" or embedder.names.ndim != 1:
            raise InvalidInput("its array 'names' must be a list of names")
        embedder.points = numbers(arrays, "points", len(embedder.names), 2)
        as_ball_points(embedder.points, embedder.curvature)
        return embedder


class _Kept(msgspec.Struct):
    """The settings in a file, and their types."""

    root: str | None
    edge_length: float | None
    curvature: float


def _enough(tree: Rooted) -> float:
    """The edge length at which the closest siblings come within 5% of their distance in the tree.

    Edges of length ℓ at an angle of 2π/m end 2ℓ + 2·ln sin(π/m) apart, up to terms in exp(−2ℓ).
    """
    neighbours = np.bincount(tree.parent[tree.parent >= 0], minlength=len(tree.nodes))
    neighbours += tree.parent >= 0
    lost = -np.log(np.sin(np.pi / max(2, int(neighbours.max()))))
    shortest = tree.weight[tree.parent >= 0].min()
    return float(max(1.0, _ENOUGH / (_ENOUGH - 1.0) * lost) / shortest)


def _placed(tree: Rooted, length: float, spread: str) -> np.ndarray:
    """The points (n, 2) for curvature −1, level by level.

    Every node keeps a frame: its point p and the direction `ahead` (a complex number of size 1) in
    which one arrives from its parent. Seen from there the parent lies at the angle π, in the middle
    of its part of the circle, and the children in the middle of theirs. A child seen at
    c = tanh(ℓ/2)·exp(iφ) goes to p ⊕ q, q = ahead·c, where one arrives in the direction
    gyr[p, q]·ahead·exp(iφ), and gyr[p, q] = (1+p·q̄)/(1+p̄·q).
    """
    outward, inward = _shares(tree, spread)
    point = np.zeros(len(tree.nodes), dtype=np.complex128)
    ahead = np.ones(len(tree.nodes), dtype=np.complex128)
    for level in tree.levels[1:]:
        parent = tree.parent[level]
        # children of one parent stand together in a level
        first = np.flatnonzero(np.r_[True, parent[1:] != parent[:-1]])
        count = np.diff(np.r_[first, len(level)])
        up_to = np.cumsum(outward[level])
        up_to -= np.repeat(up_to[first] - outward[level[first]], count)
        whole = np.repeat(up_to[first + count - 1], count) + inward[parent]
        middle = 0.5 * inward[parent] + up_to - 0.5 * outward[level]
        angle = np.pi + 2.0 * np.pi * middle / whole
        direction = ahead[parent] * np.exp(1j * angle)
        p, q = point[parent], np.tanh(length * tree.weight[level] / 2.0) * direction
        moved = mobius_add(_pairs(p), _pairs(q))
        point[level] = moved[:, 0] + 1j * moved[:, 1]
        turned = (1.0 + p * q.conj()) * (1.0 + p * q.conj()) * direction
        ahead[level] = turned / np.abs(turned)
    return _pairs(point)


def _shares(tree: Rooted, spread: str) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the circle for nodes (n,) around their parents, and parents around them."""
    is_root = tree.parent < 0
    if spread == "even":
        return np.ones(len(is_root)), np.where(is_root, 0.0, 1.0)
    leaves = (np.bincount(tree.parent[~is_root], minlength=len(is_root)) == 0).astype(np.float64)
    for level in reversed(tree.levels[1:]):
        np.add.at(leaves, tree.parent[level], leaves[level])
    others = np.maximum(leaves.max() - leaves, 1.0)
    return np.sqrt(leaves), np.where(is_root, 0.0, np.sqrt(others))


def _pairs(numbers: np.ndarray) -> np.ndarray:
    return np.column_stack((numbers.real, numbers.imag))


def _distortion(tree: Rooted, points: np.ndarray, length: float, k: float) -> tuple[float, float]:
    """Worst and mean of length · tree distance / distance."""
    n = len(points)
    child = np.flatnonzero(tree.parent >= 0)
    graph = csr_matrix((tree.weight[child], (child, tree.parent[child])), shape=(n, n))
    few = max(1, min(n, _MOST_PAIRS // n))
    chosen = np.sort(np.random.default_rng(0).choice(n, few, replace=False))
    in_tree = dijkstra(graph, directed=False, indices=chosen)
    in_disc = pairwise_distance(points[chosen], points, k)
    others = chosen[:, None] != np.arange(n)
    with np.errstate(divide="ignore"):  # nodes that no float can tell apart: infinitely distorted
        ratio = length * in_tree[others] / in_disc[others]
    return float(ratio.max()), float(ratio.mean())
