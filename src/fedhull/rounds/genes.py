"""Round genes: for each gene, the sites that measure it, the cells that express it, and sums of its
values and their squares. From these the coordinator chooses and scales genes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedhull.codes.field import LARGEST_IN_TWO as LARGEST
from fedhull.codes.field import Field, as_one, from_elements, in_two, to_elements
from fedhull.embed.cells import Preparation
from fedhull.embed.features import GeneSums, Standardisation
from fedhull.errors import BadMessage, InvalidInput
from fedhull.learn.moments import MOST_CELLS
from fedhull.protocol.summation import Layout, Totals, Vector
from fedhull.rounds.cells import CellHoldings
from fedhull.rounds.disclosure import Disclosure, total_over
from fedhull.rounds.round import Conclusion, Known, News, Opened, Own, Round, Sum
from fedhull.study.encoder_study import NeighbourStudy
from fedhull.study.gene_list import GeneList

GENE_FIELD = Field(2**61 - 1)
# Two counts, and four sums of two whole numbers each.
_NUMBERS_OF_A_GENE = 10
# Logged counts per 10,000 have smaller means and deviations.
_LARGEST = 10.0


class GeneNews(News, frozen=True):
    """The number of cells in the sums, the genes of the list that are chosen, and the mean and
    deviation of each."""

    cells: int
    chosen: list[int]
    mean: bytes
    deviation: bytes

    @classmethod
    def of(cls, study: NeighbourStudy, sums: GeneSums) -> "GeneNews":
        """The genes that vary most in these sums."""
        fewest = max(study.disclosure.min_cells, 1)
        chosen = sums.variable_genes(most_genes(study, sums.cells), fewest)
        arrays = sums.mean(chosen), sums.deviation(chosen)
        mean, deviation = (array.astype("<f8").tobytes() for array in arrays)
        return cls(sums.cells, chosen.tolist(), mean, deviation)

    def standard(self, genes: GeneList) -> Standardisation:
        """The standardisation of cells."""
        return Standardisation(
            Preparation([genes.names[i] for i in self.chosen], counts=True),
            np.frombuffer(self.mean, dtype="<f8"),
            np.frombuffer(self.deviation, dtype="<f8"),
        )


@dataclass(frozen=True)
class Genes(Round):
    """Sums of the listed genes over all sites' cells."""

    study: NeighbourStudy
    genes: GeneList
    name = purpose = "genes"
    News = GeneNews

    def most(self, known: Known) -> Totals:
        """The cells of a site."""
        return (MOST_CELLS // len(self.study.clients),)

    def layout(self, known: Known, totals: Totals, participants: int) -> Layout:
        """The number of cells, and ten numbers for each gene."""
        return Layout(((GENE_FIELD, 1 + _NUMBERS_OF_A_GENE * len(self.genes.names)),))

    def check(self, known: Known, news: GeneNews, totals: Totals) -> None:
        """The genes are such as the coordinator may choose, from cells that were announced."""
        try:
            mean, deviation = (np.frombuffer(each) for each in (news.mean, news.deviation))
        except ValueError:
            raise BadMessage("what the server published are not genes and their scaling") from None
        g = len(news.chosen)
        if not 2 <= g <= most_genes(self.study, news.cells) or len(set(news.chosen)) < g:
            raise BadMessage(
                f"the server chose {g:,} genes, but with {news.cells:,} cells it may choose at "
                f"most {most_genes(self.study, news.cells):,}, and none of them twice"
            )
        if not (min(news.chosen) >= 0 and max(news.chosen) < len(self.genes.names)):
            raise BadMessage("the server chose genes that are not in the study's list")
        fits = len(mean) == len(deviation) == g and np.isfinite([mean, deviation]).all()
        if not fits or not ((deviation > 0) & (np.maximum(abs(mean), deviation) <= _LARGEST)).all():
            raise BadMessage("the server's scaling of genes is no means and deviations")
        if news.cells > totals[0]:
            # it could then choose more genes than there are cells for
            raise BadMessage(
                f"the server counts {news.cells:,} cells, but sites have announced {totals[0]:,}"
            )

    def discloses(self, held: CellHoldings | None = None) -> list[Disclosure]:
        """Sums of each listed gene."""
        cells = "all cells" if held is None else f"your {len(held.training):,} cells"
        return [
            Disclosure(
                round=self.name,
                what=(
                    f"for each of {len(self.genes.names):,} genes, whether it is measured, how "
                    f"many cells express it, and sums of its values and of their squares, as they "
                    f"are and logged"
                ),
                of_whom=cells,
                how_many=1 + _NUMBERS_OF_A_GENE * len(self.genes.names),
                protection=total_over(self.study.threshold),
            )
        ]

    def announce(self, known: Known, own: Own) -> Totals:
        """The number of cells."""
        return (len(own.holdings.training),)

    def own_sums(self, own: Own) -> GeneSums:
        """The site's part of the sum."""
        cells = own.holdings.training
        places = self.genes.find(cells.genes)
        return in_list(GeneSums.of(cells, counts=True), places, len(self.genes.names))

    def encode(self, known: Known, own: Own, totals: Totals, participants: int) -> Vector:
        """The site's sums."""
        return [to_elements(packed(self.own_sums(own)), GENE_FIELD)]

    def decode(self, known: Known, summed: Sum) -> GeneSums:
        """The sums, if cells can have them."""
        numbers = from_elements(summed.vector[0], GENE_FIELD)
        sums = unpacked(numbers, len(self.genes.names), len(summed.survivors))
        if sums.cells > summed.totals[0]:
            raise InvalidInput("there are more cells than sites have announced")
        return sums

    def conclude(self, known: Known, opened: Sequence[Opened]) -> Conclusion:
        """Choose the genes that vary most."""
        return Conclusion(GeneNews.of(self.study, opened[-1].total))


def packed(sums: GeneSums) -> np.ndarray:
    """The sums as whole numbers, (1 + 10g,)."""
    values = [part for each in _of_values(sums) for part in in_two(each)]
    return np.concatenate([[sums.cells], sums.measure, sums.express, *values])


def unpacked(numbers: np.ndarray, n_genes: int, sites: int) -> GeneSums:
    """The inverse of `packed`, also for a sum over sites; InvalidInput if no cells have
    such sums."""
    cells, rows = int(numbers[0]), numbers[1:].reshape(_NUMBERS_OF_A_GENE, n_genes)
    (measure, express), values = rows[:2], rows[2:]
    if (numbers < 0).any() or (express > cells).any() or (values[::2] > LARGEST).any():
        raise InvalidInput("numbers of cells and sums of counts have bounds")
    if (measure > sites).any() or express[measure == 0].any():
        raise InvalidInput("genes are measured at all sites at most, and where they are expressed")
    two = [as_one(values[i : i + 2]) for i in range(0, len(values), 2)]
    sums = GeneSums(cells, sites, measure, express, *two)
    for total, squares in ((sums.values, sums.squares), (sums.seen, sums.seen_squares)):
        # Cauchy and Schwarz, over the cells that express a gene
        if (total**2 > sums.express * squares * (1 + 1e-9) + 1e-6).any():
            raise InvalidInput("squares of values add up to more than that")
    return sums


def in_list(sums: GeneSums, places: np.ndarray, n_genes: int) -> GeneSums:
    """Sums of a site's own genes, which stand at `places` (−1: nowhere) in the public list."""
    known = places >= 0

    def spread(values: np.ndarray) -> np.ndarray:
        found = np.zeros(n_genes, dtype=values.dtype)
        found[places[known]] = values[known]
        return found

    columns = (sums.measure, sums.express, *_of_values(sums))
    return GeneSums(sums.cells, sums.sites, *map(spread, columns))


def _of_values(sums: GeneSums) -> tuple[np.ndarray, ...]:
    return sums.values, sums.squares, sums.seen, sums.seen_squares


def most_genes(study: NeighbourStudy, cells: int) -> int:
    """The most genes that may be chosen from this many cells: fewer than there are cells, for then
    their products are fewer than half as many numbers as the cells themselves."""
    return max(2, min(study.encoder.n_genes, cells - 3))
