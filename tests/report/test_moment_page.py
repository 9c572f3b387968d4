"""Pages of studies of moments: no points, no hulls, the classifier's regions, and words that claim
no more than the threat model does."""

import json
import re
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest
from browser import Opened
from typer.testing import CliRunner

from fedhull import make_tree, simulate
from fedhull.cli.app import app
from fedhull.errors import InvalidInput
from fedhull.report import moment_words as words
from fedhull.report.html import render
from fedhull.report.moment_steps import moment_steps
from fedhull.report.page_file import page_from_json, page_to_json
from fedhull.report.sections import classes

PARTICIPANTS = ["server", "lab-a"]
THREAT_MODEL = (Path(__file__).parents[2] / "docs" / "threat-model.md").read_text()
OF_MOMENTS = THREAT_MODEL.split("## Studies of moments")[1].split("\n## ")[0]


def result_of(folder):
    return json.loads((folder / "result.json").read_text())


def page_of(folder):
    return page_from_json(result_of(folder)["report"], "it")


def own_classes(folder):
    """What a site's result says of its classes: {number: cells in the sums}."""
    page = page_of(folder)
    cells = {row.name: row.smallest for row in page.by_class}
    return {match.number: cells[match.name] for match in page.matches}


# What is on it


@pytest.mark.parametrize("who", PARTICIPANTS)
def test_there_are_no_hulls_no_bins_and_no_label_code_on_it(summed, who):
    report = result_of(summed[who])["report"]
    assert not {"hulls", "sums", "shared_bin", "tradeoff", "points_guarded"} & report.keys()
    assert "epsilon" not in report["space"]
    text = json.dumps(report)
    assert "label code" not in text
    assert "guard" not in report["parameters"]


def test_the_coordinator_knows_totals_by_class_and_a_site_does_not(summed):
    server, site = page_of(summed["server"]), page_of(summed["lab-a"])
    assert server.moments.cells == result_of(summed["server"])["cells_by_class"]
    assert sum(server.moments.cells) == sum(
        sum(own_classes(summed[name]).values()) for name in ("lab-a", "lab-b", "lab-c")
    )
    assert site.moments.cells is None
    assert (server.private, site.private) == (False, True)
    assert server.classes == [f"class {i + 1}" for i in range(6)]
    assert "lineage" not in (summed["server"] / "report.html").read_text()


def test_all_sides_say_how_many_numbers_travelled_in_each_sum(summed, summed_by_name):
    first, *others = (page_of(folder).moments for folder in summed.values())
    assert first.learn.numbers == 32 * 33 // 2 + 6 * 33
    for other in others:
        assert other.match.numbers == first.match.numbers > 0
        assert other.learn.numbers == first.learn.numbers
    for folder in summed_by_name.values():
        assert page_of(folder).moments.match is None
        assert page_of(folder).moments.learn.numbers == 32 * 33 // 2 + 6 * 33


def test_points_cannot_be_smuggled_into_the_coordinators_page(summed):
    content = result_of(summed["server"])["report"]
    for smuggled in (
        content | {"points": {"xy": "AAAA", "columns": "AA", "of": 1}},
        content | {"hulls": []},
        content | {"moments": content["moments"] | {"cells": [1]}},
    ):
        with pytest.raises(InvalidInput, match="damaged"):
            page_from_json(smuggled, "it")


def test_a_sites_page_shows_its_own_points_which_its_result_does_not_hold(summed):
    folder = summed["lab-b"]
    assert result_of(folder)["report"]["points"] is None
    assert '"points":{"xy":' in (folder / "report.html").read_text()
    for name in ("report.html", "result.json"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600


def test_a_page_survives_its_way_through_a_result_file(summed_simulation):
    page = summed_simulation.page("A study")
    assert page_from_json(json.loads(json.dumps(page_to_json(page))), "it") == page


def test_a_simulation_counts_the_cells_that_were_summed(summed_simulation):
    page, trial = summed_simulation.page(), summed_simulation.trials[0]
    assert sum(page.moments.cells) == sum(site.cells_summed or 0 for site in page.sites)
    assert page.points_total == trial.points_total
    assert [c.passed for c in page.checks] == [True] * len(page.checks)
    gone = [site for site in page.sites if not site.taking_part]
    assert [(site.fate, site.cells_summed) for site in gone] == [("in neither sum: vanished", None)]


def test_what_left_is_said_class_by_class(summed, summed_by_name):
    section = classes(page_of(summed["lab-a"]))
    assert section.table.columns == ["class", "cells", "kept for testing", "in the sums"]
    for _, cells, tested, in_sums in section.table.rows:
        assert int(cells) == int(tested) + int(in_sums)
    assert section.paragraphs[0].endswith("No cell's position left.")
    assert "sketch" not in classes(page_of(summed_by_name["lab-a"])).paragraphs[0]


def test_the_steps_are_six_or_four_where_names_are_agreed(summed, summed_by_name):
    told = [step["title"] for step in moment_steps(page_of(summed["lab-a"]))]
    assert len(told) == 6
    by_name = [step["title"] for step in moment_steps(page_of(summed_by_name["server"]))]
    assert by_name == ["Names are agreed", *told[3:]]


def test_a_model_that_is_learned_again_from_the_totals_has_the_same_page(summed, tmp_path):
    shutil.copytree(summed["server"].parents[1], tmp_path / "server")
    kit = tmp_path / "server"
    run = CliRunner().invoke(app, ["learn", str(kit / "results" / "run")])
    assert run.exit_code == 0, run.output
    first, second = page_of(summed["server"]), page_of(kit / "results" / "run-learned-1")
    assert (second.moments, second.found) == (first.moments, first.found)


# Dropouts between the sums


def test_a_page_says_who_is_in_which_sum(left_between):
    page = page_of(left_between["server"])
    fates = {site.name: (site.fate, site.taking_part) for site in page.sites}
    assert fates["lab-a"] == ("in both sums", True)
    assert fates["lab-c"] == ("in the first sum only: vanished", False)
    assert (page.moments.match.sites, page.moments.learn.sites) == (3, 2)
    assert words.SEEN_IF_ONE_LEFT in words.seen(page)
    site = page_of(left_between["lab-a"])
    assert [each.fate for each in site.sites if not each.taking_part] == ["not in the second sum"]


def test_who_drops_out_between_the_sums_tells_its_counts_as_the_threat_model_says(
    left_between, summed
):
    server = page_of(left_between["server"])
    missing = [row.cells - n for row, n in zip(server.found, server.moments.cells, strict=True)]
    # lab-c holds the same in both studies, under numbers that may differ
    assert sorted(missing) == sorted(own_classes(summed["lab-c"]).values())


def test_of_a_study_that_all_stay_in_that_is_not_said(summed):
    page = page_of(summed["server"])
    assert words.SEEN_IF_ONE_LEFT not in words.seen(page)
    assert words.SEEN_IF_ONE_VANISHED not in words.seen(page)
    assert words.SMALL_COHORT not in words.unprotected(page)


# What its words may claim


@pytest.mark.parametrize(
    "row",
    [
        *words.SEEN,
        words.SLOTS.format(threshold="t"),
        words.TOTALS.format(threshold="t"),
        words.COUNTS,
        words.SEEN_IF_ONE_LEFT,
        words.SEEN_IF_ONE_VANISHED,
    ],
)
def test_what_the_server_sees_is_a_yes_in_the_threat_model(row):
    assert re.search(rf"^\| {re.escape(row)} \| \**yes", OF_MOMENTS, re.M)


@pytest.mark.parametrize(
    "row",
    [
        *words.HIDDEN,
        words.HIDDEN_OF_SLOTS,
        words.HIDDEN_CLASSES,
        words.HIDDEN_ACCURACY,
        words.HIDDEN_IF_ONE_VANISHED,
    ],
)
def test_what_the_server_does_not_see_is_a_no_in_the_threat_model(row):
    assert re.search(rf"^\| {re.escape(row)} \| no", OF_MOMENTS, re.M)


def test_what_is_not_protected_is_said_as_strongly_as_in_the_threat_model():
    plain = re.sub(r"\s+", " ", OF_MOMENTS.replace("*", ""))
    for claim in (
        words.TOTALS_THEMSELVES, words.ONE_SITE, words.AGREED, words.SMALL_COHORT,
        words.DROPOUTS_OF_SKETCHES, words.OWN_RESULT.replace("This page and result.json", "They"),
    ):  # fmt: skip
        for sentence in claim.rstrip(".").split(". "):
            assert sentence in plain
    for sentence in words.DROPOUTS.split(". "):
        assert sentence.rstrip(".") in plain


def test_what_can_be_solved_for_is_said_in_the_threat_models_sentences():
    quoted = re.findall(r"^> (.*)$", THREAT_MODEL.split("what can be solved for\n")[1], re.M)
    assert f"{words.OF_SKETCHES} {words.OF_TOTALS} This is not differential privacy." == (
        " ".join(quoted)
    )


def test_that_no_position_left_is_not_said_where_numbers_may_give_it_away(summed, summed_by_name):
    page = page_of(summed["server"])
    assert "No cell's position left." in words.lead(page)
    assert words.OF_SKETCHES in words.unprotected(page)
    # eight numbers for eight coordinates
    facts = msgspec.structs.replace(page.moments, fewest=4)
    risky = msgspec.structs.replace(page, moments=facts)
    assert "position" not in words.lead(risky)
    assert words.FEW_IN_A_SKETCH in words.unprotected(risky)
    # without sketches, totals alone always hold fewer numbers than their cells have coordinates
    assert "No cell's position left." in words.lead(page_of(summed_by_name["lab-a"]))


def test_pages_of_agreed_names_say_nothing_of_sketches(summed_by_name):
    for who in PARTICIPANTS:
        page = page_of(summed_by_name[who])
        assert words.OF_TOTALS in words.unprotected(page)
        said = " ".join([*words.seen(page), *words.hidden(page), *words.unprotected(page)])
        assert "sketch" not in said
        assert words.AGREED in words.unprotected(page)
        assert page.agreed


def test_the_figures_are_the_studys(summed, summed_simulation):
    shown = {figure["label"]: figure["value"] for figure in words.figures(page_of(summed["lab-a"]))}
    in_sums = sum(own_classes(summed["lab-a"]).values())
    assert shown["of your cells were summed"].startswith(f"{in_sums:,} of ")
    assert shown["features of each cell"] == "32"
    shown = {f["label"]: f["value"] for f in words.figures(summed_simulation.page())}
    assert shown["sites in the last sum"] == "3 of 4"


# In a browser


@pytest.mark.slow
@pytest.mark.parametrize("who", PARTICIPANTS)
def test_pages_of_moments_load_without_complaints_or_requests(chromium, summed, who):
    path = summed[who] / "report.html"
    opened = Opened(chromium, path)
    assert opened.complaints() == []
    assert opened.requests() == [path.as_uri()]
    layers = opened.run("[...document.querySelectorAll('#layers span')].map((s) => s.textContent)")
    own = ["Your own points"] if who == "lab-a" else []
    assert layers == ["Decision regions", "Boundaries", "Class names", *own]
    for number in range(6):
        opened.run(f"fedhull.stepper.go({number})")
        assert opened.run("document.querySelector('.picture').childElementCount") == 1
    assert opened.complaints() == []


@pytest.mark.slow
@pytest.mark.parametrize("lineages", [1, 3])
def test_the_pages_classifier_of_moments_is_pythons(chromium, folder, lineages):
    data = make_tree(500, lineages=lineages, seed=2)
    result = simulate(
        data.x / np.sqrt(2.0), data.y, clients=2, epsilon=0.1, summary="moments", curvature=2.0
    )
    result.write_report(folder / "moments.html")
    opened = Opened(chromium, folder / "moments.html")
    rng = np.random.default_rng(0)
    angle, away = rng.uniform(0, 2 * np.pi, 300), np.tanh(rng.uniform(0, 4, 300))
    points = away[:, None] * np.column_stack((np.cos(angle), np.sin(angle))) / np.sqrt(2.0)
    shown = np.array(opened.run("arguments[0].map(fedhull.probabilities)", points.tolist()))
    assert shown == pytest.approx(result.model.predict_proba(points), abs=1e-7)
    named = result.model.classes_[shown.argmax(axis=1)]
    assert (named == result.model.predict(points)).all()
    assert opened.complaints() == []


@pytest.mark.slow
def test_a_frame_while_dragging_works_out_few_cosines(chromium, summed_simulation, folder):
    summed_simulation.write_report(folder / "fast.html")
    opened = Opened(chromium, folder / "fast.html")
    points = """((coarse) => {
        const { classifier } = fedhull.scene, { logits } = classifier;
        let n = 0;
        classifier.logits = (...given) => { n++; logits(...given); };
        fedhull.viewer.time(coarse);
        classifier.logits = logits;
        return n * classifier.waves;
    })(arguments[0])"""
    assert 100_000 < opened.run(points, True) < 600_000 < opened.run(points, False) < 5_000_000


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 768])
def test_nothing_is_wider_than_a_small_screen(chromium, summed, summed_simulation, folder, width):
    summed_simulation.write_report(folder / "narrow.html", "<i>Hostile</i>")
    for path in (folder / "narrow.html", summed["lab-a"] / "report.html"):
        opened = Opened(chromium, path, width, 800)
        assert opened.run("document.documentElement.scrollWidth") <= width
        assert opened.run("window.hacked") is None
        assert opened.pixels(opened.run("fedhull.scene.classes[0].colour")) >= 0


def test_an_ordinary_page_is_small(summed_simulation):
    assert len(render(summed_simulation.page()).encode()) < 150_000
