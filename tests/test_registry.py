"""Parts chosen by name: typing slips are answered with the names, strangers' parts are found."""

import os
import subprocess
import sys
import textwrap

import pytest
from sklearn.neighbors import KNeighborsClassifier

from fedhull.embed.embedder import EMBEDDERS, make_embedder
from fedhull.embed.neighbours import NeighbourEmbedder
from fedhull.errors import InvalidInput
from fedhull.learn.grouping import GROUPINGS
from fedhull.learn.guard import GUARDS
from fedhull.learn.lorentz import LorentzClassifier
from fedhull.learn.model import CLASSIFIERS, make_classifier
from fedhull.learn.svm import EuclideanSVC, PoincareSVC

OWN = [
    (CLASSIFIERS, ["euclidean-svm", "lorentz", "poincare-svm"]),
    (GROUPINGS, ["kernighan-lin", "matching", "spectral"]),
    (GUARDS, ["edit", "trim"]),
    (EMBEDDERS, ["autoencoder", "neighbours", "tree"]),
]


@pytest.mark.parametrize(("registry", "names"), OWN, ids=lambda v: getattr(v, "group", ""))
def test_fedhulls_own_parts_are_found_by_name(registry, names):
    assert set(names) <= set(registry.names)
    for name in names:
        assert registry.resolve(registry[name]) is registry[name]
        assert callable(registry[name])


@pytest.mark.parametrize(("registry", "names"), OWN, ids=lambda v: getattr(v, "group", ""))
def test_a_slip_is_answered_with_the_names_and_the_nearest(registry, names):
    slip = names[-1] + "x"
    with pytest.raises(InvalidInput) as caught:
        registry.resolve(slip)
    assert all(name in str(caught.value) for name in [*names, repr(slip)])
    assert f"did you mean {names[-1]!r}?" in str(caught.value)


def test_embedders_are_known_by_the_names_in_their_files():
    assert all(EMBEDDERS[name].method == name for name in EMBEDDERS.names)


def test_each_classifier_knows_how_it_is_made_for_a_study():
    lorentz, svm, flat = (
        make_classifier(name, curvature=0.5, strength=3.0)
        for name in ("lorentz", "poincare-svm", "euclidean-svm")
    )
    assert isinstance(lorentz, LorentzClassifier)
    assert (lorentz.curvature, lorentz.C) == (0.5, "auto")
    assert isinstance(svm, PoincareSVC)
    assert (svm.curvature, svm.C) == (0.5, 3.0)
    assert isinstance(flat, EuclideanSVC)
    assert flat.C == 3.0


def test_an_unfitted_classifier_is_copied():
    given = KNeighborsClassifier(3)
    made = make_classifier(given, curvature=1.0)
    assert made is not given
    assert made.get_params() == given.get_params()
    for wrong in (KNeighborsClassifier, 3):
        with pytest.raises(InvalidInput, match=r"method must be a name, one of .*lorentz"):
            make_classifier(wrong, curvature=1.0)
    with pytest.raises(InvalidInput, match="did you mean 'lorentz'"):
        make_classifier("lorenz", curvature=1.0)


def test_an_embedder_is_taken_instead_of_a_name():
    given = NeighbourEmbedder(steps=3)
    assert make_embedder(given) is given
    with pytest.raises(InvalidInput, match="steps must be set on the embedder"):
        make_embedder(given, steps=3)
    with pytest.raises(InvalidInput, match="method must be an embedder of cells, but 'tree'"):
        make_embedder("tree")
    with pytest.raises(InvalidInput, match=r"must be one of .*neighbours"):
        make_embedder("neighbors!")


PACKAGE = """
from dataclasses import dataclass
from typing import ClassVar

import msgspec
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import validate_data

from fedhull.disc.maps import centroid
from fedhull.disc.maps import pairwise_distance
from fedhull.embed.embedder import CellEmbedder
from fedhull.learn.content import Content, shared


class NearestCentroid(ClassifierMixin, BaseEstimator):
    class Content(Content, tag="nearest-centroid"):
        centres: list[list[float]]

    def __init__(self, *, curvature=1.0):
        self.curvature = curvature

    @classmethod
    def for_study(cls, curvature, strength):
        return cls(curvature=curvature)

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        self.classes_ = np.unique(y)
        self.centres_ = np.array([centroid(X[y == c]) for c in self.classes_])
        return self

    def predict(self, X):
        return self.classes_[pairwise_distance(X, self.centres_, self.curvature).argmin(axis=1)]

    def to_content(self):
        return self.Content(**shared(self), centres=self.centres_.tolist())

    @classmethod
    def from_content(cls, content):
        model = cls(curvature=content.curvature)
        model.centres_ = np.array(content.centres)
        return model


def by_side(hulls, owners, n_groups, *, curvature, seed):
    return np.array([int(hull[0, 0] > 0) for hull in hulls])


def make_first(argument):
    n = int(argument)

    def first(x, y, cells, curvature):
        kept = np.concatenate([np.flatnonzero(y == c)[:n] for c in np.unique(y)])
        return x[kept], y[kept], cells[kept]

    return first


@dataclass(eq=False)
class Pairs(CellEmbedder):
    method: ClassVar[str] = "pairs"
    scale: float = 0.1
"""
ENTRIES = """
[fedhull.classifiers]
nearest-centroid = stranger:NearestCentroid
lorentz = stranger:NearestCentroid
[fedhull.groupings]
by-side = stranger:by_side
[fedhull.guards]
first = stranger:make_first
[fedhull.embedders]
pairs = stranger:Pairs
"""
USE = """
import sys
import numpy as np
from fedhull.embed.embedder import make_embedder
from fedhull.learn.model import make_classifier
from fedhull.learn.grouping import match_hulls
from fedhull.learn.guard import Guard
from fedhull.learn.model import load_model, save_model

x = np.array([[0.5, 0.0], [0.6, 0.1], [-0.5, 0.0]])
y = np.array([1, 1, 0])
model = make_classifier("nearest-centroid", curvature=1.0).fit(x, y)
save_model(model, sys.argv[1])
again = load_model(sys.argv[1])
assert type(again) is type(model)
assert again.predict(x).tolist() == y.tolist()
assert type(make_classifier("lorentz", 1.0)).__name__ == "LorentzClassifier"
assert match_hulls([x[:1], x[2:]], [0, 0], 2, "by-side").groups.tolist() == [0, 1]
guard = Guard.parse("first:1+trim:0.1")
assert str(guard) == "first:1+trim:0.1"
assert guard.apply(x, y).y.tolist() == [0, 1]
assert make_embedder("pairs", scale=0.5).scale == 0.5
"""


def test_parts_of_another_package_are_found_by_its_entry_points(tmp_path):
    (tmp_path / "stranger.py").write_text(PACKAGE)
    described = tmp_path / "stranger-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(ENTRIES)
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(USE), str(tmp_path / "model.json")],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    "statements",
    [
        "import fedhull.learn.guard; fedhull.learn.guard.Guard.parse('edit+trim:0.02')",
        "import fedhull.learn.grouping; fedhull.learn.grouping.GROUPINGS.check('spectral')",
        "import fedhull.learn.grouping; fedhull.learn.grouping.GROUPINGS['spectral']",
        "import fedhull.learn.model; fedhull.learn.model.CLASSIFIERS.check('lorentz')",
    ],
)
def test_naming_a_part_waits_for_no_heavy_library(statements):
    assert loaded(statements, ["sklearn", "scipy", "networkx", "numba", "jax"]) == "[]"


def test_loading_the_autoencoder_does_not_load_jax():
    statements = "from fedhull.embed.embedder import EMBEDDERS; EMBEDDERS['autoencoder']"
    assert loaded(statements, ["jax", "optax", "sklearn"]) == "[]"


@pytest.mark.parametrize(
    "statements",
    [
        "import fedhull.kits.participant",
        "import fedhull.embed.embedder, fedhull.embed.embedder; "
        "fedhull.embed.embedder.EMBEDDERS['autoencoder']().get_params()",
    ],
)
def test_a_sites_process_waits_for_scikit_learn_only_where_it_is_needed(statements):
    assert loaded(statements, ["sklearn", "pandas", "anndata"]) == "[]"


def loaded(statements, names):
    """Which of these modules are loaded after the statements, as text."""
    code = f"import sys; {statements}; print([m for m in {names} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.strip()
