"""The house: layers, public names, docstrings that run, an import that costs nothing."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import get_type_hints

import pytest

import fedhull
import fedhull_lab
from fedhull import extend

HOME, LAB = (Path(package.__file__).parent for package in (fedhull, fedhull_lab))
MODULES = sorted(m.name for m in pkgutil.walk_packages([str(HOME)], "fedhull."))
LAB_MODULES = sorted(m.name for m in pkgutil.walk_packages([str(LAB)], "fedhull_lab."))
API = Path(__file__).parent.parent / "docs" / "api.md"

# Each layer may import from itself and from the layers it names, and from no other.
_BASE = {"arrays", "disk", "errors", "progress", "registry", "text"}
MAY_IMPORT = {
    "errors": set(),
    "progress": set(),
    "text": {"errors"},
    "disk": {"errors"},
    "arrays": {"disk", "errors"},
    "registry": {"errors", "text"},
    "disc": _BASE,
    "noise": _BASE,
    "codes": _BASE | {"disc"},
    "protocol": _BASE | {"codes", "disc"},
    "embed": _BASE | {"disc"},
    "data": _BASE | {"disc", "embed"},
    "learn": _BASE | {"disc", "embed"},
    "tl": _BASE | {"disc", "embed", "learn"},
    "settings": _BASE | {"codes", "data", "disc", "embed", "learn", "protocol"},
    "rounds": _BASE | {"codes", "disc", "embed", "learn", "noise", "protocol", "settings"},
    "study": _BASE | {"data", "disc", "embed", "learn", "protocol", "rounds", "settings"},
}
# a study is two layers: what it is, below its rounds, and what a site makes of it, above them
SETTINGS = {"encoder_study", "gene_list", "dp", "promise", "study"}
_STUDIES = {"rounds", "settings", "study"}
MAY_IMPORT["report"] = _BASE | {"disc", "embed", "learn", "protocol"} | _STUDIES
MAY_IMPORT["pl"] = _BASE | {"disc", "report"}
MAY_IMPORT["kits"] = _BASE | {"protocol", "report"} | _STUDIES
MAY_IMPORT["engines"] = _BASE | {"kits", "protocol"} | _STUDIES
MAY_IMPORT["simulation"] = _BASE | {"data", "disc", "embed", "learn", "report"} | _STUDIES
MAY_IMPORT["cli"] = set(MAY_IMPORT)
# for other packages: what it names is loaded by name, and nothing in here goes through it
MAY_IMPORT["extend"] = set()


def layer(module: str) -> str:
    _, name, *rest = module.split(".")
    return "settings" if name == "study" and SETTINGS & set(rest[:1]) else name


def imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name for name in names if name.startswith("fedhull.")}


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_downwards(module):
    path = HOME.parent / (module.replace(".", "/") + ".py")
    if not path.exists():
        path = HOME.parent / module.replace(".", "/") / "__init__.py"
    allowed = MAY_IMPORT[layer(module)] | {layer(module)}
    assert {layer(name) for name in imports(path)} <= allowed


def test_layers_form_no_circle():
    seen: set[str] = set()
    for name, below in MAY_IMPORT.items():
        assert below <= seen or not below - seen, name
        seen.add(name)


def test_fedhull_knows_nothing_of_the_lab():
    sources = [*HOME.rglob("*.py"), *HOME.rglob("*.pyi")]
    assert not [path for path in sources if re.search(r"\bfedhull_lab\b", path.read_text())]


@pytest.mark.parametrize("path", sorted(LAB.rglob("*.py")), ids=lambda path: path.stem)
def test_the_lab_imports_only_what_is_public(path):
    public = {"fedhull": set(fedhull.__all__), "fedhull.extend": set(extend.__all__)}
    # modules that are public as a whole
    whole = {f"fedhull.{n}" for n in fedhull.__all__ if inspect.ismodule(getattr(fedhull, n))}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "fedhull":
            names = {alias.name for alias in node.names}
            if node.module in public:
                assert names <= public[node.module]
            else:
                assert node.module in whole
        elif isinstance(node, ast.Import):
            # of a module by its whole name, any attribute could be used
            assert not [a.name for a in node.names if a.name.split(".")[0] == "fedhull"]


def test_the_lab_names_no_other_module_of_fedhull_in_what_it_runs_elsewhere():
    script = importlib.import_module("fedhull_lab.bench.modules")._STUDY
    assert set(re.findall(r"(?:from|import) (fedhull[\w.]*)", script)) == {
        "fedhull",
        "fedhull.extend",
    }


@pytest.mark.parametrize("module", [*MODULES, *LAB_MODULES])
def test_docstring_examples_run(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0


@pytest.mark.parametrize("name", fedhull.__all__)
def test_every_public_name_can_be_imported_and_is_described(name):
    thing = getattr(fedhull, name)
    assert thing.__doc__
    assert thing.__name__.split(".")[-1] == name


def test_the_api_page_lists_exactly_the_public_names():
    page = API.read_text()
    listed = [line.strip() for line in page.splitlines() if re.match(r"   [\w.]+$", line)]
    assert sorted(name for name in listed if "." not in name) == sorted(fedhull.__all__)
    # beside them only types that public functions return, each by its full path
    for path in (name for name in listed if "." in name):
        module, name = path.rsplit(".", 1)
        result = getattr(importlib.import_module(f"fedhull.{module}"), name)
        returned = [
            get_type_hints(function).get("return")
            for function in map(partial(getattr, fedhull), fedhull.__all__)
            if inspect.isfunction(function)
        ]
        assert result in returned, path


@pytest.mark.parametrize("name", extend.__all__)
def test_every_name_for_other_packages_can_be_loaded(name):
    assert getattr(extend, name) is not None


def test_the_api_page_lists_exactly_the_names_for_other_packages():
    section = API.read_text().split("\n## For packages that extend fedhull\n")[1].split("\n## ")[0]
    rows = [row.split("|")[2] for row in section.splitlines() if row.startswith("| ")][1:]
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted([*listed, "VERSION"]) == sorted(extend.__all__)
    assert f"`VERSION` is {extend.VERSION}" in section


def test_diagrams_are_of_the_kind_that_the_site_can_draw():
    pages = (Path(__file__).parent.parent / "docs").glob("*.md")
    kinds = {kind for page in pages for kind in re.findall(r"```mermaid\n(\w+)", page.read_text())}
    assert kinds == {"flowchart"}, "docs/_static/mermaid/ORIGIN.txt says what others need"


def test_importing_fedhull_loads_no_heavy_library():
    heavy = ["numba", "scipy", "matplotlib", "typer", "rich"]
    code = f"import fedhull, sys; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_reaching_for_simulate_loads_neither_scikit_learn_nor_statistics():
    slow = ["sklearn", "scipy.stats", "scipy.spatial", "matplotlib", "pandas", "pyarrow"]
    code = f"import fedhull, sys; fedhull.simulate; print([m for m in {slow} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", ["hulls", "moments"])
def test_a_site_loads_neither_scikit_learn_nor_statistics_to_answer(kind):
    # an engine may start a process for each message
    slow = ["sklearn", "scipy.stats", "pandas"]
    task = f"fedhull.kits.participant, fedhull.study.classes, fedhull.rounds.{kind}"
    code = f"import {task}, sys; print([m for m in {slow} if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_both_packages_say_they_are_typed():
    assert (HOME / "py.typed").exists()
    assert (LAB / "py.typed").exists()
