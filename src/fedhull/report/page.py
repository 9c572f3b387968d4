"""The page as types: a head, and sections of which each says who may see it. What has no field here
cannot get onto a page, and no section onto a page that is not meant for it.

The coordinator's page has no section for points of cells, or for anything of one site. A site's
page may hold the site's own; its points are added when the page is written and never stored.
"""

import json
from typing import Any, ClassVar, TypeVar

import msgspec

from fedhull.errors import InvalidInput
from fedhull.report import alignment, encoder_sections, matches, sections, verdict
from fedhull.report.sections import COORDINATOR, SIMULATION, SITE, Part
from fedhull.text import shortened

VERSION = 1

AnySection = (
    sections.WhoLearnsWhat
    | sections.Held
    | sections.Disc
    | sections.OwnPoints
    | sections.Anchors
    | sections.Steps
    | sections.SharedBin
    | sections.Scores
    | sections.Accuracy
    | sections.Tradeoff
    | sections.Confusion
    | sections.ClassesLeft
    | sections.Noise
    | sections.Text
    | matches.AgreedNames
    | matches.OwnMatches
    | matches.FoundClasses
    | matches.MatchMap
    | alignment.OwnAlignment
    | alignment.Scatter
    | alignment.Alignments
    | verdict.Verdict
    | verdict.NotJudged
    | encoder_sections.NeighboursKept
    | encoder_sections.AnchorQuality
    | encoder_sections.EncoderRounds
    | encoder_sections.OwnCells
    | encoder_sections.EncoderFile
)
S = TypeVar("S", bound=sections.Section)


class SiteLine(Part, frozen=True, kw_only=True):
    """A site and what became of it."""

    name: str
    fate: str
    taking_part: bool


class Check(Part, frozen=True, kw_only=True):
    """Something that was checked, in words; what is neither passed nor failed, but has to be known,
    is None."""

    words: str
    passed: bool | None


class Figure(Part, frozen=True, kw_only=True):
    """A number at the top of the page: value, what it is, a note."""

    value: str
    label: str
    note: str = ""


class Page(Part, frozen=True, kw_only=True, tag_field="page"):
    """A page. `about` is what the study says of itself, `agreed_by` who has agreed at the site that
    the page is for; with `collusion` sites the coordinator could see through the masks."""

    viewer: ClassVar[str]
    # for the eyes of one site only
    private: ClassVar[bool] = False

    version: int = VERSION
    title: str
    kicker: str
    lead: str
    figures: list[Figure]
    about: list[str] = msgspec.field(default_factory=list)
    agreed_by: str = ""
    study_hash: str
    made_at: str
    made_by: str
    parameters: dict[str, str]
    threshold: int
    collusion: int
    sites: list[SiteLine]
    checks: list[Check]
    bytes_up: int | None = None
    bytes_down: int | None = None
    seconds: dict[str, float] = msgspec.field(default_factory=dict)
    sections: list[AnySection]

    def __post_init__(self) -> None:
        for section in self.sections:
            if self.viewer not in section.viewers:
                raise InvalidInput(
                    f"the page of a {self.viewer} has no place for {type(section).__name__}, which "
                    f"is for a {' or '.join(sorted(section.viewers))} only"
                )

    def __repr__(self) -> str:
        taking_part = sum(site.taking_part for site in self.sites)
        return (
            f"{type(self).__name__}({self.title!r}, {taking_part} of {len(self.sites)} sites, "
            f"study {self.study_hash[:12]}…)"
        )

    def find(self, kind: type[S]) -> S | None:
        """The page's section of a kind, if it has one."""
        return next((each for each in self.sections if isinstance(each, kind)), None)


class CoordinatorPage(Page, frozen=True, kw_only=True, tag=COORDINATOR):
    """The page of the coordinator."""

    viewer: ClassVar[str] = COORDINATOR


class SitePage(Page, frozen=True, kw_only=True, tag=SITE):
    """The page of one site."""

    viewer: ClassVar[str] = SITE
    private: ClassVar[bool] = True


class SimulationPage(Page, frozen=True, kw_only=True, tag=SIMULATION):
    """The page of a simulation: the coordinator's view, and how well the study does."""

    viewer: ClassVar[str] = SIMULATION


AnyPage = CoordinatorPage | SitePage | SimulationPage

_LARGEST = 2**53


def page_to_json(page: AnyPage) -> dict[str, Any]:
    """Plain values, for the `report` key of a result."""
    return msgspec.to_builtins(page)


def page_from_json(content: Any, name: str) -> AnyPage:
    """The inverse of `page_to_json`, strictly checked."""
    if content is None:
        raise InvalidInput(
            f"{name} is not a fedhull result; name a result.json that demo, simulate, server or "
            f"client has written"
        )
    found = content.get("version") if isinstance(content, dict) else None
    if found != VERSION:
        raise InvalidInput(
            f"{name} holds no report that this fedhull can show: version {VERSION} is needed, "
            f"got {shortened(found)}; run the study or simulation again"
        )
    try:
        # a page can hold neither NaN nor halves of characters
        json.dumps(content, allow_nan=False, ensure_ascii=False).encode()
        _check_whole_numbers(content)
        return msgspec.convert(content, AnyPage)
    except (msgspec.ValidationError, ValueError, RecursionError) as problem:
        raise InvalidInput(f"the report in {name} is damaged: {problem}") from None


def _check_whole_numbers(content: Any) -> None:
    """Raise InvalidInput for a number that a page would round: larger ones are written out."""
    if isinstance(content, int) and abs(content) > _LARGEST:
        raise InvalidInput(f"whole numbers must be at most 2^53, got {shortened(content)}")
    if isinstance(content, dict | list):
        for value in content.values() if isinstance(content, dict) else content:
            _check_whole_numbers(value)
