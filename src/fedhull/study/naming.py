"""Names that all sites of a study have agreed on, and how a site's own names map onto them.

A map is a TOML file with a line for each of the site's names that is not an agreed one:

    "T lymphocyte" = "T cell"
    "B cell" = ["naive B", "memory B"]

A class that stands for several agreed ones, because a site does not tell them apart, is counted as
each of them: its cells make a hull under each of these names, and the classifier learns that all of
them may lie there. Such cells are never used for testing, since nobody knows which they are.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedhull.disk import read_text
from fedhull.errors import InvalidInput
from fedhull.text import did_you_mean, shortened


def read_map(path: str | Path) -> dict[str, list[str]]:
    """{a site's name: the agreed names that it stands for} in a TOML file."""
    try:
        content = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise InvalidInput(f"{path} is not valid TOML: {problem}") from None
    found: dict[str, list[str]] = {}
    for own, names in content.items():
        found[own] = [names] if isinstance(names, str) else names
        if not isinstance(found[own], list) or not all(isinstance(n, str) for n in found[own]):
            raise InvalidInput(
                f"{path} must map {own!r} to an agreed name, or to a list of them, got "
                f"{shortened(names)}"
            )
    return found


def agreed_labels(
    labels: Sequence[Any], agreed: Sequence[str], own: Mapping[str, Sequence[str]]
) -> tuple[np.ndarray, dict[str, list[str]]]:
    """A site's labels in agreed names (n,), and {class: the agreed names it stands for} of those
    that stand for several and keep the site's own name.

    >>> names, several = agreed_labels(["T", "B"], ["T", "B1", "B2"], {"B": ["B1", "B2"]})
    >>> names.tolist(), several
    (['T', 'B'], {'B': ['B1', 'B2']})
    """
    for name, targets in own.items():
        for target in targets:
            if target not in agreed:
                raise InvalidInput(f"the map has {name!r} stand for {_unknown(target, agreed)}")
    called: dict[str, str] = {}
    several: dict[str, list[str]] = {}
    for label in dict.fromkeys(map(str, labels)):
        targets = own.get(label, [label])
        if label not in own and label not in agreed:
            raise InvalidInput(
                f"the data have a class {_unknown(label, agreed)}; say what it stands for with "
                f"--map"
            )
        called[label] = label if len(targets) > 1 else targets[0]
        if len(targets) > 1:
            several[label] = list(targets)
    used = [name for name in set(called.values()) if name not in several]
    used += [name for targets in several.values() for name in targets]
    twice = sorted(name for name in set(used) if used.count(name) > 1)
    if twice:
        raise InvalidInput(
            f"{twice[0]!r} would be sent twice: by a class of that name, and by one that stands "
            f"for it among others; let the map have the latter stand for the others only"
        )
    return np.array([called[str(label)] for label in labels], dtype=str), several


def _unknown(name: str, agreed: Sequence[str]) -> str:
    hint = did_you_mean(name, agreed) or f": {', '.join(agreed)}"
    return f"{shortened(name)}, which is none of the names that the study has agreed on{hint}"
