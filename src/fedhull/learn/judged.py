"""How well a model does on the cells that sites have held out, as all of them together have counted
it: what stands in the model's file."""

from typing import Annotated, Any

import msgspec
import numpy as np

from fedhull.disc.points import as_ball_points
from fedhull.errors import InvalidInput
from fedhull.learn.landmarks import Landmarks
from fedhull.learn.placing import points_of

Count = Annotated[int, msgspec.Meta(ge=0, le=2**40)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]


class Level(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Cells that the model is about equally sure of: how sure, and how often it is right."""

    cells: Count
    confidence: Share
    accuracy: Share


class Judged(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which of so many `candidates` was chosen, from 0, and what it is; on how many `cells` that
    rests, how many of these are `correct`, and the accuracy in percent; since sites answer alike
    for candidates that differ on few of their cells, counts may be off by up to `tolerance`.
    `unnamed` cells are of
    classes of which a site holds out too few to name them; of the others recall and precision of
    each class, in percent, None for a class without cells, and the confusion matrix, rows being the
    true class. Logits were divided by `temperature`;
    `calibration` says how sure the model then is and how often right, `calibration_error` by how
    much the two differ on average. `landmarks` are centre and spread of each class, in a disc of
    this `curvature`; cells that are farther than `reach` spreads from all of them are best left
    unassigned."""

    candidates: Annotated[int, msgspec.Meta(ge=1, le=16)]
    chosen: Annotated[int, msgspec.Meta(ge=0, le=15)]
    candidate: Annotated[str, msgspec.Meta(max_length=200)]
    cells: Count
    unnamed: Count
    tolerance: Count
    correct: Count
    accuracy: Percent
    recall: list[Percent | None]
    precision: list[Percent | None]
    confusion: list[list[Count]]
    temperature: Annotated[float, msgspec.Meta(gt=0, le=1e3)]
    log_loss: Annotated[float, msgspec.Meta(ge=0, le=1e3)]
    calibration_error: Share
    calibration: list[Level]
    curvature: float
    landmarks: list[list[float]]
    reach: Annotated[float, msgspec.Meta(gt=0, le=1e6)]

    def check(self, n_classes: int, dimension: int) -> None:
        """Raise InvalidInput unless it speaks of so many classes of points of this space."""
        shapes = {
            "recall": len(self.recall) == n_classes,
            "precision": len(self.precision) == n_classes,
            "confusion": {len(row) for row in self.confusion} == {n_classes}
            and len(self.confusion) == n_classes,
            "landmarks": {len(row) for row in self.landmarks} == {dimension + 1}
            and len(self.landmarks) == n_classes,
        }
        for name, right in shapes.items():
            if not right:
                raise InvalidInput(f"{name} of judged must be those of {n_classes} classes")
        marks = self.marks
        as_ball_points(marks.centres, self.curvature, "landmarks of judged")
        if not ((marks.spreads > 0.0) & (marks.spreads < 1e6)).all():
            raise InvalidInput("spreads in the landmarks of judged must be numbers > 0")

    @property
    def marks(self) -> Landmarks:
        """Where the classes lie."""
        return Landmarks.from_lists(self.landmarks)


def unassigned(model: Any, points: Any) -> np.ndarray:
    """Which of the points (n, 2), or of an AnnData object's cells, are too far from all classes of
    a model to be of any, shape (n,): none, if no held-out cells have said how far that is. At most
    1 % of those were too far.
    """
    moved, points = getattr(model, "moved", None), points_of(model, points)
    x = np.asarray(points, dtype=np.float64) if moved is None else moved(points)
    found: Judged | None = getattr(model, "judged_", None)
    if found is None:
        return np.zeros(len(x), dtype=bool)
    return found.marks.farness(x, found.curvature) > found.reach
