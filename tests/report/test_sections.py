"""Sections of other packages: shown after fedhull's own, as text, and harmless if they fail."""

import json
import sys

import msgspec
import pytest
from browser import Opened

from fedhull import make_tree, simulate
from fedhull.errors import InvalidInput
from fedhull.registry import Registry
from fedhull.report import render as module
from fedhull.report.matches import TITLE
from fedhull.report.page import page_from_json
from fedhull.report.pages import site_page
from fedhull.report.render import content, others, render, time, write_page
from fedhull.report.sections import Bar, ClassesLeft, Disc, Table, Text
from fedhull.report.verdict import TITLE as JUDGED

HOSTILE = "<img src=x onerror='window.hacked = 1'></script><script>window.hacked = 1</script>"
PACKAGE = f"""
from fedhull.report.sections import Bar, Table, Text

HOSTILE = {HOSTILE!r}

def roster(page):
    return Text(
        title="Roster " + HOSTILE,
        paragraphs=[f"{{len(page.sites)}} sites", HOSTILE],
        table=Table(columns=["site", HOSTILE], rows=[[s.name, HOSTILE] for s in page.sites]),
        bars=[Bar(name=HOSTILE, value=2.0, text=HOSTILE), Bar(name="none", value=0, text="0")],
    )

def silent(page):
    return None

def broken(page):
    raise LookupError("/home/somebody/rare.csv")

def mistyped(page):
    return Text(title="Numbers", paragraphs=[1, 2])

def endless(page):
    return {{"title": "Bars", "bars": [{{"name": "a", "value": float("nan"), "text": ""}}]}}
"""
ENTRIES = """[fedhull.sections]
a-roster = visiting_sections:roster
b-silent = visiting_sections:silent
c-broken = visiting_sections:broken
d-mistyped = visiting_sections:mistyped
e-endless = visiting_sections:endless
f-missing = visiting_sections:nowhere
"""
FAILING = ["c-broken", "d-mistyped", "e-endless", "f-missing"]


@pytest.fixture
def visitor(tmp_path, monkeypatch):
    """An installed package with sections of its own."""
    (tmp_path / "visiting_sections.py").write_text(PACKAGE)
    described = tmp_path / "visiting_sections-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: visiting\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module, "SECTIONS", Registry("section", "fedhull.sections"))
    yield
    sys.modules.pop("visiting_sections", None)


@pytest.fixture(scope="session")
def page(simulated):
    return simulated.page("A study")


def titles_of(page):
    """The titles of all sections in words, in their order."""
    return [
        each["title"]
        for each in content(page)["sections"]
        if each["section"] == "text" and each["place"] == "more"
    ]


def page_of(folder):
    return page_from_json(json.loads((folder / "result.json").read_text())["report"], "it")


def test_the_time_of_each_stage_comes_last(page):
    (section,) = time(page)
    assert [bar.value for bar in section.bars] == list(page.seconds.values())
    assert titles_of(page)[-1] == "Time"


def test_a_page_without_times_has_no_section_of_them(federated):
    assert titles_of(page_of(federated["lab-a"])) == [
        "What it is for, and who agreed",
        JUDGED,
        "What left, class by class",
        "Whose name went with whose",
    ]


def test_a_sites_page_says_class_by_class_what_left(federated):
    page = page_of(federated["lab-a"])
    left = page.find(ClassesLeft)
    section = left.text()
    corners = section.table.columns.index("corners that left")
    sent = sum(len(hull.bins) for hull in page.find(Disc).hulls)
    assert sum(int(row[corners]) for row in section.table.rows) == sent
    assert section.paragraphs[0].startswith("No cell's position left; everything sent is the mean")
    withheld = msgspec.structs.replace(left.rows[0], withheld="has 3 cells, fewer than 5")
    other = msgspec.structs.replace(left, rows=[withheld, left.rows[1]]).text()
    assert other.paragraphs[1].endswith("was withheld, because it has 3 cells, fewer than 5.")
    assert len(other.table.rows) == 1


def test_cells_that_left_with_their_own_position_are_counted():
    data = make_tree(300, lineages=2, seed=0)
    given = {"guard": "none", "min_cells": 1}
    result = simulate(data.x, data.y, clients=2, epsilon=0.1, ballot=False, **given)
    site = next(iter(result.trials[0].session.sites.values()))
    words = site_page(site, 1, 2).find(ClassesLeft).text().paragraphs[0]
    assert "No cell" not in words
    assert words.endswith("cells left with their own position, each to within a bin.")


def test_the_coordinators_page_has_no_place_for_a_sites_classes(page):
    assert page.find(ClassesLeft) is None


@pytest.mark.usefixtures("visitor")
def test_sections_of_another_package_are_asked(page):
    made = {section.title: section for section in others(page)}
    assert list(made) == [f"Roster {HOSTILE}", *FAILING]
    assert titles_of(page) == [JUDGED, TITLE, "Time", *made]
    assert made[f"Roster {HOSTILE}"].paragraphs[0] == f"{len(page.sites)} sites"


@pytest.mark.usefixtures("visitor")
def test_a_section_that_fails_is_named_and_left_out(page):
    made = {section.title: section.paragraphs for section in others(page)}
    for name, error in zip(
        FAILING,
        ["LookupError", "ValidationError", "ValidationError", "AttributeError"],
        strict=True,
    ):
        assert made[name][0].startswith(f"The section {name!r} failed with {error} and is left out")
    # the error's words stay where they were said
    assert "rare.csv" not in render(page)


def test_tables_and_bars_that_cannot_be_shown_are_refused():
    with pytest.raises(InvalidInput, match="as the table has columns, 2, got 1"):
        Table(columns=["a", "b"], rows=[["c"]])
    for value in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidInput, match="a bar must have a length >= 0"):
            Bar(name="a", value=value, text="")
    assert Text(title="a") == Text(title="a", paragraphs=[], table=None, bars=[])


@pytest.mark.slow
@pytest.mark.usefixtures("visitor")
def test_sections_are_shown_as_text_after_fedhulls_own(chromium, page, folder):
    path = folder / "sections.html"
    write_page(page, path)
    opened = Opened(chromium, path)
    assert opened.complaints() == []
    assert opened.requests() == [path.as_uri()]
    assert opened.run("window.hacked") is None
    assert opened.run("document.images.length") == 0
    # only the glossary comes after them
    last = "document.querySelector('main').lastElementChild"
    assert opened.run(f"[{last}.previousElementSibling.id, {last}.id]") == ["more", "words"]
    titles = opened.run("[...document.querySelectorAll('#more h3')].map((h) => h.textContent)")
    assert titles == [JUDGED, TITLE, "Time", f"Roster {HOSTILE}", *FAILING]
    text = opened.run("document.querySelectorAll('#more figure')[3].textContent")
    # title, paragraph, column, a row for each site, name and text of a bar
    assert text.count(HOSTILE) == 5 + len(page.sites)
    opened.resize(360, 800)
    assert opened.run("document.documentElement.scrollWidth") <= 360
