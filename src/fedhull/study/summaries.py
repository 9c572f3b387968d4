"""What sites can send of their classes, by name: each summary is a task."""

from typing import Any

from fedhull.registry import Registry

# Classes with `of(study, encoder)`, which make a `Task`.
SUMMARIES: Registry[Any] = Registry("summary", "fedhull.summaries")
# fedhull's own; the first is the one that rounds points to bins.
HULLS, MOMENTS = "hulls", "moments"
