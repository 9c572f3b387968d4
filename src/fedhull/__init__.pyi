from . import errors, pl, tl
from .codes.labels import BinaryCode, BoseChowlaCode
from .data.generated import make_tree, make_two_class, sample_uniform
from .disc.align import align, align_by_class
from .disc.hull import HullStream, epsilon_hull, hull_complexity, minimal_hull
from .disc.isometry import Isometry
from .disc.maps import (
    distance,
    exp_map,
    geodesic,
    geodesic_midpoint,
    hyperplane_distance,
    hyperplane_side,
    log_map,
    mobius_add,
    pairwise_distance,
    parallel_transport,
)
from .disc.models import (
    hyperboloid_to_poincare,
    klein_to_poincare,
    poincare_to_hyperboloid,
    poincare_to_klein,
    poincare_to_polar,
    polar_to_poincare,
)
from .disc.quantize import EqualAreaQuantizer, Quantizer
from .embed.cells import Cells
from .embed.embedder import load_embedder
from .embed.neighbours import NeighbourEmbedder
from .embed.tree import TreeEmbedder, embed_tree
from .errors import FedhullError
from .learn.hard_margin import HardMarginGeodesic
from .learn.lorentz import LorentzClassifier
from .learn.model import load_model, save_model
from .learn.moment_classifier import HorocycleFeatures, MomentClassifier
from .learn.prediction import unassigned
from .learn.svm import PoincareSVC
from .protocol.client import ClientSession
from .protocol.server import ServerSession
from .rounds.run import run_study
from .simulation.simulate import simulate
from .study.federated import federated_encoder
from .study.kinds import task_of
from .study.study import Study

__version__: str

__all__ = [
    "BinaryCode",
    "BoseChowlaCode",
    "Cells",
    "ClientSession",
    "EqualAreaQuantizer",
    "FedhullError",
    "HardMarginGeodesic",
    "HorocycleFeatures",
    "HullStream",
    "Isometry",
    "LorentzClassifier",
    "MomentClassifier",
    "NeighbourEmbedder",
    "PoincareSVC",
    "Quantizer",
    "ServerSession",
    "Study",
    "TreeEmbedder",
    "align",
    "align_by_class",
    "distance",
    "embed_tree",
    "epsilon_hull",
    "errors",
    "exp_map",
    "federated_encoder",
    "geodesic",
    "geodesic_midpoint",
    "hull_complexity",
    "hyperboloid_to_poincare",
    "hyperplane_distance",
    "hyperplane_side",
    "klein_to_poincare",
    "load_embedder",
    "load_model",
    "log_map",
    "make_tree",
    "make_two_class",
    "minimal_hull",
    "mobius_add",
    "pairwise_distance",
    "parallel_transport",
    "pl",
    "poincare_to_hyperboloid",
    "poincare_to_klein",
    "poincare_to_polar",
    "polar_to_poincare",
    "run_study",
    "sample_uniform",
    "save_model",
    "simulate",
    "task_of",
    "tl",
    "unassigned",
]
