"""The documentation site: the Markdown pages beside this file, the API from docstrings, the
commands from the Typer app. Build with `sphinx-build -W --keep-going -b html docs docs/_build`."""

import re
import subprocess
import sys
from pathlib import Path

import numpy.typing
from sphinx.ext import autosummary

import fedhull

HERE = Path(__file__).parent

project = "fedhull"
author = "The fedhull developers"
copyright = author
version = release = fedhull.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinxcontrib.mermaid",
]
exclude_patterns = ["_build", "_templates", "generated/commands.md"]
templates_path = ["_templates"]
html_theme = "sphinx_book_theme"
html_title = "fedhull"
html_static_path = ["_static"]
html_theme_options = {
    "repository_url": "https://github.com/fedhull/fedhull",
    "path_to_docs": "docs",
    "use_repository_button": True,
    "use_issues_button": True,
    "show_navbar_depth": 1,
    "navbar_persistent": [],  # the sidebar has the search already
}

myst_heading_anchors = 3
myst_fence_as_directive = ["mermaid"]  # ```mermaid, as GitHub draws it
suppress_warnings = ["myst.header"]  # Typer's page starts one level down

# from our own pages: readers' browsers need no other server
mermaid_use_local = "mermaid/mermaid.esm.min.mjs"
mermaid_fullscreen = False
mermaid_height = "auto"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
default_role = "code"  # `name` in a docstring is code, as in Markdown
nitpicky = True
nitpick_ignore_regex = [
    # types of other libraries, and types of ours that may change, are named but not described
    ("py:.*", r"(?!fedhull\.)[\w.]+"),
    ("py:class", r"fedhull\.[a-z_]+\..*"),
]

# the union that numpy's ArrayLike stands for fills half a page; its name says enough
numpy.typing.ArrayLike = type("ArrayLike", (), {"__module__": "numpy.typing"})
# no sentence ends here
autosummary.WELL_KNOWN_ABBREVIATIONS += ("App.", "Def.", "Sec.", "eq.")

PARAMETER = re.compile(r"(\w+(?:, \w+)*) : (.+)")
# scikit-learn's names of fitted attributes, which reStructuredText would take for links
LINK = re.compile(r"(?<![`\w])(\w+)_(?![`\w])")


def write_commands(app):
    """The page of all commands, as Typer itself describes them."""
    page = HERE / "generated" / "commands.md"
    page.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "typer", "fedhull.cli.app", "utils", "docs"]
    printed = subprocess.run(
        [*command, "--name", "fedhull"], capture_output=True, text=True, check=True
    )
    page.write_text(printed.stdout)


def restructure(app, what, name, thing, options, lines):
    """Our docstrings as reStructuredText: "x : (n, d)" lines become a list of parameters, indented
    formulas and drawings stay as they are set."""
    blocks = [[]]
    for line in lines:
        if line.strip():
            blocks[-1].append(line)
        else:
            blocks.append([])
    result = []
    for block in blocks:
        if block and (block[0].startswith("    ") or any("├──" in line for line in block)):
            result += ["::", "", *(f"    {line}" for line in block)]
        elif block and PARAMETER.match(block[0]):
            for line in block:
                found = PARAMETER.match(line)
                text = LINK.sub(r"\1\\_", found[2] if found else line)
                result += [f"``{found[1]}``", f"    {text}"] if found else [f"    {text}"]
        else:
            result += block
        result.append("")
    # 1@upload is no address of a person
    lines[:] = [re.sub(r"(?<=\w)@(?=\w)", r"\\@", line) for line in result]


def setup(app):
    """What Sphinx calls."""
    app.connect("builder-inited", write_commands)
    app.connect("autodoc-process-docstring", restructure)
