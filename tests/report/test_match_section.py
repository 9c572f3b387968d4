"""Whose name went with whose: each page says what its reader may know, and marks what is doubtful
or wrong."""

import json
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from browser import Opened

from fedhull.kits.kit import Kit
from fedhull.learn.grouping import DOUBTFUL_BELOW
from fedhull.report.matches import (
    AGREED,
    DOUBT,
    TITLE,
    TOLD,
    AgreedNames,
    FoundClasses,
    MatchMap,
    OwnMatches,
)
from fedhull.report.page import page_from_json
from fedhull.report.pages import with_own_points
from fedhull.report.render import write_page
from fedhull.report.sections import ClassesLeft, Disc, OwnPoints
from fedhull.rounds.hulls import HullSums

SITES = ["lab-a", "lab-b", "lab-c"]


def result_of(folder):
    return json.loads((folder / "result.json").read_text())


def page_of(folder):
    return page_from_json(result_of(folder)["report"], "it")


def unmarked(name):
    """A name without the mark of doubt."""
    return name.removeprefix("! ")


def certain(section):
    """The section as it would be if no match were doubtful."""
    own = isinstance(section, OwnMatches)
    sure = {"certainty": 99} if own else {"doubtful": 0, "least": 99}
    for i in range(len(section.rows)):
        section = changed(section, i, **sure)
    return section


def changed(section, i, **values):
    """The section with one of its rows changed."""
    rows = list(section.rows)
    rows[i] = msgspec.structs.replace(rows[i], **values)
    return msgspec.structs.replace(section, rows=rows)


@pytest.fixture(scope="session", params=["federated", "summed"])
def study(request):
    """The results of a study of hulls, and of one of moments."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session", params=["simulated", "summed_simulation"])
def simulation(request):
    return request.getfixturevalue(request.param)


def test_a_site_sees_its_own_names_against_the_numbers(study):
    page, result = page_of(study["lab-a"]), result_of(study["lab-a"])
    table = page.find(OwnMatches).text().table
    assert table.columns == ["your class", "is", "sites that have it", "how certain"]
    assert [[unmarked(row[0]), *row[1:3]] for row in table.rows] == [
        [row["name"], f"class {row['class'] + 1}", f"{row['sites']}"] for row in result["matches"]
    ]
    assert {unmarked(row[0]) for row in table.rows} == set(page.find(Disc).classes)


def test_the_coordinator_sees_counts_and_no_name(study):
    page = page_of(study["server"])
    section = page.find(FoundClasses).text()
    assert section.table.columns == ["class", "sites", "cells", "least certain match", "doubtful"]
    for row, found in zip(section.table.rows, result_of(study["server"])["matches"], strict=True):
        assert [unmarked(row[0]), *row[1:3]] == [
            f"class {found['number'] + 1}", f"{found['sites']}", f"{found['cells']:,}"
        ]  # fmt: skip
    assert "lineage" not in json.dumps(msgspec.to_builtins(section))
    assert not any(name in json.dumps(msgspec.to_builtins(section)) for name in SITES)


def test_the_cells_of_a_class_are_those_of_its_sites(summed):
    found = {
        i: row.cells for i, row in enumerate(page_of(summed["server"]).find(FoundClasses).rows)
    }
    sums = dict.fromkeys(found, 0)
    for name in SITES:
        page = page_of(summed[name])
        cells = {row.name: row.smallest for row in page.find(ClassesLeft).rows}
        for match in page.find(OwnMatches).rows:
            sums[match.number] += cells[match.name]
    assert sums == found


def test_doubtful_matches_are_marked_in_front_and_in_words(study):
    own = page_of(study["lab-a"]).find(OwnMatches)
    section = changed(certain(own), 0, certainty=62).text()
    assert section.table.rows[0][0].startswith("! ")
    assert section.table.rows[0][3] == "62 %, doubtful"
    assert any("doubtful" in words for words in section.paragraphs)
    found = page_of(study["server"]).find(FoundClasses)
    section = changed(certain(found), 2, least=62, doubtful=2).text()
    assert section.table.rows[2] == ["! class 3", *section.table.rows[2][1:3], "62 %", "2"]
    assert any("There are 2 doubtful matches." in words for words in section.paragraphs)
    sure = certain(page_of(study["lab-b"]).find(OwnMatches))
    assert not any("doubtful" in words for words in sure.text().paragraphs)


def test_the_words_say_from_where_on_a_match_is_doubtful():
    assert f"below {100 * DOUBTFUL_BELOW:.0f} %" in DOUBT


def test_a_class_that_only_one_site_has_is_pointed_out(study):
    own = page_of(study["lab-a"]).find(OwnMatches)
    words = f"Found at your site only: {own.rows[1].name}."
    assert words in changed(own, 1, sites=1).text().paragraphs
    assert words not in own.text().paragraphs
    found = changed(page_of(study["server"]).find(FoundClasses), 1, sites=1)
    assert found.text().table.rows[1][3] == "one site only"


def test_a_simulation_shows_which_sites_name_went_where(simulation):
    page, trial = simulation.page(), simulation.trials[0]
    section = page.find(MatchMap).text()
    sites = section.table.columns[2:]
    assert sites == trial.session.outcome.survivors
    for row in section.table.rows:
        held = {name.removeprefix("! ") for name in row[2:] if name != "–"}
        assert held == {row[1]}  # all were matched rightly
    sent = sum(len(trial.session.sites[name].holdings.classes) for name in sites)
    assert sum(len(row.slots) for row in page.find(MatchMap).rows) == sent
    assert "none went into a wrong one" in section.paragraphs[0]


def test_a_simulation_marks_what_went_wrong(simulation):
    found = simulation.page().find(MatchMap)
    slots = list(found.rows[0].slots)
    slots[0] = msgspec.structs.replace(slots[0], name="another", right=False)
    slots[1] = msgspec.structs.replace(slots[1], certainty=62)
    section = changed(found, 0, slots=slots).text()
    assert "✗ another" in section.table.rows[0]
    assert f"! {slots[1].name}" in section.table.rows[0]
    assert " 1 went into a wrong one" in section.paragraphs[0]
    assert "Wrong ones are marked with “✗”." in section.paragraphs


@pytest.mark.parametrize("who", ["server", "lab-a"])
def test_where_names_are_agreed_nothing_had_to_be_matched(summed_by_name, who):
    page = page_of(summed_by_name[who])
    assert page.find(AgreedNames).text().paragraphs == [AGREED]
    assert page.find(OwnMatches) is page.find(FoundClasses) is None


def test_what_a_site_is_told_is_in_the_threat_models_tables():
    threat_model = (Path(__file__).parents[2] / "docs" / "threat-model.md").read_text()
    row = rf"^\| {re.escape(TOLD)} \| \*\*yes\*\*, of unnamed sites \| of its own classes only"
    assert len(re.findall(row, threat_model, re.M)) == 2  # of hulls and of moments


def test_points_of_classes_that_were_withheld_are_left_out_of_a_sites_page(federated):
    study = Kit.open(federated["lab-a"].parents[1]).study
    names = page_of(federated["lab-a"]).find(Disc).classes
    x = np.array([[0.01 * i, 0.1] for i in range(9)] + [[-0.5, 0.0]])
    y = np.array([names[0]] * 9 + [names[1]])
    held = HullSums(study).select(x, y, np.unique(y))
    assert held.withheld == [names[1]]
    assert with_own_points(page_of(federated["lab-a"]), held).find(OwnPoints).of == 9


@pytest.mark.slow
def test_marks_stand_out_in_the_browser(chromium, summed, folder):
    page = page_of(summed["lab-a"])
    doubtful = changed(page.find(OwnMatches), 0, certainty=62)
    rest = [each for each in page.sections if not isinstance(each, OwnMatches)]
    page = msgspec.structs.replace(page, sections=[*rest, doubtful])
    write_page(page, folder / "doubtful.html")
    opened = Opened(chromium, folder / "doubtful.html")
    titles = opened.run("[...document.querySelectorAll('#more h3')].map((h) => h.textContent)")
    assert TITLE in titles
    assert opened.run("document.querySelector('#more td.marked').textContent").startswith("! ")
    colours = opened.run(
        "['td.marked', 'td:not(.marked)'].map((s) => "
        "getComputedStyle(document.querySelector(`#more ${s}`)).color)"
    )
    assert colours[0] != colours[1]
