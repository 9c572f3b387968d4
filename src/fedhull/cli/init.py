"""`fedhull init`: a commented draft of a study."""

import sys
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from typer import Option

from fedhull.cli.console import err, out
from fedhull.disk import write_text
from fedhull.errors import FedhullError, InvalidInput
from fedhull.study.study import SUMMARIES


def _option(key: str) -> str:
    return "--make" if key == "product" else f"--{key.replace('_', '-')}"


def init(
    path: Annotated[Path, Option("--out", help="The file to write.")] = Path("study.toml"),
    product: Annotated[
        str | None, Option("--make", help="Product of the study: model or encoder.")
    ] = None,
    name: Annotated[str | None, Option(help="Name of the study.")] = None,
    purpose: Annotated[str | None, Option(help="Its purpose, in a sentence.")] = None,
    contact: Annotated[str | None, Option(help="Contact for questions about it.")] = None,
    valid_until: Annotated[
        str | None, Option(help="Last day of the study, such as 2027-12-31.")
    ] = None,
    sites: Annotated[
        str | None, Option(help="Names of the sites, joined by commas: lab-a,lab-b,lab-c.")
    ] = None,
    classes: Annotated[
        int | None, Option(help="For a model: maximum number of classes of a site.")
    ] = None,
    summary: Annotated[
        str | None, Option(help="For a model: hulls, moments or one you installed.")
    ] = None,
    cells: Annotated[
        str | None, Option(help="For a model: the sites' data, points in a common disc or counts.")
    ] = None,
    min_cells: Annotated[
        int | None, Option(help="Minimum number of cells behind anything a site sends.")
    ] = None,
) -> None:
    """Write a commented draft of a study from a few questions.

    Options are answers to questions that are then not asked.
    """
    from fedhull.kits.checkup import read_study
    from fedhull.study.template import ENCODER, Choices, commented_draft

    if path.exists():
        raise InvalidInput(f"{path} exists already; choose another --out, or move it away")
    options = {key: value for key, value in locals().items() if key in QUESTIONS}
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
        raise InvalidInput(
            f"these answers make no study, and nothing was written: {problem}"
        ) from None
    named = " --encoder FILE" if places_cells else "" if model_only else " --genes FILE"
    out.print(f"{path} is a draft: its comments explain further settings.")
    out.print(
        f"Next: fedhull check {path}, then fedhull provision {path} --out kits{named}",
        soft_wrap=True,
    )


def _answer(key: str, given: dict[str, Any]) -> Any:
    """The option, or the typed answer, asked again until it can be read."""
    if key in given:
        return given[key]
    question = QUESTIONS[key]
    default = f" [{question.default}]" if question.default else ""
    while True:
        err.print(f"{question.words}{default} ", end="")
        line = sys.stdin.readline()
        if not line:
            raise InvalidInput(f"there was no answer; type one, or pass {_option(key)}")
        try:
            return question.read(line.strip() or question.default)
        except InvalidInput as problem:
            err.print(str(problem))


def _read(key: str, value: Any) -> Any:
    """Read the value of an option."""
    try:
        return QUESTIONS[key].read(str(value))
    except InvalidInput as problem:
        raise InvalidInput(f"{_option(key)}: {problem}") from None


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
        raise InvalidInput(f"must not be in the past, got {words}")
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
    """A question, the reader of its answer, and its default."""

    words: str
    read: Callable[[str], Any]
    default: str = ""


POINTS, COUNTS = "points", "counts"
ALWAYS_ASKED = ("name", "purpose", "contact", "valid_until", "sites", "min_cells")
QUESTIONS = {
    "product": Question(
        "Should the study make a model or an encoder?", _one_of("model", "encoder"), "model"
    ),
    "name": Question("What is the study called?", _text),
    "purpose": Question("What is it for, in a sentence?", _text),
    "contact": Question("Who answers questions about it?", _text),
    "valid_until": Question("What is its last day?", _day, str(date.today() + timedelta(days=365))),
    "sites": Question("Which sites take part, joined by commas?", _sites),
    "min_cells": Question(
        "How many cells, at least, must be behind anything a site sends?", _count, "5"
    ),
    "classes": Question("How many classes does a site have at most?", _count),
    "summary": Question(
        "What do sites send, hulls, moments or what you installed?",
        _one_of(*SUMMARIES.names),
        "moments",
    ),
    "cells": Question(
        "What do sites have, points in a common disc, or counts that an encoder places there?",
        _one_of(POINTS, COUNTS),
        COUNTS,
    ),
}
