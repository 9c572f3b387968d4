"""Words and figures that the pages of all kinds of studies share."""

from fedhull.report.content import Page

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

Figure = dict[str, str]

# Sentences of "What is not protected" in docs/threat-model.md; a test compares them.
SESSIONS = "Several sessions over the same data. Each reveals a sum."
SEVERAL_SESSIONS = "Each reveals a sum, and two that differ by one site give that site's part."


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
    """Which one it is.

    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '22nd']
    """
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n:,}{ending}"


def sessions(earlier: int) -> str:
    """What several sessions over the same data reveal, or have revealed already."""
    if not earlier:
        return SESSIONS
    return f"This is the {ordinal(earlier + 1)} session over these data. {SEVERAL_SESSIONS}"


def size(n_bytes: int) -> str:
    """Bytes, as people read them.

    >>> size(999), size(1_234), size(9_200_000)
    ('999 B', '1.2 kB', '9.2 MB')
    """
    if n_bytes < 1_000:
        return f"{n_bytes} B"
    return f"{n_bytes / 1e3:.1f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:.1f} MB"


def figure(value: str, label: str, note: str = "") -> Figure:
    """A number at the top of the page: value, what it is, a note."""
    return {"value": value, "label": label, "note": note}


def bytes_figure(page: Page) -> list[Figure]:
    """What was sent and received, if whoever writes the page knows: a site's own, or the most."""
    if page.bytes_up is None:
        return []
    most = "" if page.private else "at most "
    note = f"{most}{size(page.bytes_down)} received" if page.bytes_down is not None else ""
    return [
        figure(
            size(page.bytes_up), "sent by you" if page.private else "the most any site sent", note
        )
    ]


def dropouts(n: int, when: str) -> str:
    """How many sites dropped out.

    >>> dropouts(0, "before the sum"), dropouts(1, "on the way")
    ('no site dropped out before the sum', '1 site dropped out on the way')
    """
    return f"{count(n, 'site') if n else 'no site'} dropped out {when}"


def colluding(page: Page) -> str:
    """With how many sites the server has to collude to learn what another one has sent."""
    sites = page.collusion or min(2 * page.threshold - len(page.sites), page.threshold - 1)
    return "one" if sites == 1 else f"{sites}"
