"""A process that reads an HDF5 file before this one does: ``python -m fedhull.data.probe FILE``.

HDF5's library runs in circles on some damaged files, and can crash on others. What it does to this
process it cannot do to the one that asked: the time is limited, and the end is noticed.
"""

import signal
import sys
from pathlib import Path
from typing import Any

from fedhull.arrays import check_size
from fedhull.errors import InvalidInput

REFUSED = 3
# Seconds of work, not of waiting for a disk, for the structure and for this many bytes of data.
_SECONDS, _BYTES_PER_SECOND = 0.7, 50_000_000
# Data beyond this are not read twice; their structure is.
_MOST_READ, _AT_ONCE = 256_000_000, 32_000_000
_MOST_OBJECTS = 100_000


def main() -> None:
    """Examine the file; what is wrong with it is printed."""
    try:
        import h5py

        path = Path(sys.argv[1])
        _limit(_SECONDS)
        with h5py.File(path, "r") as file:
            datasets = list(_datasets(file))
            total = sum(dataset.size * dataset.dtype.itemsize for dataset in datasets)
            check_size("its content", total, path.stat().st_size)
            if total <= _MOST_READ:
                _limit(_SECONDS + total / _BYTES_PER_SECOND)
                for dataset in datasets:
                    _read(dataset)
    # whatever a damaged file makes h5py raise, and our own refusals
    except Exception as problem:
        words = str(problem) if isinstance(problem, InvalidInput) else f"it is damaged: {problem}"
        sys.stdout.buffer.write(words.encode("utf-8", "backslashreplace"))
        sys.stdout.flush()
        sys.exit(REFUSED)


def _limit(seconds: float) -> None:
    """End this process when it has worked for so long; not on Windows."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _datasets(file: Any) -> Any:
    """All arrays in the file, each once; none that lies elsewhere."""
    import h5py

    waiting, seen = [file], set()
    while waiting:
        thing = waiting.pop()
        dict(thing.attrs)
        if isinstance(thing, h5py.Dataset):
            if thing.is_virtual or thing.external:
                raise InvalidInput(f"its entry {thing.name!r} refers to other files")
            yield thing
        elif isinstance(thing, h5py.Group):
            for name in thing:
                if not isinstance(thing.get(name, getlink=True), h5py.HardLink):
                    raise InvalidInput(f"its entry {name!r} refers to another place")
                inner = thing[name]
                place = h5py.h5o.get_info(inner.id).addr
                if place not in seen:
                    seen.add(place)
                    waiting.append(inner)
            if len(seen) > _MOST_OBJECTS:
                raise InvalidInput(f"it holds more than {_MOST_OBJECTS:,} objects")


def _read(dataset: Any) -> None:
    """Read it once, a part at a time."""
    if dataset.shape is None or dataset.size == 0:
        return
    if dataset.ndim == 0:
        dataset[()]
        return
    row = max(1, dataset.size // len(dataset) * dataset.dtype.itemsize)
    step = max(1, _AT_ONCE // row)
    for first in range(0, len(dataset), step):
        dataset[first : first + step]


if __name__ == "__main__":
    main()
