"""One self-contained HTML file: style, script and content inlined, no request to anywhere.

Any installed package can add sections, through functions from a page to a `Text`, or to None where
they have nothing to say of that page. They are asked whenever a page is written, and may show what
the page itself may show: on a site's page, that site's own points.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from fedhull.disk import write_text
from fedhull.registry import Registry
from fedhull.report.glossary import glossary
from fedhull.report.page import AnyPage
from fedhull.report.sections import Bar, Text

SECTIONS: Registry[Callable[[AnyPage], Text | None]] = Registry("section", "fedhull.sections")

# In the order of their imports: a module uses only those before it.
MODULES = (
    "dom", "disc", "classifier", "scene", "labels", "paint", "viewer", "summary", "steps", "cards",
    "charts", "glossary", "main",
)  # fmt: skip


def write_page(page: AnyPage, path: str | Path) -> None:
    """Write the page as one HTML file."""
    write_text(path, render(page))


def render(page: AnyPage) -> str:
    """The page as HTML."""
    style, script = _source("style.css"), _script()
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        f"img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "title": escape(page.title),
        "style": style,
        "content": _escaped_json(content(page)),
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _source("page.html"))


def content(page: AnyPage) -> dict[str, Any]:
    """Plain values for the script: the head, all sections, the glossary."""
    shown = [
        *(section.shown() for section in [*about(page), *page.sections, *time(page)]),
        *(section.shown() for section in others(page)),
    ]
    return msgspec.to_builtins(page) | {"sections": shown, "glossary": glossary()}


def about(page: AnyPage) -> list[Text]:
    """The purpose of the study, whom to ask, until when, and who has agreed."""
    agreed = [f"Agreed to by {page.agreed_by}."] if page.agreed_by else []
    said = [*page.about, *agreed]
    return [Text(title="What it is for, and who agreed", paragraphs=said)] if said else []


def time(page: AnyPage) -> list[Text]:
    """The time of each stage."""
    if not page.seconds:
        return []
    bars = [
        Bar(name=stage, value=seconds, text=f"{seconds:.{3 if seconds < 0.01 else 2}f}")
        for stage, seconds in page.seconds.items()
    ]
    return [Text(title="Time", paragraphs=["Seconds for each stage."], bars=bars)]


def others(page: AnyPage) -> Iterator[Text]:
    """Sections of other packages, in the order of their names; in the place of one that fails, a
    sentence that names it."""
    for name in SECTIONS.names:
        # whatever a stranger's code does, the page with all that fedhull has to say must be written
        try:
            made = SECTIONS[name](page)
            if made is not None:
                # structs check types when they are converted, not when they are made
                yield msgspec.convert(msgspec.to_builtins(made), Text)
        except Exception as problem:
            # the error's own words may name files or values, and pages are shown around
            yield Text(
                title=name,
                paragraphs=[
                    f"The section {name!r} failed with {type(problem).__name__} and is left out. "
                    f"Update or remove the package that adds it."
                ],
            )


def _escaped_json(content: Any) -> str:
    """JSON in plain ASCII that cannot end the script element it stands in."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def _script() -> str:
    """The modules one after the other, as one: imports and exports between them fall away, and so
    do comments and indentation, a sixth of the script."""
    text = "\n".join(_source(f"{name}.js") for name in MODULES)
    text = re.sub(r"^ */\*\*.*?\*/\n", "", text, flags=re.MULTILINE | re.DOTALL)
    for useless in (r"^import [^;]*;\n", r"^ *//.*\n", r"^ +", r"^export "):
        text = re.sub(useless, "", text, flags=re.MULTILINE)
    return text


@cache
def _source(name: str) -> str:
    return (files("fedhull.report") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
