"""Sections of a page. Each holds one thing, says it, and declares who may see it.

A section is either drawn by the page's script or is text; `text` writes the second kind.
"""

import math
import re
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedhull.disc.points import check_curvature
from fedhull.disc.quantize import Quantizer
from fedhull.errors import InvalidInput

COORDINATOR, SITE, SIMULATION = "coordinator", "site", "simulation"
EVERYBODY = frozenset({COORDINATOR, SITE, SIMULATION})

# Parts of the page, in its order.
SUMMARY, DISC, STEPS, RESULTS, MORE = "summary", "disc", "steps", "results", "more"


class Part(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A part of a page: unknown fields are refused."""


class Table(Part, frozen=True, kw_only=True):
    """A small table of plain text; a column of numbers is set flush right."""

    columns: list[str]
    rows: list[list[str]]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InvalidInput(
                    f"a row must have as many cells as the table has columns, "
                    f"{len(self.columns)}, got {len(row)}"
                )


class Bar(Part, frozen=True, kw_only=True):
    """A bar: its name, its length compared with the other bars, and the text beside it."""

    name: str
    value: float
    text: str

    def __post_init__(self) -> None:
        if not 0 <= self.value < math.inf:
            raise InvalidInput(f"a bar must have a length >= 0, got {self.value}")


def _tag(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"-\1", name).lower()


class Section(Part, frozen=True, kw_only=True, tag_field="section", tag=_tag):
    """A section: its `viewers` are the pages that may hold it, its `place` is where it stands."""

    viewers: ClassVar[frozenset[str]] = EVERYBODY
    place: ClassVar[str] = MORE

    def text(self) -> "Text | None":
        """The section in words, unless the script draws it."""
        return None

    def shown(self) -> dict[str, Any]:
        """Plain values for the script."""
        return msgspec.to_builtins(self.text() or self) | {"place": self.place}


class Text(Section, frozen=True, kw_only=True):
    """Paragraphs, then a table, then bars, as far as there are any. All of it is shown as the text
    that it is; there is no way to put HTML in."""

    title: str
    paragraphs: list[str] = []
    table: Table | None = None
    bars: list[Bar] = []

    @classmethod
    def of(
        cls, title: str, *words: str, columns: Sequence[str] = (), rows: Sequence[list[str]] = ()
    ) -> "Text":
        """Paragraphs, but for empty ones, and a table."""
        table = Table(columns=list(columns), rows=list(rows)) if columns else None
        return cls(title=title, paragraphs=[each for each in words if each], table=table)

    def text(self) -> "Text":
        """Itself."""
        return self


class WhoLearnsWhat(Section, frozen=True, kw_only=True):
    """Data seen by the coordinator, data hidden from it, and data that nothing protects."""

    place: ClassVar[str] = SUMMARY
    seen: list[str]
    hidden: list[str]
    unprotected: list[str]


class Held(Section, frozen=True, kw_only=True):
    """A number for each site, by the site's name, that only a simulation knows of all."""

    viewers: ClassVar[frozenset[str]] = frozenset({SIMULATION})
    place: ClassVar[str] = SUMMARY
    title: str
    sites: dict[str, str]


class Space(Part, frozen=True, kw_only=True):
    """The disc, the radius within which all points lie, and the width of its bins, as far as the
    study has them."""

    curvature: float
    radius: float | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        rim = 1.0 / math.sqrt(check_curvature(self.curvature))
        if self.radius is not None and not 0.0 < self.radius < rim:
            raise InvalidInput(f"radius must lie in the disc, got {self.radius!r}")
        if self.epsilon is not None:
            assert self.quantizer.n_bins > 0  # made here, so that bad bins are refused here

    @property
    def quantizer(self) -> Quantizer:
        """The bins."""
        if self.epsilon is None or self.radius is None:
            raise InvalidInput("bins need a width and a radius")
        return Quantizer(self.epsilon, self.radius, self.curvature)


class Hull(Part, frozen=True, kw_only=True):
    """A quantized hull: its label, the unnamed place that the label belongs to, the classifier's
    column for its class, its bins counter-clockwise."""

    label: int
    place: int
    column: int
    bins: list[int]


class Disc(Section, frozen=True, kw_only=True):
    """The disc with the classifier's regions, a colour for each class, and hulls: a site's own, or
    all of them, without names."""

    place: ClassVar[str] = DISC
    space: Space
    classes: list[str]
    colours: dict[str, str]
    model: dict[str, Any]
    hulls: list[Hull] = []

    def __post_init__(self) -> None:
        if not self.hulls:
            return
        n_bins = self.space.quantizer.n_bins
        for hull in self.hulls:
            if not 0 <= hull.column < len(self.classes):
                raise InvalidInput(
                    f"a hull must be of one of {len(self.classes)} classes, got {hull.column}"
                )
            if not all(1 <= j <= n_bins for j in hull.bins):
                raise InvalidInput(f"the bins of a hull must lie between 1 and {n_bins}")

    def shown(self) -> dict[str, Any]:
        """Numbers of bins may be too large for JavaScript's, rings and sectors are not."""
        content = super().shown()
        if self.space.epsilon is not None:
            quantizer = self.space.quantizer
            content["space"] |= {"angles": quantizer.n_angles, "rings": quantizer.n_rings}
            for hull in content["hulls"]:
                rings, sectors = quantizer.ring_and_sector(hull.pop("bins"))
                hull |= {"rings": rings.tolist(), "sectors": sectors.tolist()}
        return content


class OwnPoints(Section, frozen=True, kw_only=True):
    """A site's own points, float32 pairs, and the classifier's column of each, one byte. Added when
    a page is written, never stored in a result."""

    viewers: ClassVar[frozenset[str]] = frozenset({SITE})
    place: ClassVar[str] = DISC
    xy: bytes
    columns: bytes
    of: int

    def __repr__(self) -> str:
        return f"OwnPoints({len(self.columns):,} of {self.of:,})"


class Anchors(Section, frozen=True, kw_only=True):
    """The anchors of an encoder in the disc, float32 pairs; nobody knows whose they are."""

    place: ClassVar[str] = DISC
    space: Space
    xy: bytes

    def __post_init__(self) -> None:
        if not self.xy or len(self.xy) % 8:
            raise InvalidInput("anchors must be pairs of float32 numbers, one pair at least")
        rim = 1.0 / math.sqrt(self.space.curvature)
        if not (np.hypot(*self.points.T) <= rim).all():
            raise InvalidInput("anchors must lie in the disc")

    @property
    def points(self) -> np.ndarray:
        """Positions of the anchors, (m, 2)."""
        return np.frombuffer(self.xy, dtype="<f4").reshape(-1, 2)


class Step(Part, frozen=True, kw_only=True):
    """A step of the method: the name of its picture with a caption and rows where it needs them, a
    title, a paragraph, and the numbers that matter."""

    picture: str
    title: str
    words: str
    facts: list[tuple[str, str]] = []
    caption: str = ""
    rows: list[tuple[str, str]] = []


class Steps(Section, frozen=True, kw_only=True):
    """The method, step by step, with a study's own numbers."""

    place: ClassVar[str] = STEPS
    steps: list[Step]


class SharedBin(Section, frozen=True, kw_only=True):
    """A bin of the sum, and how its value splits into label codes. Numbers beyond 2^53 are written
    out."""

    viewers: ClassVar[frozenset[str]] = frozenset({COORDINATOR, SIMULATION})
    place: ClassVar[str] = STEPS
    bin: str
    value: str
    labels: list[int]
    codes: list[str]


class Score(Part, frozen=True, kw_only=True):
    """Test accuracy of a method in percent: mean, half width of the 95 % interval, trials."""

    name: str
    mean: float
    ci95: float
    trials: int


class Scores(Section, frozen=True, kw_only=True):
    """Scores of several methods on test points, the federated one first."""

    viewers: ClassVar[frozenset[str]] = frozenset({SIMULATION})
    place: ClassVar[str] = RESULTS
    scores: list[Score]


class Accuracy(Section, frozen=True, kw_only=True):
    """Cells classified correctly, of those held out by the site or by `evaluators` sites."""

    viewers: ClassVar[frozenset[str]] = frozenset({COORDINATOR, SITE})
    place: ClassVar[str] = RESULTS
    correct: int
    tested: int
    evaluators: int | None = None

    def text(self) -> Text:
        """A real study knows two numbers."""
        own = self.evaluators is None
        whose = "that you held out" if own else f"held out by {self.evaluators} sites"
        known = "" if own else " The coordinator knows only the sum over these sites."
        share = 100.0 * self.correct / self.tested
        words = (
            f"{self.correct:,} of {self.tested:,} points {whose} are classified correctly: "
            f"{share:.2f} %.{known}"
        )
        return Text.of("Accuracy", words)


class TradeoffRow(Part, frozen=True, kw_only=True):
    """The same study with another width of bins."""

    epsilon: float
    accuracy: float
    points_sent: int
    points_total: int


class Tradeoff(Section, frozen=True, kw_only=True):
    """Accuracy against leakage for several widths of bins; `epsilon` is the study's own."""

    viewers: ClassVar[frozenset[str]] = frozenset({SIMULATION})
    place: ClassVar[str] = RESULTS
    rows: list[TradeoffRow]
    epsilon: float
    words: str = ""


class Reliability(Part, frozen=True, kw_only=True):
    """Test points on which the classifier was about equally sure: how sure, how often right."""

    confidence: float
    accuracy: float
    points: int


class Confusion(Section, frozen=True, kw_only=True):
    """Test points as they were classified: counts, rows the true class, columns the predicted
    one."""

    place: ClassVar[str] = RESULTS
    names: list[str]
    confusion: list[list[int]]
    reliability: list[Reliability]


class ClassRow(Part, frozen=True, kw_only=True):
    """A class at a site, in the site's own words: its cells, those kept for testing and left out by
    the guard, the groups that its hull is made of, its corners, the cells of the smallest group,
    the cells that left with their own position; or why it was withheld."""

    name: str
    cells: int
    tested: int
    guarded: int
    groups: int
    corners: int
    smallest: int
    single: int
    withheld: str


class ClassesLeft(Section, frozen=True, kw_only=True):
    """Data that left a site, class by class; `columns` are the fields shown, and their names."""

    viewers: ClassVar[frozenset[str]] = frozenset({SITE})
    words: str
    columns: dict[str, str]
    rows: list[ClassRow]

    def __post_init__(self) -> None:
        unknown = set(self.columns) - set(ClassRow.__struct_fields__)
        if unknown:
            raise InvalidInput(f"columns must be fields of a class, got {sorted(unknown)}")

    def text(self) -> Text:
        """A row for each class that was sent, a sentence for each that was withheld."""
        withheld = [row for row in self.rows if row.withheld]
        return Text.of(
            "What left, class by class",
            self.words,
            *(f"{row.name} was withheld, because it {row.withheld}." for row in withheld),
            columns=["class", *self.columns.values()],
            rows=[
                [row.name, *(f"{getattr(row, field):,}" for field in self.columns)]
                for row in self.rows
                if not row.withheld
            ],
        )


class NoiseLine(Part, frozen=True, kw_only=True):
    """A number that is read with noise in it: the standard deviation of the noise, and how long a
    change one cell can make."""

    what: str
    deviation: float
    change: float


class Noise(Section, frozen=True, kw_only=True):
    """Data that noise hides, in words, and how much of it there is."""

    unit: str
    words: list[str]
    lines: list[NoiseLine]

    def text(self) -> Text:
        """The promise in words, and the noise behind it."""
        rows = [
            [each.what, f"± {each.deviation:,.3g}", f"{each.change:,.3g}"] for each in self.lines
        ]
        columns = ["what is read", "noise", f"what one {self.unit} can change"]
        return Text.of("What noise hides", *self.words, columns=columns, rows=rows)
