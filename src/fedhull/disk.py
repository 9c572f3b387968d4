"""Files: read with a sentence about what is wrong, written in one go."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fedhull.errors import InvalidInput


def read_text(path: str | Path) -> str:
    """The text of a file, or a sentence about why there is none."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not text"
        raise InvalidInput(f"{path} cannot be read: {reason}") from None


def read_bytes(path: str | Path) -> bytes:
    """The content of a file, or a sentence about why there is none."""
    try:
        return Path(path).read_bytes()
    except OSError as problem:
        raise InvalidInput(f"{path} cannot be read: {problem.strerror}") from None


def write_json(path: str | Path, content: Mapping[str, Any], mode: int = 0o644) -> None:
    """Write a JSON file in one go: whoever reads it finds all of it or nothing."""
    write_bytes(path, (json.dumps(content, indent=1) + "\n").encode(), mode)


def write_text(path: str | Path, content: str, mode: int = 0o644) -> None:
    """Write a text file in one go."""
    write_bytes(path, content.encode(), mode)


def write_bytes(path: str | Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file in one go; `mode` holds from the first byte."""
    path = Path(path)
    part = _part(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        part.unlink(missing_ok=True)
        handle = os.open(part, flags, mode)
    except OSError as problem:
        raise InvalidInput(f"{path} cannot be written: {problem.strerror}") from None
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A path for libraries that write files: `path` holds the old or the new file, whole."""
    path = Path(path)
    part = _part(path)
    try:
        yield part
        os.replace(part, path)
    except OSError as problem:
        raise InvalidInput(f"{path} cannot be written: {problem.strerror or problem}") from None
    finally:
        part.unlink(missing_ok=True)


def _part(path: Path) -> Path:
    """A temporary file that becomes the file; it keeps the ending, by which libraries go."""
    return path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
