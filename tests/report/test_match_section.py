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
from fedhull.report import match_section
from fedhull.report.html import write_page
from fedhull.report.match_section import TITLE, TOLD, matches
from fedhull.report.page_file import page_from_json
from fedhull.report.pages import with_own_points
from fedhull.report.sections import SECTIONS
from fedhull.study.hulls.holdings import make_hulls

SITES = ["lab-a", "lab-b", "lab-c"]


def result_of(folder):
    return json.loads((folder / "result.json").read_text())


def page_of(folder):
    return page_from_json(result_of(folder)["report"], "it")


def unmarked(name):
    """A name without the mark of doubt."""
    return name.removeprefix("! ")


def certain(page):
    """The page as it would be if no match were doubtful."""
    field = "matches" if hasattr(page, "matches") else "found"
    sure = (
        {"doubtful": False, "certainty": 99} if field == "matches" else {"doubtful": 0, "least": 99}
    )
    for i in range(len(getattr(page, field))):
        page = changed(page, field, i, **sure)
    return page


def changed(page, field, i, **values):
    """The page with one of its rows changed."""
    rows = list(getattr(page, field))
    rows[i] = msgspec.structs.replace(rows[i], **values)
    return msgspec.structs.replace(page, **{field: rows})


@pytest.fixture(scope="session", params=["federated", "summed"])
def study(request):
    """The results of a study of hulls, and of one of moments."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session", params=["simulated", "summed_simulation"])
def simulation(request):
    return request.getfixturevalue(request.param)


def test_it_is_a_section_of_fedhulls_own():
    assert SECTIONS["matches"] is matches


def test_a_site_sees_its_own_names_against_the_numbers(study):
    page, result = page_of(study["lab-a"]), result_of(study["lab-a"])
    table = matches(page).table
    assert table.columns == ["your class", "is", "sites that have it", "how certain"]
    assert [[unmarked(row[0]), *row[1:3]] for row in table.rows] == [
        [row["name"], f"class {row['class'] + 1}", f"{row['sites']}"] for row in result["matches"]
    ]
    assert {unmarked(row[0]) for row in table.rows} == set(page.classes)


def test_the_coordinator_sees_counts_and_no_name(study):
    page = page_of(study["server"])
    section = matches(page)
    assert section.table.columns == ["class", "sites", "cells", "least certain match", "doubtful"]
    for row, found in zip(section.table.rows, result_of(study["server"])["matches"], strict=True):
        assert [unmarked(row[0]), *row[1:3]] == [
            f"class {found['number'] + 1}", f"{found['sites']}", f"{found['cells']:,}"
        ]  # fmt: skip
    assert "lineage" not in json.dumps(msgspec.to_builtins(section))
    assert not any(name in json.dumps(msgspec.to_builtins(section)) for name in SITES)


def test_the_cells_of_a_class_are_those_of_its_sites(summed):
    found = {i: row.cells for i, row in enumerate(page_of(summed["server"]).found)}
    sums = dict.fromkeys(found, 0)
    for name in SITES:
        page = page_of(summed[name])
        cells = {row.name: row.smallest for row in page.by_class}
        for match in page.matches:
            sums[match.number] += cells[match.name]
    assert sums == found


def test_doubtful_matches_are_marked_in_front_and_in_words(study):
    site = changed(certain(page_of(study["lab-a"])), "matches", 0, certainty=62, doubtful=True)
    section = matches(site)
    assert section.table.rows[0][0].startswith("! ")
    assert section.table.rows[0][3] == "62 %, doubtful"
    assert any("doubtful" in words for words in section.paragraphs)
    server = changed(certain(page_of(study["server"])), "found", 2, least=62, doubtful=2)
    section = matches(server)
    assert section.table.rows[2] == ["! class 3", *section.table.rows[2][1:3], "62 %", "2"]
    assert any("There are 2 doubtful matches." in words for words in section.paragraphs)
    sure = certain(page_of(study["lab-b"]))
    assert not any("doubtful" in words for words in matches(sure).paragraphs)


def test_the_words_say_from_where_on_a_match_is_doubtful():
    assert f"below {100 * DOUBTFUL_BELOW:.0f} %" in match_section._DOUBTFUL


def test_a_class_that_only_one_site_has_is_pointed_out(study):
    page = changed(page_of(study["lab-a"]), "matches", 1, sites=1)
    words = f"Found at your site only: {page.matches[1].name}."
    assert words in matches(page).paragraphs
    assert words not in matches(page_of(study["lab-a"])).paragraphs
    server = changed(page_of(study["server"]), "found", 1, sites=1)
    assert matches(server).table.rows[1][3] == "one site only"


def test_a_simulation_shows_which_sites_name_went_where(simulation):
    page, trial = simulation.page(), simulation.trials[0]
    section = matches(page)
    sites = section.table.columns[2:]
    assert sites == trial.session.outcome.survivors
    for row in section.table.rows:
        held = {name.removeprefix("! ") for name in row[2:] if name != "–"}
        assert held == {row[1]}  # all were matched rightly
    sent = sum(len(trial.session.sites[name].holdings.classes) for name in sites)
    assert sum(len(row.slots) for row in page.match_map) == sent
    assert "none went into a wrong one" in section.paragraphs[0]


def test_a_simulation_marks_what_went_wrong(simulation):
    page = simulation.page()
    slots = list(page.match_map[0].slots)
    slots[0] = msgspec.structs.replace(slots[0], name="another", right=False)
    slots[1] = msgspec.structs.replace(slots[1], doubtful=True)
    section = matches(changed(page, "match_map", 0, slots=slots))
    assert "✗ another" in section.table.rows[0]
    assert f"! {slots[1].name}" in section.table.rows[0]
    assert " 1 went into a wrong one" in section.paragraphs[0]
    assert "Wrong ones are marked with “✗”." in section.paragraphs


@pytest.mark.parametrize("who", ["server", "lab-a"])
def test_where_names_are_agreed_nothing_had_to_be_matched(summed_by_name, who):
    section = matches(page_of(summed_by_name[who]))
    assert section.paragraphs == [match_section._AGREED]
    assert section.table is None


def test_what_a_site_is_told_is_in_the_threat_models_tables():
    threat_model = (Path(__file__).parents[2] / "docs" / "threat-model.md").read_text()
    row = rf"^\| {re.escape(TOLD)} \| \*\*yes\*\*, of unnamed sites \| of its own classes only"
    assert len(re.findall(row, threat_model, re.M)) == 2  # of hulls and of moments


def test_points_of_classes_that_were_withheld_are_left_out_of_a_sites_page(federated):
    study = Kit.open(federated["lab-a"].parents[1]).study
    names = page_of(federated["lab-a"]).classes
    x = np.array([[0.01 * i, 0.1] for i in range(9)] + [[-0.5, 0.0]])
    held = make_hulls(study, x, np.array([names[0]] * 9 + [names[1]]))
    assert held.withheld == [names[1]]
    assert with_own_points(page_of(federated["lab-a"]), held).points.of == 9


@pytest.mark.slow
def test_marks_stand_out_in_the_browser(chromium, summed, folder):
    page = changed(page_of(summed["lab-a"]), "matches", 0, certainty=62, doubtful=True)
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
