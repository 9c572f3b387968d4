"""The words on a page that a data-protection officer need not know, each in one sentence.

page/glossary.txt is the only place that says what they mean: a page shows the sentence where a word
comes first in a section, and lists those that it uses at its end.
"""

from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Term(NamedTuple):
    """A word, what it means, and the other forms in which it stands in a text."""

    term: str
    meaning: str
    forms: tuple[str, ...] = ()


@cache
def terms() -> tuple[Term, ...]:
    """All terms: a line of the file has the word and its other forms, and the sentence."""
    text = (files("fedhull.report") / "page" / "glossary.txt").read_text(encoding="utf-8")
    lines = (line.split(": ", 1) for line in text.splitlines())
    parted = ((words.split(", "), meaning) for words, meaning in lines)
    return tuple(Term(word, meaning, tuple(forms)) for (word, *forms), meaning in parted)


def glossary() -> list[dict[str, Any]]:
    """All terms, as a page carries them."""
    return [
        {"term": each.term, "meaning": each.meaning, "forms": [each.term, *each.forms]}
        for each in terms()
    ]
