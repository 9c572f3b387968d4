"""Geometry of the Poincaré disc: maps, hulls, bins, samples. Knows nothing else of fedhull."""
