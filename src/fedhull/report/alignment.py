"""Bringing together sites that were measured differently, told as far as the reader of the page may
know: a site about itself, the coordinator nothing of single sites, a simulation everything."""

import math
from typing import Any, ClassVar

import numpy as np

from fedhull.disc.isometry import Isometry
from fedhull.disc.maps import distance
from fedhull.errors import InvalidInput
from fedhull.report.sections import COORDINATOR, SIMULATION, SITE, Part, Section, Text
from fedhull.report.words import number

# In the words of docs/threat-model.md; a test compares them.
STAYS = "The isometry stays at the site; it shows only in later sums, which are of moved cells."
_SCATTER = (
    "Distance of cells from the centre of their class over all sites, root mean square, each time "
    "that centres were summed: the less, the better the sites fit together."
)


class Fit(Part, frozen=True, kw_only=True):
    """Distance of a site's class centres from those of all sites, root mean square: of its cells as
    they were measured, and as it moves them after this round."""

    before: float
    after: float


class Alignment(Part, frozen=True, kw_only=True):
    """A site's alignment: round by round, and the isometry that moves its cells."""

    site: str
    rounds: list[Fit]
    curvature: float
    shift: list[float]
    turn: list[list[float]]

    def __post_init__(self) -> None:
        if len(self.isometry.shift) != 2 or self.isometry.reflects:
            raise InvalidInput("a site must be aligned by a move and a turn of the disc")

    @classmethod
    def of(cls, site: Any, called: str) -> "Alignment":
        """The alignment of a site's outcome."""
        fits = [Fit(before=fit.before, after=fit.after) for fit in site.alignments]
        return cls(site=called, rounds=fits, **site.isometry.to_json())

    @property
    def isometry(self) -> Isometry:
        """The isometry that moves the site's cells."""
        return Isometry(np.array(self.shift), np.array(self.turn), self.curvature)

    @property
    def moved(self) -> float:
        """Distance by which the middle of the disc is moved."""
        return float(distance(np.zeros(2), self.isometry.shift, self.curvature))

    @property
    def turned(self) -> float:
        """Angle by which the disc is turned, in degrees, counterclockwise."""
        return math.degrees(math.atan2(self.turn[1][0], self.turn[0][0]))


class OwnAlignment(Section, frozen=True, kw_only=True):
    """A site's own alignment, over `times` rounds, if it could align itself."""

    viewers: ClassVar[frozenset[str]] = frozenset({SITE})
    times: int
    found: Alignment | None

    def text(self) -> Text:
        """The misfit round by round, and where the cells went."""
        found, title = self.found, "How this site was aligned"
        if found is None:
            return Text.of(
                title,
                "This site could not align itself to the centres that were published, and its "
                "cells stayed where they were measured. Nobody was told.",
            )
        times = "Once" if self.times == 1 else f"{number(self.times).capitalize()} times"
        alone = not any(fit.before or fit.after for fit in found.rounds)
        way = "counterclockwise" if found.turned >= 0 else "clockwise"
        words = (
            f"{times} the centres of all classes over all sites were published, and this site "
            f"looked, on this machine, for the isometry that brings the centres of its own classes "
            f"onto them. {STAYS}",
            f"Its cells are turned about the middle of the disc by {abs(found.turned):.1f}° {way}, "
            f"and then moved: the middle of the disc goes {found.moved:.3f} far.",
            "The picture of the disc shows your points after that, in one frame with the model's "
            "regions. model.json holds the isometry: it is for cells of this site, and moves them "
            "before it predicts.",
            "No other site has any of its classes, so there was nothing to align it to, and it "
            "stayed where it is."
            if alone
            else "",
        )
        rows = [
            [f"{i}", f"{fit.before:.3f}", f"{fit.after:.3f}"]
            for i, fit in enumerate(found.rounds, start=1)
        ]
        columns = ["round", "misfit as measured", "misfit after"]
        return Text.of(title, *words, columns=columns, rows=rows)


class Scatter(Section, frozen=True, kw_only=True):
    """Scatter of cells about the centres of their classes, over all sites."""

    viewers: ClassVar[frozenset[str]] = frozenset({COORDINATOR})
    values: list[float]

    def text(self) -> Text:
        """A row for each time that centres were summed."""
        when = ["as measured", *(f"after round {i}" for i in range(1, len(self.values)))]
        rows = [[name, f"{value:.3f}"] for name, value in zip(when, self.values, strict=True)]
        return Text.of(
            "How well the sites fit together",
            _SCATTER,
            "The coordinator knows this of all sites together, and nothing of single sites: "
            "neither by how much one of them was off nor whether it has moved its cells.",
            columns=["sites", "scatter"],
            rows=rows,
        )


class Alignments(Section, frozen=True, kw_only=True):
    """The alignment of every site, over `times` rounds, which only a simulation knows."""

    viewers: ClassVar[frozenset[str]] = frozenset({SIMULATION})
    times: int
    scatter: list[float]
    sites: list[Alignment]

    def text(self) -> Text:
        """A row for each site."""
        values = ", then ".join(f"{value:.3f}" for value in self.scatter)
        rows = [
            [
                found.site,
                *(f"{fit.before:.3f} → {fit.after:.3f}" for fit in found.rounds),
                *("–" for _ in range(self.times - len(found.rounds))),
                f"{found.moved:.3f}",
                f"{found.turned:.1f}°",
            ]
            for found in self.sites
        ]
        columns = [f"misfit, round {i}" for i in range(1, self.times + 1)]
        return Text.of(
            "How the sites were aligned",
            f"{_SCATTER} In the first trial: {values}. That is all a coordinator knows.",
            "Site by site, which only a simulation can know: the distance of its class centres "
            "from those of all sites, as measured and after each round, how far its isometry "
            "moves the middle of the disc, and by what angle it turns the disc.",
            columns=["site", *columns, "moved by", "turned by"],
            rows=rows,
        )
