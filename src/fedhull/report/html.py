"""One self-contained HTML file: style, script and content inlined, no request to anywhere."""

import base64
import hashlib
import json
import re
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from fedhull.disk import write_text
from fedhull.report.class_content import OwnPoints
from fedhull.report.glossary import glossary
from fedhull.report.narration import narrate
from fedhull.report.page_file import AnyPage
from fedhull.report.sections import sections

# In the order of their imports: a module uses only those before it.
MODULES = (
    "dom", "disc", "classifier", "scene", "labels", "paint", "viewer", "summary", "steps", "cards",
    "charts", "glossary", "main",
)  # fmt: skip
# More of a site's own points than this, and every second, third, … is shown: a page stays small.
MOST_POINTS = 200_000


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
        "content": _escaped_json(_content(page)),
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _source("page.html"))


def own_points(x: ArrayLike, columns: ArrayLike) -> OwnPoints:
    """A site's points (n, 2) and the classifier's column of each, as a page carries them."""
    points = np.asarray(x, dtype="<f4")
    column = np.minimum(columns, 255).astype(np.uint8)  # beyond, colours have long begun again
    step = -(-len(points) // MOST_POINTS)
    return OwnPoints(xy=points[::step].tobytes(), columns=column[::step].tobytes(), of=len(points))


def _content(page: AnyPage) -> dict[str, Any]:
    added = {"sections": msgspec.to_builtins(sections(page)), "glossary": glossary()}
    return msgspec.to_builtins(page) | narrate(page) | added


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
