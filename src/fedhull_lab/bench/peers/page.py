"""docs/peers.md, made from the file that the comparison writes."""

import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from fedhull.extend import write_json, write_text
from fedhull_lab.bench.peers.table import table
from fedhull_lab.bench.peers.verdict import sentences
from fedhull_lab.reproduce.page import commit, markdown, versions


def to_json(found: list[dict[str, Any]], quick: bool, seed: int) -> dict[str, Any]:
    """The results of all data sets, and the settings of the run."""
    return {
        "quick": quick,
        "seed": seed,
        "commit": commit(),
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "versions": versions(),
        "data": found,
    }


def write(folder: Path, content: dict[str, Any]) -> list[Path]:
    """`results/peers.json` and `peers.md` in a folder of pages."""
    written = [folder / "results" / "peers.json", folder / "peers.md"]
    written[0].parent.mkdir(parents=True, exist_ok=True)
    write_json(written[0], content)
    write_text(written[1], page(json.loads(written[0].read_text(encoding="utf-8"))))
    return written


def page(content: dict[str, Any]) -> str:
    """The page of a comparison: its rows, a table and the verdicts for each data set."""
    template = files("fedhull_lab.bench.peers")
    parts = [template.joinpath("preface.md").read_text(encoding="utf-8"), _made_by(content)]
    for data in content["data"]:
        shown = table(data)
        parts += [f"## {data['title']}", markdown(vars(shown)), *sentences(data)]
    parts.append(template.joinpath("why.md").read_text(encoding="utf-8"))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _made_by(content: dict[str, Any]) -> str:
    libraries = ", ".join(f"{name} {v}" for name, v in content["versions"].items())
    size = " --quick" if content["quick"] else ""
    threads = f"OMP_NUM_THREADS={content['threads']}" if content["threads"] else "all cores"
    return (
        f"Made by `fedhull bench peers{size} --seed {content['seed']} --out docs`, commit "
        f"{content['commit']}, {libraries}; {threads} for linear algebra."
    )
