"""Data sets: generated ones, and later loaders and partitions."""
