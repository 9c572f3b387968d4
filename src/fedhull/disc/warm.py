"""Compile every kernel once, on tiny inputs; compiled code is cached on disk for later runs."""

import numpy as np

from fedhull.disc.hull import minimal_hull
from fedhull.disc.microaggregation import microaggregate
from fedhull.disc.quantize import Quantizer
from fedhull.disc.sieve import build_sieve, survivors


def compile_kernels() -> None:
    """Run each compiled function once, so that no later call has to wait for the compiler."""
    triangle = np.array([[0.5, 0.0], [0.0, 0.5], [-0.5, -0.5]])
    minimal_hull(triangle)
    microaggregate(np.concatenate((triangle, triangle / 2)), 2)
    sieve = build_sieve(triangle, 1.0)
    assert sieve is not None
    survivors(triangle, sieve, 1.0)
    quantizer = Quantizer(1.0, 0.9)
    quantizer.decode(quantizer.encode(triangle))
