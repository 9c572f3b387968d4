"""The content of a model file: plain values, checked when read, tagged by the classifier's name.

`Judged` is the evaluation of a model on cells that sites have held out. Its landmarks are centre
and spread of each class; the farness of a cell is its distance to the nearest centre, in units of
that class's spread. It says only whether the cell is near any class: a model chooses between its
classes, also for a cell that is of none.

Beside the classifier a file may carry its provenance and its encoder. A server publishes neither:
they are added where a file is written, and taken off before published content is checked.
"""

import hashlib
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from fedhull.disc.maps import pairwise_distance
from fedhull.disc.points import as_ball_points, check_curvature
from fedhull.errors import InvalidInput
from fedhull.learn.centres import Centres

# No class is taken to be narrower than this, in units of 1/√k.
NARROWEST = 0.05
_LARGEST = 1e100
# A default encoder has less than 1 MB, an autoencoder of 2,000 genes 5 MB; in a file, each byte
# takes 4/3.
MOST_BYTES = 32 * 2**20
PROVENANCE, ENCODER_FILE = "provenance", "encoder_file"


@dataclass(frozen=True, repr=False)
class Landmarks:
    """centres (J, 2) of the classes in the disc, spreads (J,) as distances."""

    centres: np.ndarray
    spreads: np.ndarray

    def farness(self, points: ArrayLike, curvature: float = 1.0) -> np.ndarray:
        """Distance of points (n, 2) from the nearest class, in units of its spread: (n,).

        >>> marks = Landmarks(np.array([[0.0, 0.0], [0.8, 0.0]]), np.array([1.0, 0.5]))
        >>> marks.farness([[0.0, 0.0], [0.5, 0.0], [0.8, 0.0]]).round(2)
        array([0. , 1.1, 0. ])
        """
        away = pairwise_distance(points, self.centres, curvature) / self.spreads
        return away.min(axis=1)

    def to_lists(self) -> list[list[float]]:
        """A row for each class: its centre, its spread."""
        return np.column_stack((self.centres, self.spreads)).tolist()

    @classmethod
    def from_lists(cls, rows: list[list[float]]) -> "Landmarks":
        """The inverse of `to_lists`."""
        table = np.array(rows, dtype=np.float64)
        return cls(table[:, :-1], table[:, -1])


def landmarks_of_centres(centres: Centres, curvature: float = 1.0) -> Landmarks:
    """Landmarks of classes whose centres are known; those of a class without cells mean nothing."""
    root = np.sqrt(check_curvature(curvature))
    spreads = np.maximum(np.sqrt(2.0 * centres.scatter()), NARROWEST) / root
    return Landmarks(centres.points(curvature), spreads)


Count = Annotated[int, msgspec.Meta(ge=0, le=2**40)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]


class Level(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Cells that the model is about equally sure of: how sure, and how often it is right."""

    cells: Count
    confidence: Share
    accuracy: Share


class Judged(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The candidate `chosen` among several, from 0, and its name; the `cells` judged, those
    `correct`, and the accuracy in percent. Counts may be off by up to `tolerance`, since sites
    answer alike for candidates that differ on few of their cells. `unnamed` cells are of classes
    that a site holds out too few of to name; of the others recall and precision of each class, in
    percent, None for a class without cells, and the confusion matrix, with true classes as rows.
    Logits were divided by `temperature`; `calibration` compares confidence and accuracy at that
    temperature, `calibration_error` is their mean difference. `landmarks` are centre and spread of
    each class, in a disc of this `curvature`; cells farther than `reach` spreads from all of them
    are best left unassigned."""

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
        """Raise InvalidInput unless its shapes are those of `n_classes` classes in this space."""
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
        """Centres and spreads of the classes."""
        return Landmarks.from_lists(self.landmarks)


FORMAT: Final = "fedhull-model"
VERSION: Final = 1
KIND: Final = "kind"
# No classifier that a study can name has this name: it is that of a site's file.
ALIGNED: Final = "aligned"


Matrix = list[list[float]]
Whole = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]


class Content(msgspec.Struct, kw_only=True, tag_field=KIND, forbid_unknown_fields=True):
    """Fields of all model files; each classifier has a subclass with its name as tag.

    `encoder` is the SHA-256 of the encoder that the points come from. `aligned_to` are the centres
    that the sites of a study have aligned themselves to: for each class the number of its cells and
    the sums of their coordinates (`Centres`), zeros where they are not known. `judged` is how well
    it does on cells that sites have held out.
    """

    format: Literal["fedhull-model"] = FORMAT
    version: Literal[1] = VERSION
    classes: Annotated[list[str | int | float | bool], msgspec.Meta(min_length=2)]
    dimension: Annotated[int, msgspec.Meta(ge=1)]
    curvature: float
    aligned_to: list[list[Whole]] | None = None
    judged: Judged | None = None
    encoder: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")] | None = None

    def __post_init__(self) -> None:
        check_curvature(self.curvature)
        # two may have one name: where hulls were grouped badly, two groups are mostly of one class
        if len({type(name) for name in self.classes}) > 1:
            raise InvalidInput("classes must be of one type")
        if self.aligned_to is not None:
            if {len(row) for row in self.aligned_to} != {self.dimension + 2}:
                raise InvalidInput(
                    f"aligned_to must be {self.dimension + 2} numbers for each class"
                )
            if len(self.aligned_to) != len(self.classes):
                raise InvalidInput(f"aligned_to must be those of {len(self.classes)} classes")
            _centres(self.aligned_to).check()
        if self.judged is not None:
            self.judged.check(len(self.classes), self.dimension)
        self.check()

    @property
    def class_centres(self) -> Centres | None:
        """The centres, if the file has them."""
        return None if self.aligned_to is None else _centres(self.aligned_to)

    def check(self) -> None:
        """Raise InvalidInput if the fields of a subclass do not go together."""


def _centres(rows: list[list[int]]) -> Centres:
    table = np.array(rows, dtype=np.int64)
    return Centres(table[:, 0], table[:, 1:])


class AlignedContent(
    msgspec.Struct, kw_only=True, tag_field=KIND, tag=ALIGNED, forbid_unknown_fields=True
):
    """The model file of a site that has aligned itself: whose cells it is for, in which study, by
    which isometry they are moved, and the content of the model that is asked then."""

    format: Literal["fedhull-model"] = FORMAT
    version: Literal[1] = VERSION
    site: str
    study: str
    isometry: dict[str, Any]
    model: dict[str, Any]


def shared(model: Any) -> dict[str, Any]:
    """The fields of `Content` that all fitted classifiers fill in alike."""
    return {
        "classes": model.classes_.tolist(),
        "dimension": int(model.n_features_in_),
        "curvature": float(getattr(model, "curvature", 1.0)),
        "judged": getattr(model, "judged_", None),
    }


def check_shape(values: Any, name: str, *shape: int) -> None:
    """Raise InvalidInput unless these lists are finite numbers in this shape."""
    try:
        array = np.array(values, dtype=np.float64)
    except ValueError:  # rows of different lengths
        raise InvalidInput(f"{name} must have shape {shape}, but its rows differ") from None
    if array.shape != shape:
        raise InvalidInput(f"{name} must have shape {shape}, got {array.shape}")
    # no fit gives larger numbers, and with these no sum or product overflows
    if not (np.abs(array) <= _LARGEST).all():
        raise InvalidInput(f"{name} must be finite numbers, up to {_LARGEST:g}")


Word = Annotated[str, msgspec.Meta(max_length=200)]


class Provenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The origin of a model: its study's name, hash and summary, the number of `sites` on the
    roster, and the survivors in the sum, as far as the writer of the file knows; the `accuracy` in
    percent that the ballot has found on held-out `cells`; the version of `fedhull` and the day
    (UTC) of writing."""

    study: Word
    study_hash: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
    summary: Word
    sites: Count
    survivors: list[Word] | None = None
    accuracy: Percent | None = None
    cells: Count | None = None
    fedhull: Word
    date: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\d\Z")]


class Carried(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parts of a file beside the classifier; `encoder_file` is the encoder's own file in base64."""

    provenance: Provenance | None = None
    encoder_file: bytes | None = None

    @classmethod
    def by(cls, model: Any) -> "Carried":
        """The parts that a model carries, from a file or a simulation."""
        return cls(
            provenance=getattr(model, "provenance_", None),
            encoder_file=getattr(model, "encoder_file_", None),
        )

    def put_on(self, model: Any) -> Any:
        """The model, with this as its attributes `provenance_` and `encoder_file_`."""
        if self.encoder_file is not None:
            named = getattr(model, "encoder_", None)
            if hashlib.sha256(self.encoder_file).hexdigest() != named:
                raise InvalidInput(f"its encoder is not the one that it names, {named}")
        model.provenance_, model.encoder_file_ = self.provenance, self.encoder_file
        return model

    def added_to(self, content: dict[str, Any]) -> dict[str, Any]:
        """The content of a file with these parts at its end, but no encoder that is too large."""
        encoder = self.encoder_file
        fits = encoder is not None and len(encoder) <= MOST_BYTES
        fitting = msgspec.structs.replace(self, encoder_file=encoder if fits else None)
        added = msgspec.to_builtins(fitting)
        if self.provenance is not None:
            added[PROVENANCE] = {k: v for k, v in added[PROVENANCE].items() if v is not None}
        return content | {key: value for key, value in added.items() if value is not None}


def split(content: Any) -> tuple[Any, dict[str, Any]]:
    """The content of a file without what it carries, and that."""
    if not isinstance(content, dict):
        return content, {}
    keys = (PROVENANCE, ENCODER_FILE)
    rest = {key: value for key, value in content.items() if key not in keys}
    return rest, {key: content[key] for key in keys if key in content}
