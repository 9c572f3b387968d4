"""What reads files, under test: every content is read or refused in a sentence, soon."""

import os
import warnings
from pathlib import Path

from fedhull.errors import FedhullError

QUICK = 2.0  # seconds of work


def seconds() -> float:
    """Work of this process and of those that it has started and seen end."""
    return sum(os.times()[:4])


def holds(contents, read) -> None:
    """Every content is read or refused by an error of ours, in under two seconds of work; some are
    refused, or the test tests nothing."""
    refusals = []
    for number, content in enumerate(contents):
        begin = seconds()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                read(content)
            except FedhullError as problem:
                refusals.append(str(problem))
        assert seconds() - begin < QUICK, number
    assert refusals
    assert [sentence[:200] for sentence in refusals if not 0 < len(sentence) < 2_000] == []


def put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path
