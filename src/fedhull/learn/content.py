"""What stands in a model file: plain values, checked when read, tagged by the classifier's name."""

from typing import Annotated, Any, Final, Literal

import msgspec
import numpy as np

from fedhull.disc.points import check_curvature
from fedhull.errors import InvalidInput
from fedhull.learn.centres import Centres
from fedhull.learn.judged import Judged

FORMAT: Final = "fedhull-model"
VERSION: Final = 1
KIND: Final = "kind"
# No classifier that a study can name has this name: it is that of a site's file.
ALIGNED: Final = "aligned"

_LARGEST = 1e100

Matrix = list[list[float]]
Whole = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]


class Content(msgspec.Struct, kw_only=True, tag_field=KIND, forbid_unknown_fields=True):
    """What all model files hold; each classifier has a subclass with its name as tag.

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
