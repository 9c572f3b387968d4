"""Numbers as people read them, the names of a simulation's scores, and longer texts, by name."""

import tomllib
from importlib.resources import files

# The names of a simulation's scores where there is room.
DESCRIPTIONS = {
    "FL": "FL, federated",
    "FL-hulls": "FL-hulls, federated, from hulls",
    "FL-moments": "FL-moments, federated, from moments",
    "C": "C, the same method on pooled data",
    "alone": "alone, each site with its own points, mean",
    "CP": "CP, Poincaré SVM, pooled",
    "CE": "CE, Euclidean SVM, pooled",
    "FLP": "FLP, Poincaré SVM, federated (paper)",
    "FLE": "FLE, Euclidean SVM, federated",
    "CH-CP": "CH-CP, Poincaré SVM, pooled hulls",
    "CH-CE": "CH-CE, Euclidean SVM, pooled hulls",
    "majority": "always the largest class",
}


def count(n: int, one: str, many: str | None = None) -> str:
    """A number and its noun.

    >>> count(1, "hull"), count(2000, "hull"), count(0, "class", "classes")
    ('1 hull', '2,000 hulls', '0 classes')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def number(n: int) -> str:
    """A small number as a word.

    >>> number(2), number(40)
    ('two', '40')
    """
    words = ("no", "one", "two", "three", "four", "five", "six")
    return words[n] if n < len(words) else f"{n:,}"


def ordinal(n: int) -> str:
    """The place in an order.

    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '22nd']
    """
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n:,}{ending}"


def size(n_bytes: int) -> str:
    """Bytes, in a unit that fits.

    >>> size(999), size(1_234), size(9_200_000)
    ('999 B', '1.2 kB', '9.2 MB')
    """
    if n_bytes < 1_000:
        return f"{n_bytes} B"
    return f"{n_bytes / 1e3:.1f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:.1f} MB"


def said(*words: str) -> list[str]:
    """Sentences, without those that are left empty.

    >>> said("All stayed.", "")
    ['All stayed.']
    """
    return [each for each in words if each]


def prose(name: str) -> dict[str, dict[str, str]]:
    """The texts of a file in page/: tables of sentences, by name."""
    path = files("fedhull.report") / "page" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))
