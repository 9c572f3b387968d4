from . import errors
from .codes.bose_chowla import BoseChowlaCode
from .codes.labels import BinaryCode
from .data.synthetic import make_two_class
from .disc.epsilon_hull import epsilon_hull, hull_complexity
from .disc.hull import minimal_hull
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
from .disc.sampling import sample_uniform
from .disc.stream import HullStream
from .errors import FedhullError

__version__: str

__all__ = [
    "BinaryCode",
    "BoseChowlaCode",
    "EqualAreaQuantizer",
    "FedhullError",
    "HullStream",
    "Quantizer",
    "distance",
    "epsilon_hull",
    "errors",
    "exp_map",
    "geodesic",
    "geodesic_midpoint",
    "hull_complexity",
    "hyperboloid_to_poincare",
    "hyperplane_distance",
    "hyperplane_side",
    "klein_to_poincare",
    "log_map",
    "make_two_class",
    "minimal_hull",
    "mobius_add",
    "pairwise_distance",
    "parallel_transport",
    "poincare_to_hyperboloid",
    "poincare_to_klein",
    "poincare_to_polar",
    "polar_to_poincare",
    "sample_uniform",
]
