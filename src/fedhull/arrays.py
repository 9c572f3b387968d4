"""Arrays from .npz files: their sizes are known, and checked, before anything is decompressed."""

import io
import math
import os
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from fedhull.errors import InvalidInput

MOST_BYTES = "FEDHULL_MOST_BYTES"
_DEFAULT_MOST_BYTES = 16 * 2**30
# Zeros compress a thousandfold, real data a hundredfold at most; small files may do as they like.
_MOST_RATIO, _SMALL = 200, 64 * 2**20
_KINDS = "biufSU"


def check_size(name: str, unpacked: int, packed: int) -> None:
    """Raise InvalidInput if a file of `packed` bytes would fill memory with far more."""
    limit = _most_bytes()
    dense = MOST_BYTES not in os.environ and unpacked > max(_SMALL, _MOST_RATIO * packed)
    if unpacked > limit or dense:
        why = (
            f"more than the limit of {limit:,}"
            if unpacked > limit
            else f"more than {_MOST_RATIO} times its size of {packed:,}"
        )
        raise InvalidInput(
            f"{name} would take {unpacked:,} bytes of memory, {why}; if you trust the file, store "
            f"it uncompressed, or set {MOST_BYTES} to how many bytes may be read"
        )


def read_arrays(source: Path | bytes, name: str) -> dict[str, np.ndarray]:
    """All arrays of an .npz, by name; InvalidInput if the file is damaged, holds anything but
    numbers and text, or is far larger than it looks."""
    packed = len(source) if isinstance(source, bytes) else source.stat().st_size
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as file:
            members = file.infolist()
            check_size(name, sum(member.file_size for member in members), packed)
            return {
                member.filename.removesuffix(".npy"): _array(file, member, name)
                for member in members
            }
    except InvalidInput:
        raise
    # zipfile, zlib and NumPy fail in a dozen ways on damaged files, and all mean the same
    except Exception as problem:
        raise InvalidInput(f"{name} cannot be read as .npz: {problem}") from None


def _array(file: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> np.ndarray:
    with file.open(member) as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about headers of old versions, which are read as well
        _, _, dtype = header = _header(stream)
        shape = header[0]
        if dtype.kind not in _KINDS:
            raise InvalidInput(
                f"{name} must hold numbers and text only, but {member.filename} holds {dtype}"
            )
        expected = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or stream.tell() + expected != member.file_size:
            raise InvalidInput(
                f"{name} is damaged: {member.filename} says that it is {shape} of {dtype}, which "
                f"its {member.file_size:,} bytes are not"
            )
    with file.open(member) as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array: np.ndarray = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _header(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type of the array that follows."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    return np.lib.format.read_array_header_2_0(stream)


def _most_bytes() -> int:
    setting = os.environ.get(MOST_BYTES)
    if setting is None:
        return _DEFAULT_MOST_BYTES
    if not setting.isdecimal() or not setting.isascii():
        raise InvalidInput(f"{MOST_BYTES} must be a whole number of bytes, got {setting!r}")
    return int(setting)
