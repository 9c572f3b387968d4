"""All that a report page may show, as types: what has no field here cannot get onto a page.

Here is what pages of all kinds of studies share; each kind has its own in `class_content`,
`hull_content`, `moment_content` and `neighbour_content`. The coordinator's
page has no place for points of cells. A site's page has one, for the site's own; it is filled when
the page is written and never stored in a result.
"""

import math

import msgspec

from fedhull.errors import InvalidInput

VERSION = 1


class Part(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A part of a page: unknown fields are refused."""


class SiteLine(Part, frozen=True, kw_only=True):
    """A site and what became of it; counts of points only where whoever writes the page knows."""

    name: str
    fate: str
    taking_part: bool
    points_held: int | None = None
    points_guarded: int | None = None
    points_sent: int | None = None
    cells_summed: int | None = None


class Check(Part, frozen=True, kw_only=True):
    """Something that was checked, in words; what is neither passed nor failed, but has to be known,
    is None."""

    words: str
    passed: bool | None


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
    """A bar: its name, its length, compared with the other bars, and what is written beside it."""

    name: str
    value: float
    text: str

    def __post_init__(self) -> None:
        if not 0 <= self.value < math.inf:
            raise InvalidInput(f"a bar must have a length >= 0, got {self.value}")


class Section(Part, frozen=True, kw_only=True):
    """A piece of a page: paragraphs, then a table, then bars, as far as it has them. All of it is
    shown as the text that it is; there is no way to put HTML in."""

    title: str
    paragraphs: list[str] = []
    table: Table | None = None
    bars: list[Bar] = []


class Page(Part, frozen=True, kw_only=True, tag_field="page"):
    """What all pages show; `about` is what the study says of itself, `agreed_by` who has agreed at
    the site that a page is for."""

    version: int = VERSION
    title: str
    about: list[str] = []
    agreed_by: str = ""
    study_hash: str
    made_at: str
    made_by: str
    parameters: dict[str, str]
    threshold: int
    # with how many sites the server must collude, if the graph of masks is sparse
    collusion: int | None = None
    sites: list[SiteLine]
    checks: list[Check]
    bytes_up: int | None = None
    bytes_down: int | None = None
    seconds: dict[str, float] = {}

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.title!r}, {self.n_in_sum} of {len(self.sites)} sites, "
            f"study {self.study_hash[:12]}…)"
        )

    @property
    def private(self) -> bool:
        """Whether the page is for the eyes of one site only."""
        return False

    @property
    def n_in_sum(self) -> int:
        """How many sites took part to the end of the upload."""
        return sum(site.taking_part for site in self.sites)

    @property
    def n_gone(self) -> int:
        """How many sites on the roster are not in the sum."""
        return len(self.sites) - self.n_in_sum
