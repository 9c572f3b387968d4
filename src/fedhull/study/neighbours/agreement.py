"""How well an encoder keeps together what is alike, by cells that it was not made from."""

import numpy as np
from sklearn.metrics import pairwise_distances

from fedhull.disc.maps import pairwise_distance
from fedhull.embed.neighbours import NeighbourEmbedder

NEAREST = 15


def count_agreeing(encoder: NeighbourEmbedder, features: np.ndarray) -> tuple[int, int]:
    """Of the 15 anchors that are nearest along the axes to each cell with these features (n, c),
    how many are among its 15 nearest in the disc, and how many there are, over all cells."""
    points, k = encoder.place(features), encoder.curvature
    n = min(NEAREST, len(encoder.anchors))
    before = pairwise_distances(features, encoder.anchors)
    after = pairwise_distance(points, encoder.places / np.sqrt(k), curvature=k)
    near = [np.argsort(each, axis=1, kind="stable")[:, :n] for each in (before, after)]
    is_near = np.zeros(before.shape, dtype=bool)
    np.put_along_axis(is_near, near[0], values=True, axis=1)
    return int(np.take_along_axis(is_near, near[1], axis=1).sum()), n * len(features)
