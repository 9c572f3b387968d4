"""docs/results.md: what the experiments found, written by the command that ran them."""

import platform
import subprocess
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from fedhull.reproduce.finding import Finding, Table

_LIBRARIES = ("fedhull", "numpy", "scipy", "scikit-learn", "numba", "python-flint", "cryptography")


def write_page(path: Path, findings: dict[str, Finding], quick: bool, seed: int) -> None:
    """The whole page; figures are expected in the folder `results` beside it."""
    preface = files("fedhull.reproduce").joinpath("preface.md").read_text()
    parts = [preface, _made_by(quick, seed)]
    for name, finding in findings.items():
        parts.append(f"## {finding.title}")
        parts.append(f"`fedhull reproduce {name}`")
        parts += [_markdown(table) for table in finding.tables]
        if finding.figure is not None:
            parts.append(f"![{finding.title}](results/{name}.svg)")
        parts += finding.remarks
    path.write_text("\n\n".join(part.strip("\n") for part in parts) + "\n")


def _made_by(quick: bool, seed: int) -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    size = "small sizes (`--quick`)" if quick else "full sizes"
    return (
        f"Made at commit `{_commit()}` with {size}, seed {seed}, Python "
        f"{platform.python_version()}, {libraries}."
    )


def _commit() -> str:
    """The checkout's commit, if this is one."""
    try:
        here = Path(__file__).parent
        done = subprocess.run(
            ["git", "-C", str(here), "rev-parse", "--short", "HEAD"], capture_output=True, text=True
        )
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def _markdown(table: Table) -> str:
    lines = [f"**{table.title}**", ""]
    lines.append("| " + " | ".join(table.columns) + " |")
    lines.append("|" + "---|" * len(table.columns))
    lines += ["| " + " | ".join(row) + " |" for row in table.rows]
    return "\n".join(lines)
