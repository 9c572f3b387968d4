"""Round axes: Σx and the upper triangle of Σxxᵀ over what cells express of the chosen genes, logged
and not scaled. From these the coordinator finds the principal axes of scaled genes.

Were sites to scale and clip genes as the coordinator says before they multiply them, a coordinator
could choose a scaling by which one cell has another value than all others, and read that cell."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedhull.codes.field import Field, from_elements, to_elements
from fedhull.embed.cells import MOST_SEEN
from fedhull.embed.features import Axes as PrincipalAxes
from fedhull.embed.features import Products, Standardisation
from fedhull.errors import BadMessage, InvalidInput
from fedhull.learn.moments import MOST_CELLS
from fedhull.protocol.summation import Layout, Totals, Vector
from fedhull.rounds.cells import CellHoldings
from fedhull.rounds.disclosure import Disclosure, total_over
from fedhull.rounds.genes import GeneNews
from fedhull.rounds.round import Conclusion, Known, News, Opened, Own, Round, Sum
from fedhull.study.encoder_study import NeighbourStudy
from fedhull.study.gene_list import GeneList

AXIS_FIELD = Field(2**61 - 1)
_SIGNED_BITS = 59  # sums must stay below half of the field
_ORTHONORMAL = 1e-6
# The mean and deviation of cells on an axis are smaller.
_LARGEST = 2.0**20


class AxisNews(News, frozen=True):
    """The number of cells in the sums, the principal axes, and the mean and variance of cells on
    each."""

    cells: int
    components: bytes
    mean: bytes
    variance: bytes

    @classmethod
    def of(cls, study: NeighbourStudy, standard: Standardisation, products: Products) -> "AxisNews":
        """The axes of these products, with genes scaled like this."""
        axes = products.scaled(standard).axes(study.encoder.n_components)
        arrays = axes.components, axes.mean, axes.variance
        return cls(products.cells, *(array.astype("<f8").tobytes() for array in arrays))

    def axes(self, n_genes: int) -> PrincipalAxes:
        """The axes."""
        return PrincipalAxes(
            np.frombuffer(self.components, dtype="<f8").reshape(-1, n_genes),
            np.frombuffer(self.mean, dtype="<f8"),
            np.frombuffer(self.variance, dtype="<f8"),
        )


@dataclass(frozen=True)
class Axes(Round):
    """Products of the chosen genes over all sites' cells."""

    study: NeighbourStudy
    genes: GeneList
    name = purpose = "axes"
    News = AxisNews

    def most(self, known: Known) -> Totals:
        """The cells of a site: the more there are, the coarser is the unit."""
        return (MOST_CELLS // len(self.study.clients),)

    def layout(self, known: Known, totals: Totals, participants: int) -> Layout:
        """The number of cells, Σx, and the triangle."""
        return self.layout_for(len(known.last_of(GeneNews).chosen))

    def layout_for(self, g: int) -> Layout:
        """The same for any number of genes."""
        return Layout(((AXIS_FIELD, 1 + g + g * (g + 1) // 2),))

    def check(self, known: Known, news: AxisNews, totals: Totals) -> None:
        """The axes are at right angles, with means and variances that cells can have."""
        try:
            axes = news.axes(len(known.last_of(GeneNews).chosen))
        except ValueError:
            raise BadMessage("what the server published are not axes") from None
        n, most = len(axes.components), self.study.encoder.n_components
        if not 1 <= n <= most or {len(axes.mean), len(axes.variance)} != {n}:
            raise BadMessage(f"the server published {n} axes, but the study says {most} at most")
        finite = all(map(np.all, map(np.isfinite, (axes.components, axes.mean, axes.variance))))
        far = (abs(axes.mean) > _LARGEST) | (axes.variance > _LARGEST**2)
        if not finite or (axes.variance < 0).any() or far.any() or news.cells < 1:
            raise BadMessage("the server's axes have no mean and variance that cells can have")
        if np.abs(axes.components @ axes.components.T - np.eye(n)).max() > _ORTHONORMAL:
            raise BadMessage("the server's axes are not at right angles to each other")

    def discloses(self, held: CellHoldings | None = None) -> list[Disclosure]:
        """Products of the genes that vary most."""
        g = min(self.study.encoder.n_genes, len(self.genes.names))
        cells = "all cells" if held is None else f"your {len(held.training):,} cells"
        return [
            Disclosure(
                round=self.name,
                what=(
                    f"for each pair of the up to {g:,} genes that vary most, the sum of their "
                    f"products: what a principal component analysis has to know"
                ),
                of_whom=cells,
                how_many=1 + g + g * (g + 1) // 2,
                protection=total_over(self.study.threshold),
            )
        ]

    def announce(self, known: Known, own: Own) -> Totals:
        """The number of cells."""
        return (len(own.holdings.training),)

    def own_products(self, known: Known, own: Own) -> Products:
        """The site's part of the sum."""
        preparation = known.last_of(GeneNews).standard(self.genes).preparation
        return Products.of(preparation, own.holdings.training)

    def encode(self, known: Known, own: Own, totals: Totals, participants: int) -> Vector:
        """The site's products."""
        return [to_elements(packed(self.own_products(known, own), totals[0]), AXIS_FIELD)]

    def decode(self, known: Known, summed: Sum) -> Products:
        """The products, if cells can have them."""
        numbers = from_elements(summed.vector[0], AXIS_FIELD)
        return unpacked(numbers, len(known.last_of(GeneNews).chosen), summed.totals[0])

    def conclude(self, known: Known, opened: Sequence[Opened]) -> Conclusion:
        """Find the principal axes."""
        standard = known.last_of(GeneNews).standard(self.genes)
        return Conclusion(AxisNews.of(self.study, standard, opened[-1].total))


def packed(products: Products, cells_in_all: int) -> np.ndarray:
    """The products as whole numbers, (1 + g + g(g + 1)/2,), in a unit that leaves room for all
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
    """The bits behind the point, if this many cells are added up."""
    return _SIGNED_BITS - math.ceil(math.log2(max(cells, 1) * MOST_SEEN**2))
