"""A site's side of a summary before a study begins: the cells that are kept for testing, and the
classes that leave."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from fedhull.disc.points import as_ball_points
from fedhull.errors import InvalidInput
from fedhull.rounds.holdings import ClassHoldings, ClassLine, held_out, positions_among, too_few
from fedhull.study.study import Study


class Preparing:
    """The defaults go by the cells of each class."""

    study: Study

    def select(
        self, x: np.ndarray, y: np.ndarray, classes: np.ndarray, donors: np.ndarray | None = None
    ) -> ClassHoldings:
        """The classes that leave, of points (n, 2) with labels (n,), and what is prepared of
        them: classes with enough cells, of enough donors where these are known."""
        as_ball_points(x, self.study.geometry.curvature, "x")  # a bad point is named by its row
        lines = []
        for name in classes.tolist():
            members = y == name
            n, few = int(members.sum()), self.too_few(members, donors)
            lines.append(ClassLine(name=name, cells=n, smallest=0 if few else n, withheld=few))
        sent = [line.name for line in lines if not line.withheld]
        withheld = [line.name for line in lines if line.withheld]
        return ClassHoldings(
            classes=sent,
            withheld=withheld,
            lines=lines,
            x=x,
            of_class=positions_among([*sent, *withheld], y),
            test=np.zeros(len(x), dtype=bool),
        )

    def too_few(self, members: np.ndarray, donors: np.ndarray | None) -> str:
        """The reason why a class with these members may not leave; empty if it may."""
        return too_few(self.study, members, donors, self.study.disclosure.min_cells)

    def split(
        self, x: np.ndarray, y: np.ndarray, donors: np.ndarray | None, untested: Collection[Any]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
        """Points, labels and donors that are used, and which of them are kept for testing."""
        return x, y, donors, held_out(self.study, y, untested)

    def hold(
        self,
        x: np.ndarray,
        y: np.ndarray,
        classes: np.ndarray,
        donors: np.ndarray | None = None,
        untested: Collection[Any] = (),
    ) -> ClassHoldings:
        """A site's holdings for the study that numbers its classes in this order, some points of
        each kept for testing; it may be that nothing of it leaves."""
        x, y, donors, test = self.split(x, y, donors, untested)
        made = self.select(x[~test], y[~test], classes, None if donors is None else donors[~test])
        tested = [int((y[test] == line.name).sum()) for line in made.lines]
        lines = [
            msgspec.structs.replace(line, cells=line.cells + n, tested=n)
            for line, n in zip(made.lines, tested, strict=True)
        ]
        everything = positions_among([*made.classes, *made.withheld], y)
        return replace(made, lines=lines, x=x, of_class=everything, test=test)

    def prepare(
        self,
        x: np.ndarray,
        y: np.ndarray,
        donors: np.ndarray | None = None,
        several: Mapping[str, list[str]] | None = None,
    ) -> ClassHoldings:
        """A site's holdings for the study, from points (n, 2) and labels (n,); InvalidInput if
        nothing of it may leave. A class may stand for `several` of the agreed names: none of its
        points is kept for testing. The same data and study always give the same."""
        points, _ = as_ball_points(x, self.study.geometry.curvature, "x")
        if points.shape[1] != 2:
            raise InvalidInput(f"x must lie in the disc, shape (n, 2), got shape {points.shape}")
        classes = np.unique(y)
        if len(classes) > self.study.labels.classes:
            raise InvalidInput(
                f"the data hold {len(classes)} classes, but the study allows "
                f"{self.study.labels.classes} at a site"
            )
        made = self.hold(points, y, classes, donors, several or ())
        if not made.classes:
            raise InvalidInput(
                f"none of the {len(classes)} classes may leave: "
                + "; ".join(f"{line.name} {line.withheld}" for line in made.lines[:3])
            )
        return replace(made, several=dict(several or {}))
