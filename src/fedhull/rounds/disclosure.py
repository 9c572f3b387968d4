"""Disclosures, each stated once: consent, plan, page and threat model are rendered from them."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

# To whom something is disclosed.
COORDINATOR = "the coordinator"
EVERYBODY = "the coordinator and all sites"
COLUMNS = ("round", "what leaves", "of whom", "who reads it", "numbers", "protection")


class Disclosure(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that leaves a site in a round: `what` of it, `of_whom`, `to_whom`, in at most
    `how_many` numbers, where that is known, and behind which `protection`."""

    round: str
    what: str
    of_whom: str
    to_whom: str = COORDINATOR
    how_many: int | None = None
    protection: str

    @property
    def sentence(self) -> str:
        """The disclosure as a person at a site reads it."""
        numbers = "" if self.how_many is None else f" At most {self.how_many:,} numbers."
        protected = f"{self.protection[0].upper()}{self.protection[1:]}"
        return (
            f"Round {self.round}, {self.of_whom}: {self.what}. {protected}. Read by "
            f"{self.to_whom}.{numbers}"
        )

    @property
    def row(self) -> list[str]:
        """The disclosure as a row under `COLUMNS`."""
        numbers = "" if self.how_many is None else f"≤ {self.how_many:,}"
        return [self.round, self.what, self.of_whom, self.to_whom, numbers, self.protection]


class Plan(NamedTuple):
    """A preview of what a study would send: numbers by name, lines for a person to read, and the
    bytes that a site sends."""

    numbers: dict[str, Any]
    words: list[str]
    size: int = 0


def sentences(disclosures: Iterable[Disclosure]) -> list[str]:
    """One sentence for each disclosure."""
    return [each.sentence for each in disclosures]


def markdown(disclosures: Sequence[Disclosure]) -> str:
    """The table of disclosures in Markdown, as it stands in the threat model."""
    rows = [list(COLUMNS), ["---"] * len(COLUMNS), *(each.row for each in disclosures)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def total_over(sites: int) -> str:
    """The protection of numbers that are read as totals only."""
    return f"masked: opened only as a total over at least {sites} sites"


def unnamed(sites: int) -> str:
    """The protection of numbers that are read one by one, without a name."""
    return f"masked: read one by one among at least {sites} sites, without saying whose they are"
