"""Sections of encoder studies: how good the encoder is, what it was made from, and what is next."""

from typing import ClassVar

from fedhull.errors import InvalidInput
from fedhull.report.sections import COORDINATOR, RESULTS, SITE, Part, Section, Text

_ROUNDS = {
    "genes": "1. genes: which of them vary",
    "axes": "2. products of genes: the axes",
    "anchors": "3. anchors: which cells are alike",
}


class Kept(Part, frozen=True, kw_only=True):
    """Of the anchors that are nearest to held-out cells, those that still are in the disc."""

    kept: int
    of: int

    def __post_init__(self) -> None:
        if not 0 <= self.kept <= self.of or self.of == 0:
            raise InvalidInput(f"of {self.of} anchors, {self.kept} cannot be kept")

    @property
    def percent(self) -> float:
        """The share in percent."""
        return 100.0 * self.kept / self.of


class NeighboursKept(Section, frozen=True, kw_only=True):
    """Nearest anchors kept by held-out cells: a site's `own`, or all sites'."""

    place: ClassVar[str] = RESULTS
    kept: Kept | None
    own: bool

    def text(self) -> Text:
        """Two numbers, or why there are none."""
        if self.kept is None:
            why = (
                "this site held none out"
                if self.own
                else "a site did not answer, or no site held cells out"
            )
            words = f"How well the encoder does on held-out cells is not known: {why}."
        else:
            whose = "cells that you held out" if self.own else "cells that sites held out"
            known = "" if self.own else " The coordinator knows only the sum over these sites."
            words = (
                f"Of the anchors nearest to {whose}, {self.kept.kept:,} of {self.kept.of:,} are "
                f"among the nearest in the disc as well: {self.kept.percent:.1f} %.{known}"
            )
        return Text.of("How well neighbours are kept", words)


class AnchorQuality(Section, frozen=True, kw_only=True):
    """The disc's fidelity to distances between anchors, and the share of an anchor's nearest
    anchors that still are; of distances nothing is known where all are alike."""

    viewers: ClassVar[frozenset[str]] = frozenset({COORDINATOR})
    place: ClassVar[str] = RESULTS
    neighbours_kept: float
    distance_correlation: float | None = None
    distortion: float | None = None

    def text(self) -> Text:
        """A row for each measure."""
        rows = [["nearest anchors kept", f"{100 * self.neighbours_kept:.1f} %"]]
        if self.distance_correlation is not None:
            rows.append(["correlation of distances", f"{self.distance_correlation:.2f}"])
        if self.distortion is not None:
            rows.append(["mean error of a distance", f"{100 * self.distortion:.0f} %"])
        words = "The same of the anchors themselves."
        return Text.of("From the axes to the disc", words, columns=["", "anchors"], rows=rows)


class EncoderRound(Part, frozen=True, kw_only=True):
    """A round: its subject, the sites in it and the cells behind it, where the reader knows."""

    of: str
    sites: int | None = None
    cells: int | None = None


class EncoderRounds(Section, frozen=True, kw_only=True):
    """The three rounds, of which a site knows less than the coordinator."""

    place: ClassVar[str] = RESULTS
    rounds: list[EncoderRound]
    own: bool

    def text(self) -> Text:
        """A row for each."""
        words = (
            "A site knows how many sites are in the last round, and how many cells are behind the "
            "first two."
            if self.own
            else "The coordinator learns how many cells stand behind each round, all sites "
            "together."
        )
        rows = [
            [_ROUNDS.get(each.of, each.of), *map(_number, (each.sites, each.cells))]
            for each in self.rounds
        ]
        columns = ["round", "sites", "cells"]
        return Text.of("The three rounds", words, columns=columns, rows=rows)


class OwnCells(Section, frozen=True, kw_only=True):
    """A site's own cells and genes: it lacks `missing` of the chosen genes, and fewer than
    `min_cells` of its cells express `rare` genes."""

    viewers: ClassVar[frozenset[str]] = frozenset({SITE})
    place: ClassVar[str] = RESULTS
    cells: int
    held_out: int
    missing: int
    rare: int
    min_cells: int

    def text(self) -> Text:
        """Four numbers."""
        return Text.of(
            "Your own cells",
            "Genes that you lack, and those that too few of your cells express, count as not "
            "expressed in what left.",
            columns=["", "number"],
            rows=[
                ["cells in the sums", f"{self.cells:,}"],
                ["cells held out", f"{self.held_out:,}"],
                ["chosen genes that you lack", f"{self.missing:,}"],
                [f"genes that fewer than {self.min_cells} cells express", f"{self.rare:,}"],
            ],
        )


class EncoderFile(Section, frozen=True, kw_only=True):
    """The encoder's file, by its hash, and what to do with it."""

    place: ClassVar[str] = RESULTS
    sha256: str

    def text(self) -> Text:
        """The hash, and the next command."""
        return Text.of(
            "The encoder, and what comes next",
            "encoder.npz, in the folder of this run, is the same for everybody, bit for bit. "
            "Compare its SHA-256 with the other participants'.",
            "In a study of hulls or moments every site can now place its cells with it. “fedhull "
            "provision study.toml --encoder encoder.npz” puts its hash into the study. That study "
            "asks for its own consent. docs/encoder.md describes each step.",
            columns=["file", "SHA-256"],
            rows=[["encoder.npz", self.sha256]],
        )


def _number(n: int | None) -> str:
    return "–" if n is None else f"{n:,}"
