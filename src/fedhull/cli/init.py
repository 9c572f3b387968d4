"""`fedhull init`: a commented draft of a study, from a few questions."""

import sys
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from fedhull.cli.console import err, out
from fedhull.disk import write_text
from fedhull.errors import FedhullError, InvalidInput

_YEAR = timedelta(days=365)


def init(
    path: Annotated[Path, typer.Option("--out", help="The file to write.")] = Path("study.toml"),
    product: Annotated[
        str | None, typer.Option("--make", help="What comes of it: model or encoder.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the study is called.")] = None,
    purpose: Annotated[str | None, typer.Option(help="What it is for, in a sentence.")] = None,
    contact: Annotated[str | None, typer.Option(help="Whom to ask about it.")] = None,
    valid_until: Annotated[
        str | None, typer.Option(help="The last day on which anybody takes part: 2027-12-31.")
    ] = None,
    sites: Annotated[
        str | None, typer.Option(help="The sites, joined by commas: lab-a,lab-b,lab-c.")
    ] = None,
    classes: Annotated[
        int | None, typer.Option(help="For a model: the most classes that a site may have.")
    ] = None,
    summary: Annotated[
        str | None, typer.Option(help="For a model: what sites send, hulls or moments.")
    ] = None,
    cells: Annotated[
        str | None,
        typer.Option(help="For a model: what sites have, points in a common disc or counts."),
    ] = None,
    min_cells: Annotated[
        int | None, typer.Option(help="Nothing leaves that is made of fewer cells.")
    ] = None,
) -> None:
    """Write a commented draft of a study, from a few questions.

    What is given as an option is not asked for.
    """
    from fedhull.kits.checkup import read_study
    from fedhull.study.template import ENCODER, Choices, commented_draft

    if path.exists():
        raise InvalidInput(f"{path} exists already; choose another --out, or move it away")
    options = {key: value for key, value in locals().items() if key in QUESTIONS}
    # before anybody is asked anything
    given = {key: _read(key, value) for key, value in options.items() if value is not None}
    answers = {"product": _answer("product", given)}
    model_only = ("classes", "summary", "cells") if answers["product"] != ENCODER else ()
    for key in (*ALWAYS_ASKED, *model_only):
        answers[key] = _answer(key, given)
    places_cells = answers.pop("cells", None) == COUNTS
    write_text(path, commented_draft(Choices(places_cells=places_cells, **answers)))
    try:
        read_study(path, None)
    except FedhullError as problem:
        path.unlink()
        raise InvalidInput(f"this makes no study, and nothing was written: {problem}") from None
    named = " --encoder FILE" if places_cells else "" if model_only else " --genes FILE"
    out.print(f"{path} is a draft: read it, its comments say what else can be chosen.")
    out.print(
        f"Next: fedhull check {path}, then fedhull provision {path} --out kits{named}",
        soft_wrap=True,
    )


def _answer(key: str, given: dict[str, Any]) -> Any:
    """What was given, or what is typed; asked again if it is not understood."""
    if key in given:
        return given[key]
    question = QUESTIONS[key]
    default = question.default()
    while True:
        err.print(f"{question.words}{f' [{default}]' if default else ''} ", end="")
        line = sys.stdin.readline()
        if not line:
            raise InvalidInput(f"there was no answer; type one, or pass {question.option}")
        try:
            return question.read(line.strip() or default)
        except InvalidInput as problem:
            err.print(str(problem))


def _read(key: str, value: Any) -> Any:
    """The value of an option."""
    question = QUESTIONS[key]
    try:
        return question.read(str(value))
    except InvalidInput as problem:
        raise InvalidInput(f"{question.option}: {problem}") from None


def _text(words: str) -> str:
    from fedhull.text import check_visible

    if not words:
        raise InvalidInput("a few words are needed")
    check_visible(words, "this")
    return words


def _one_of(*names: str) -> Callable[[str], str]:
    def read(word: str) -> str:
        if word.lower() not in names:
            raise InvalidInput(f"must be one of {', '.join(names)}, got {word!r}")
        return word.lower()

    return read


def _day(words: str) -> date:
    try:
        day = date.fromisoformat(words)
    except ValueError:
        raise InvalidInput(f"must be a date such as 2027-12-31, got {words!r}") from None
    if day < date.today():
        raise InvalidInput(f"must be a day to come, got {words}")
    return day


def _count(words: str) -> int:
    if not words.isdecimal() or not 1 <= int(words) <= 1_000_000:
        raise InvalidInput(f"must be a whole number from 1, got {words!r}")
    return int(words)


def _sites(words: str) -> list[str]:
    from fedhull.protocol.agreement import SMALLEST_COHORT, check_name

    names = [check_name(name.strip()) for name in words.split(",") if name.strip()]
    if len(set(names)) < max(len(names), SMALLEST_COHORT):
        raise InvalidInput(
            f"must be at least {SMALLEST_COHORT} different names joined by commas, got {words!r}"
        )
    return names


class Question(NamedTuple):
    """An option that is asked for if it is not given: how, what is taken if nothing is typed, and
    how the answer is read."""

    option: str
    words: str
    read: Callable[[str], Any]
    default: Callable[[], str] = str


POINTS, COUNTS = "points", "counts"
ALWAYS_ASKED = ("name", "purpose", "contact", "valid_until", "sites", "min_cells")
QUESTIONS = {
    "product": Question(
        "--make",
        "What should come of it, a model or an encoder?",
        _one_of("model", "encoder"),
        lambda: "model",
    ),
    "name": Question("--name", "What is the study called?", _text),
    "purpose": Question("--purpose", "What is it for, in a sentence?", _text),
    "contact": Question("--contact", "Whom may people ask about it?", _text),
    "valid_until": Question(
        "--valid-until",
        "What is the last day on which anybody takes part?",
        _day,
        lambda: str(date.today() + _YEAR),
    ),
    "sites": Question("--sites", "Which sites take part, joined by commas?", _sites),
    "min_cells": Question(
        "--min-cells",
        "How many cells must be behind anything that leaves?",
        _count,
        lambda: "5",
    ),
    "classes": Question("--classes", "How many classes does a site have at most?", _count),
    "summary": Question(
        "--summary",
        "What do sites send, hulls or moments?",
        _one_of("hulls", "moments"),
        lambda: "moments",
    ),
    "cells": Question(
        "--cells",
        "What do sites have, points in a common disc, or counts that an encoder places there?",
        _one_of(POINTS, COUNTS),
        lambda: COUNTS,
    ),
}
