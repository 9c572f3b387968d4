"""What a study would send, before anything is sent."""

from typing import Any, NamedTuple


class Plan(NamedTuple):
    """The numbers by name, and what a person reads, line by line."""

    numbers: dict[str, Any]
    words: list[str]
