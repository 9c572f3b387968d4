"""The tables of docs/threat-model.md that say what leaves, each of a study of one kind: of three
sites two have to stay, and all else as by default. Run as a script, it writes them anew."""

import re
from pathlib import Path

from frames import GENES
from parties import identity

from fedhull.rounds.disclosure import markdown
from fedhull.study.gene_list import GeneList
from fedhull.study.kinds import study_from_toml, task_of

PAGE = Path(__file__).parents[1] / "docs" / "threat-model.md"
_CELLS = "[geometry]\nepsilon = 0.1\nradius = 0.98\n[labels]\nclasses = 6\n"
_MOMENTS = f'{_CELLS}[learning]\nsummary = "moments"\n'
_LISTED = GeneList(tuple(GENES)).to_bytes()
STUDIES = {
    "hulls": f"{_CELLS}[learning]\nalign = 0",
    "moments": f"{_MOMENTS}align = 0",
    "privacy": f"{_MOMENTS}[privacy]\nepsilon = 1.0",
    "aligned": f"{_MOMENTS}align = 2",
    "encoder": f'[encoder]\ngenes = "{GeneList(tuple(GENES)).hash}"',
}
# The marker that stands before a table, and the table.
_TABLE = re.compile(r"(<!-- what leaves: (\w+) -->\n\n)((?:\|.*\n)*\n?)")


def table(kind: str) -> str:
    """What leaves in studies of this kind."""
    clients = "".join(f'{name} = "{identity(name).public}"\n' for name in ("a", "b", "c"))
    rules = "[protocol]\nthreshold = 2"
    study = study_from_toml(f'name = "Any"\n{STUDIES[kind]}\n{rules}\n[clients]\n{clients}')
    attached = _LISTED if kind == "encoder" else None
    return markdown(task_of(study, attached).disclosures()) + "\n"


def tables(page: str) -> dict[str, str]:
    """The tables in a page, by kind."""
    return {found[2]: found[3].rstrip() + "\n" for found in _TABLE.finditer(page)}


def renewed(page: str) -> str:
    """The page with the tables that the studies' rounds disclose."""
    return _TABLE.sub(lambda found: f"{found[1]}{table(found[2])}\n", page)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text()))
