"""docs/results.md, put together from the files that experiments write."""

import json
import os
import platform
import subprocess
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from fedhull.extend import write_text
from fedhull_lab.reproduce.catalogue import EXPERIMENTS
from fedhull_lab.reproduce.finding import Finding

_LIBRARIES = ("fedhull", "numpy", "scipy", "scikit-learn", "numba", "python-flint", "cryptography")


def to_json(finding: Finding, quick: bool, seed: int) -> dict[str, Any]:
    """A finding as plain values: its numbers, the sentences about them, and its provenance."""
    return finding.numbers | {
        "quick": quick,
        "seed": seed,
        "page": {
            "title": finding.title,
            "tables": [vars(table) for table in finding.tables],
            "remarks": finding.remarks,
            "figure": finding.figure is not None,
            "commit": commit(),
            "versions": versions(),
        },
    }


def write_page(path: Path, folder: Path) -> None:
    """The page over all experiments whose files are in the folder, figures included."""
    parts = [files("fedhull_lab.reproduce").joinpath("preface.md").read_text()]
    for name in EXPERIMENTS:
        file = folder / f"{name}.json"
        if not file.exists():
            continue
        content = json.loads(file.read_text())
        page = content["page"]
        parts += [f"## {page['title']}", _made_by(name, content)]
        parts += [markdown(table) for table in page["tables"]]
        if page["figure"]:
            image = os.path.relpath(folder / f"{name}.svg", path.parent)
            parts.append(f"![{page['title']}]({image})")
        parts += page["remarks"]
    write_text(path, "\n\n".join(part.strip("\n") for part in parts) + "\n")


def _made_by(name: str, content: dict[str, Any]) -> str:
    page = content["page"]
    libraries = ", ".join(f"{name} {v}" for name, v in page["versions"].items())
    size = " --quick" if content["quick"] else ""
    return (
        f"`fedhull reproduce {name}{size} --seed {content['seed']}`, commit {page['commit']}, "
        f"{libraries}."
    )


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that numbers depend on."""
    return {name: version(name) for name in _LIBRARIES} | {"python": platform.python_version()}


def commit() -> str:
    """The checkout's commit, if this is one."""
    try:
        done = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"],
            capture_output=True,
            text=True,
        )
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def markdown(table: dict[str, Any]) -> str:
    """A table as Markdown, under its title."""
    lines = [f"**{table['title']}**", ""]
    lines.append("| " + " | ".join(table["columns"]) + " |")
    lines.append("|" + "---|" * len(table["columns"]))
    lines += ["| " + " | ".join(row) + " |" for row in table["rows"]]
    return "\n".join(lines)
