"""Text from elsewhere: what may stand in a name, and what may reach a terminal.

A name from a study, a data file or a peer may hold characters that a terminal obeys instead of
showing them (escape codes), or that disguise the text around them (marks that turn the direction of
writing, characters without width). A study with such names is refused; whatever is printed is
cleaned.
"""

import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime
from difflib import get_close_matches

from fedhull.errors import InvalidInput

# controls, format characters, halves of surrogate pairs, separators of lines and paragraphs
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_SHORT = 200


def printable(text: object) -> str:
    """The text with every character that is obeyed, not shown, written out.

    >>> print(printable("lab\\x1b[31m a"))
    lab\\x1b[31m a
    """
    words = str(text)
    if words.isascii() and words.isprintable():
        return words
    return "".join(_written_out(c) if _is_unseen(c) else c for c in words)


def printable_lines(text: object) -> str:
    """The same for text of ours in several lines, which stay lines."""
    return "\n".join(map(printable, str(text).split("\n")))


def readable_time(written: str) -> str:
    """A time as people read it, in UTC; what is no ISO time stays as it is.

    >>> readable_time("2026-11-18T02:39:07+00:00")
    '2026-11-18 02:39 UTC'
    """
    try:
        time = datetime.fromisoformat(written)
    except ValueError:
        return written
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def check_visible(text: str, what: str) -> None:
    """Raise InvalidInput if a text holds characters that cannot be seen.

    >>> check_visible("lung\\u202eatlas", "name")
    Traceback (most recent call last):
    ...
    fedhull.errors.InvalidInput: name must be plain text, but holds the character U+202E, which is \
not shown or changes how others are; take it out: 'lung\\u202eatlas'
    """
    for c in text:
        if _is_unseen(c):
            raise InvalidInput(
                f"{what} must be plain text, but holds the character U+{ord(c):04X}, which is not "
                f"shown or changes how others are; take it out: {shortened(text)}"
            )


def shortened(value: object) -> str:
    """A value's repr, cut where it gets too long for a sentence."""
    try:
        words = repr(value)
    except ValueError:  # Python does not write out whole numbers of thousands of digits
        words = "a number of very many digits"
    return words if len(words) <= _SHORT else f"{words[:_SHORT]}…"


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """The end of a sentence about a word that is not known: the one that was meant, if one is near.

    >>> did_you_mean("cell_typ", ["donor", "cell_type"])
    "; did you mean 'cell_type'?"
    """
    lower = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), lower, n=1) if isinstance(word, str) else []
    return f"; did you mean {lower[near[0]]!r}?" if near else ""


def _is_unseen(c: str) -> bool:
    return unicodedata.category(c) in _UNSEEN


def _written_out(c: str) -> str:
    return repr(c)[1:-1]
