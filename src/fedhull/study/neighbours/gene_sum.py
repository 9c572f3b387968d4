"""The first sum: of each gene, how many sites measure it and how many cells express it, and sums of
its values and their squares. From these the coordinator chooses and scales genes."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import numpy as np

from fedhull.codes.field import LARGEST_IN_TWO, Field, as_one, from_elements, in_two, to_elements
from fedhull.embed.cells import Preparation
from fedhull.embed.features import GeneSums, Standardisation
from fedhull.errors import BadMessage, InvalidInput, UnknownLabelSum
from fedhull.learn.moments import MOST_CELLS
from fedhull.protocol.keys import Randomness, digest
from fedhull.protocol.summation import Layout, Totals, Vector
from fedhull.study.encoder_study import NeighbourStudy
from fedhull.study.neighbours.genes import GeneList

GENE_FIELD = Field(2**61 - 1)
# Two counts, and four sums of two whole numbers each.
_NUMBERS_OF_A_GENE = 10
# Logged counts per 10,000 have smaller means and deviations.
_LARGEST = 10.0


@dataclass(frozen=True, repr=False)
class GeneTotal:
    """What the server learns, and who is in the sum."""

    sums: GeneSums
    survivors: list[str]


@dataclass(frozen=True)
class GeneSummation:
    """Sums of so many genes over all sites' cells."""

    study: NeighbourStudy
    n_genes: int
    number: int = 1

    ordered = False

    @property
    def context(self) -> bytes:
        """Which sum it is; the list of genes is in the study."""
        return digest(b"genes", self.n_genes.to_bytes(8, "big"))

    @property
    def most(self) -> tuple[int, ...]:
        """How many cells a site has."""
        return (MOST_CELLS // len(self.study.clients),)

    def layout(self, totals: Totals, participants: int) -> Layout:
        """The number of cells, and ten numbers for each gene."""
        return Layout(((GENE_FIELD, 1 + _NUMBERS_OF_A_GENE * self.n_genes),))

    def open(
        self, vector: Vector, totals: Totals, survivors: list[str], participants: int
    ) -> GeneTotal:
        """The sums, if cells can have them."""
        try:
            numbers = from_elements(vector[0], GENE_FIELD)
            sums = unpacked(numbers, self.n_genes, len(survivors))
            if sums.cells > totals[0]:
                raise InvalidInput("there are more cells than sites have announced")
        except InvalidInput as problem:
            raise UnknownLabelSum(
                f"the sum is not one of genes, so some site has sent something else: {problem}"
            ) from None
        return GeneTotal(sums, survivors)


@dataclass(frozen=True)
class GeneContribution:
    """A site's cells; `make` adds them up when the upload is due."""

    summation: GeneSummation
    announced: Totals
    make: Callable[[], GeneSums]

    def draw(self, place: int, randomness: Randomness) -> None:
        """Totals need no labels."""

    def vector(self, drawn: None, totals: Totals, participants: int) -> Vector:
        """The sums as elements of the field."""
        return [to_elements(packed(self.make()), GENE_FIELD)]


def packed(sums: GeneSums) -> np.ndarray:
    """The sums as whole numbers, (1 + 10g,)."""
    values = [part for each in _of_values(sums) for part in in_two(each)]
    return np.concatenate([[sums.cells], sums.measure, sums.express, *values])


def unpacked(numbers: np.ndarray, n_genes: int, sites: int) -> GeneSums:
    """The inverse of `packed`, also for the sum over so many sites; InvalidInput if no cells have
    such sums."""
    cells, rows = int(numbers[0]), numbers[1:].reshape(_NUMBERS_OF_A_GENE, n_genes)
    (measure, express), values = rows[:2], rows[2:]
    if (numbers < 0).any() or (express > cells).any() or (values[::2] > LARGEST_IN_TWO).any():
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


class GeneNews(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is published: over how many cells, which genes of the list are chosen, and the mean and
    deviation of each."""

    cells: int
    chosen: list[int]
    mean: bytes
    deviation: bytes

    @classmethod
    def of(cls, study: NeighbourStudy, sums: GeneSums) -> "GeneNews":
        """What the coordinator makes of the sum."""
        fewest = max(study.disclosure.min_cells, 1)
        chosen = sums.variable_genes(most_genes(study, sums.cells), fewest)
        mean, deviation = sums.mean(chosen), sums.deviation(chosen)
        return cls(
            sums.cells,
            chosen.tolist(),
            mean.astype("<f8").tobytes(),
            deviation.astype("<f8").tobytes(),
        )

    def to_bytes(self) -> bytes:
        """The same for all sites."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def from_bytes(cls, published: bytes, study: NeighbourStudy, genes: GeneList) -> "GeneNews":
        """What was published; BadMessage unless it can be what the coordinator makes of a sum."""
        try:
            news = msgspec.msgpack.decode(published, type=cls)
            mean, deviation = (np.frombuffer(each) for each in (news.mean, news.deviation))
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError):
            raise BadMessage("what the server published are not genes and their scaling") from None
        g = len(news.chosen)
        if not 2 <= g <= most_genes(study, news.cells) or len(set(news.chosen)) < g:
            raise BadMessage(
                f"the server chose {g:,} genes, but with {news.cells:,} cells it may choose at "
                f"most {most_genes(study, news.cells):,}, and none of them twice"
            )
        if not (min(news.chosen) >= 0 and max(news.chosen) < len(genes.names)):
            raise BadMessage("the server chose genes that are not in the study's list")
        fits = len(mean) == len(deviation) == g and np.isfinite([mean, deviation]).all()
        if not fits or not ((deviation > 0) & (np.maximum(abs(mean), deviation) <= _LARGEST)).all():
            raise BadMessage("the server's scaling of genes is no means and deviations")
        return news

    def standard(self, genes: GeneList) -> Standardisation:
        """How cells are standardised."""
        return Standardisation(
            Preparation([genes.names[i] for i in self.chosen], counts=True),
            np.frombuffer(self.mean, dtype="<f8"),
            np.frombuffer(self.deviation, dtype="<f8"),
        )


def most_genes(study: NeighbourStudy, cells: int) -> int:
    """How many genes may be chosen with so many cells: fewer than there are cells, for then their
    products are fewer than half as many numbers as the cells themselves."""
    return max(2, min(study.encoder.n_genes, cells - 3))
