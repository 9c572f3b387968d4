"""Sections of a page that any installed package can add, found by entry points.

A section is a function from a page to a `Section`, or to None where it has nothing to say of that
page. It is asked whenever a page is written, and may show what the page itself may show: on a
site's page, that site's own points.
"""

from collections.abc import Callable

import msgspec

from fedhull.registry import Registry
from fedhull.report.class_content import ClassSitePage
from fedhull.report.content import Bar, Section, Table
from fedhull.report.hull_content import SitePage
from fedhull.report.moment_content import MomentSitePage
from fedhull.report.moment_words import no_position
from fedhull.report.page_file import AnyPage

SECTIONS: Registry[Callable[[AnyPage], Section | None]] = Registry("section", "fedhull.sections")


def sections(page: AnyPage) -> list[Section]:
    """What all registered sections say of a page, in the order of their names; in the place of one
    that fails, a sentence that names it."""
    made = (_section(name, page) for name in SECTIONS.names)
    return [section for section in made if section is not None]


def about(page: AnyPage) -> Section | None:
    """What the study is for, whom to ask, until when, and who has agreed."""
    agreed = [f"Agreed to by {page.agreed_by}."] if page.agreed_by else []
    said = [*page.about, *agreed]
    return Section(title="What it is for, and who agreed", paragraphs=said) if said else None


def time(page: AnyPage) -> Section | None:
    """How long each stage took."""
    if not page.seconds:
        return None
    bars = [
        Bar(name=stage, value=seconds, text=f"{seconds:.{3 if seconds < 0.01 else 2}f}")
        for stage, seconds in page.seconds.items()
    ]
    return Section(title="Time", paragraphs=["Seconds for each stage."], bars=bars)


def classes(page: AnyPage) -> Section | None:
    """What left a site, class by class."""
    if not isinstance(page, ClassSitePage) or not page.by_class:
        return None
    if isinstance(page, MomentSitePage):
        words, columns = _summed(page), {
            "cells": "cells", "tested": "kept for testing", "smallest": "in the sums",
        }  # fmt: skip
    else:
        assert isinstance(page, SitePage)
        words, columns = _sent(page), {
            "cells": "cells", "tested": "kept for testing", "guarded": "left out",
            "groups": "groups", "corners": "corners that left", "smallest": "smallest group",
        }  # fmt: skip
    withheld = [row for row in page.by_class if row.withheld]
    return Section(
        title="What left, class by class",
        paragraphs=[
            words,
            *(f"{row.name} was withheld, because it {row.withheld}." for row in withheld),
        ],
        table=Table(
            columns=["class", *columns.values()],
            rows=[
                [row.name, *(f"{getattr(row, name):,}" for name in columns)]
                for row in page.by_class
                if not row.withheld
            ],
        ),
    )


def _sent(page: SitePage) -> str:
    sent = [row for row in page.by_class if not row.withheld]
    smallest = min((row.smallest for row in sent), default=0)
    if smallest > 1:
        return f"No cell's position left; everything sent is the mean of at least {smallest} cells."
    single = sum(row.single for row in sent)
    return f"{single:,} cells left with their own position, each to within a bin."


def _summed(page: MomentSitePage) -> str:
    features = page.moments.features
    slot = (
        "five numbers that say where it lies, and if it has eight cells or more a sketch of eight"
        if page.placed
        else "a sketch of eight numbers"
    )
    sketch = "" if page.agreed else f"a count and {slot} left, without its name, and "
    centres = "its count and mean position, and " if page.alignments else ""
    return (
        f"For each class, {sketch}{centres}sums of {features:,} features over its cells"
        f"{' left' if page.agreed else ''}, which can be read only as part of the total over all "
        f"sites.{no_position(page)}"
    )


def _section(name: str, page: AnyPage) -> Section | None:
    # whatever a stranger's code does, the page with all that fedhull has to say must be written
    try:
        made = SECTIONS[name](page)
        # structs check types when they are converted, not when they are made
        return None if made is None else msgspec.convert(msgspec.to_builtins(made), Section)
    except Exception as problem:
        # the error's own words may name files or values, and pages are shown around
        return Section(
            title=name,
            paragraphs=[
                f"The section {name!r} failed with {type(problem).__name__} and is left out. "
                f"Update or remove the package that adds it."
            ],
        )
