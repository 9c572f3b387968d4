"""The second sum: Σx and the upper triangle of Σxxᵀ over what cells express of the chosen genes,
logged and not scaled. From these the coordinator finds the principal axes of scaled genes.

Were sites to scale and clip genes as the server says before they multiply them, a server could
choose a scaling by which one cell has another value than all others, and read that cell."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import numpy as np

from fedhull.codes.field import Field, from_elements, to_elements
from fedhull.embed.cells import MOST_SEEN
from fedhull.embed.features import Axes, Products, Standardisation
from fedhull.errors import BadMessage, InvalidInput, UnknownLabelSum
from fedhull.learn.moments import MOST_CELLS
from fedhull.protocol.keys import Randomness, digest
from fedhull.protocol.summation import Layout, Totals, Vector
from fedhull.study.encoder_study import NeighbourStudy

AXIS_FIELD = Field(2**61 - 1)
_SIGNED_BITS = 59  # sums must stay below half of the field
_ORTHONORMAL = 1e-6
# What cells have on an axis has a smaller mean and deviation.
_LARGEST = 2.0**20


@dataclass(frozen=True, repr=False)
class AxisTotal:
    """What the server learns, and who is in the sum."""

    products: Products
    survivors: list[str]


@dataclass(frozen=True)
class AxisSummation:
    """Products of `n_genes` genes over all sites' cells; `basis` is what was published after the
    first sum: a session in which sites were shown different things is never unmasked."""

    study: NeighbourStudy
    n_genes: int
    basis: bytes
    number: int = 2

    ordered = False

    @property
    def context(self) -> bytes:
        """Which sum it is, and which genes it is of."""
        return digest(b"axes", self.n_genes.to_bytes(8, "big"), self.basis)

    @property
    def most(self) -> tuple[int, ...]:
        """How many cells a site has: the more there are, the coarser is the unit."""
        return (MOST_CELLS // len(self.study.clients),)

    def layout(self, totals: Totals, participants: int) -> Layout:
        """The number of cells, Σx, and the triangle."""
        g = self.n_genes
        return Layout(((AXIS_FIELD, 1 + g + g * (g + 1) // 2),))

    def open(
        self, vector: Vector, totals: Totals, survivors: list[str], participants: int
    ) -> AxisTotal:
        """The products, if cells can have them."""
        try:
            products = unpacked(from_elements(vector[0], AXIS_FIELD), self.n_genes, totals[0])
        except InvalidInput as problem:
            raise UnknownLabelSum(
                f"the sum is not one of products, so some site has sent something else: {problem}"
            ) from None
        return AxisTotal(products, survivors)


@dataclass(frozen=True)
class AxisContribution:
    """A site's cells; `make` adds up their products when the upload is due."""

    summation: AxisSummation
    announced: Totals
    make: Callable[[], Products]

    def draw(self, place: int, randomness: Randomness) -> None:
        """Totals need no labels."""

    def vector(self, drawn: None, totals: Totals, participants: int) -> Vector:
        """The products as elements of the field."""
        return [to_elements(packed(self.make(), totals[0]), AXIS_FIELD)]


def packed(products: Products, cells_in_all: int) -> np.ndarray:
    """The products as whole numbers, (1 + g + g(g + 1)/2,), in a unit that leaves room for so many
    cells."""
    g = len(products.sums)
    numbers = np.empty(1 + g + g * (g + 1) // 2, dtype=np.int64)
    numbers[0] = products.cells
    scale = 2.0 ** _bits(cells_in_all)
    numbers[1 : 1 + g] = np.rint(products.sums * scale)
    numbers[1 + g :] = np.rint(products.products[np.triu_indices(g)] * scale)
    return numbers


def unpacked(numbers: np.ndarray, g: int, cells_in_all: int) -> Products:
    """The inverse of `packed`; InvalidInput if no cells have such products."""
    cells, unit = int(numbers[0]), 2.0 ** -_bits(cells_in_all)
    if not 1 <= cells <= cells_in_all:
        raise InvalidInput(f"there are {cells} cells, but sites have announced {cells_in_all}")
    triangle = np.zeros((g, g))
    triangle[np.triu_indices(g)] = numbers[1 + g :] * unit
    products = triangle + np.triu(triangle, 1).T
    sums, squares = numbers[1 : 1 + g] * unit, products.diagonal()
    slack = 1e-6 * cells
    if (numbers < 0).any() or (squares > cells * MOST_SEEN**2 + slack).any():
        raise InvalidInput("products of logged values have bounds")
    if (products**2 > np.outer(squares, squares) + slack * cells).any():
        raise InvalidInput("products are larger than squares allow")
    if (sums**2 > cells * squares + slack * cells).any():
        raise InvalidInput("sums are larger than squares allow")
    return Products(cells, sums, products)


def _bits(cells: int) -> int:
    """How many bits stand behind the point, if so many cells are added up."""
    return _SIGNED_BITS - math.ceil(math.log2(max(cells, 1) * MOST_SEEN**2))


class AxisNews(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is published: over how many cells, the principal axes, and mean and variance of what
    cells have on each."""

    cells: int
    components: bytes
    mean: bytes
    variance: bytes

    @classmethod
    def of(cls, study: NeighbourStudy, standard: Standardisation, products: Products) -> "AxisNews":
        """What the coordinator makes of the sum, genes being scaled like this."""
        axes = products.scaled(standard).axes(study.encoder.n_components)
        return cls(
            products.cells,
            *(
                array.astype("<f8").tobytes()
                for array in (axes.components, axes.mean, axes.variance)
            ),
        )

    def to_bytes(self) -> bytes:
        """The same for all sites."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def from_bytes(cls, published: bytes, study: NeighbourStudy, n_genes: int) -> "AxisNews":
        """What was published; BadMessage unless it can be what the coordinator makes of a sum."""
        try:
            news = msgspec.msgpack.decode(published, type=cls)
            axes = news.axes(n_genes)
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError):
            raise BadMessage("what the server published are not axes") from None
        n, most = len(axes.components), study.encoder.n_components
        if not 1 <= n <= most or {len(axes.mean), len(axes.variance)} != {n}:
            raise BadMessage(f"the server published {n} axes, but the study says {most} at most")
        finite = all(map(np.all, map(np.isfinite, (axes.components, axes.mean, axes.variance))))
        far = (abs(axes.mean) > _LARGEST) | (axes.variance > _LARGEST**2)
        if not finite or (axes.variance < 0).any() or far.any() or news.cells < 1:
            raise BadMessage("the server's axes have no mean and variance that cells can have")
        if np.abs(axes.components @ axes.components.T - np.eye(n)).max() > _ORTHONORMAL:
            raise BadMessage("the server's axes are not at right angles to each other")
        return news

    def axes(self, n_genes: int) -> Axes:
        """The axes."""
        return Axes(
            np.frombuffer(self.components, dtype="<f8").reshape(-1, n_genes),
            np.frombuffer(self.mean, dtype="<f8"),
            np.frombuffer(self.variance, dtype="<f8"),
        )
