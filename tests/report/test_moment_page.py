"""Pages of studies of moments: no points, no hulls, the classifier's regions, and words that claim
no more than the threat model does."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
from browser import Opened
from typer.testing import CliRunner

from fedhull import make_tree, simulate
from fedhull.cli.app import app
from fedhull.errors import InvalidInput
from fedhull.report import claims
from fedhull.report.classes import account_of_outcome
from fedhull.report.matches import AgreedNames, FoundClasses, OwnMatches
from fedhull.report.page import page_from_json, page_to_json
from fedhull.report.render import render
from fedhull.report.sections import ClassesLeft, Disc, Held, Steps, WhoLearnsWhat

PARTICIPANTS = ["server", "lab-a"]


def result_of(folder):
    return json.loads((folder / "result.json").read_text())


def page_of(folder):
    return page_from_json(result_of(folder)["report"], "it")


def own_classes(folder):
    """What a site's result says of its classes: {number: cells in the sums}."""
    page = page_of(folder)
    cells = {row.name: row.smallest for row in page.find(ClassesLeft).rows}
    return {match.number: cells[match.name] for match in page.find(OwnMatches).rows}


def learned(page):
    """All that the page says of who learns what."""
    told = page.find(WhoLearnsWhat)
    return [*told.seen, *told.hidden, *told.unprotected]


def facts(page, label):
    """Numbers with this label in the steps of the method, in their order."""
    return [value for step in page.find(Steps).steps for value, said in step.facts if label in said]


# What is on it


@pytest.mark.parametrize("who", PARTICIPANTS)
def test_there_are_no_hulls_no_bins_and_no_label_code_on_it(summed, who):
    report = result_of(summed[who])["report"]
    disc = page_of(summed[who]).find(Disc)
    assert disc.hulls == []
    assert disc.space.epsilon is None
    kinds = {each["section"] for each in report["sections"]}
    assert not {"shared-bin", "tradeoff"} & kinds
    text = json.dumps(report)
    assert "label code" not in text
    assert "guard" not in report["parameters"]


def test_the_coordinator_knows_totals_over_all_sites_and_a_site_does_not(summed):
    server, site = page_of(summed["server"]), page_of(summed["lab-a"])
    total = sum(result_of(summed["server"])["cells_by_class"])
    assert facts(server, "cells in the totals") == [f"{total:,}"]
    assert total == sum(
        sum(own_classes(summed[name]).values()) for name in ("lab-a", "lab-b", "lab-c")
    )
    assert facts(site, "cells in the totals") == []
    assert (server.private, site.private) == (False, True)
    assert server.find(Disc).classes == [f"class {i + 1}" for i in range(6)]
    assert "lineage" not in (summed["server"] / "report.html").read_text()


def test_all_sides_say_how_many_numbers_travelled_in_each_round(summed, summed_by_name):
    first, *others = (facts(page_of(folder), "numbers of") for folder in summed.values())
    assert first[1] == f"{32 * 33 // 2 + 6 * 33:,}"
    assert others == [first] * 3
    for folder in summed_by_name.values():
        assert facts(page_of(folder), "numbers of") == [first[1]]


def test_points_cannot_be_smuggled_into_the_coordinators_page(summed):
    content = result_of(summed["server"])["report"]
    points = {"xy": "AAAA", "columns": "AA", "of": 1}
    for smuggled in (
        content | {"points": points},
        content | {"sections": [*content["sections"], {"section": "own-points"} | points]},
        content | {"cells": [1]},
    ):
        with pytest.raises(InvalidInput, match="damaged"):
            page_from_json(smuggled, "it")


def test_a_sites_page_shows_its_own_points_which_its_result_does_not_hold(summed):
    folder = summed["lab-b"]
    sections = result_of(folder)["report"]["sections"]
    assert not any(each["section"] == "own-points" for each in sections)
    assert '"section":"own-points","xy":' in (folder / "report.html").read_text()
    for name in ("report.html", "result.json"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600


def test_a_page_survives_its_way_through_a_result_file(summed_simulation):
    page = summed_simulation.page("A study")
    assert page_from_json(json.loads(json.dumps(page_to_json(page))), "it") == page


def test_a_simulation_counts_the_cells_that_were_summed(summed_simulation):
    page = summed_simulation.page()
    held = page.find(Held).sites
    sent = (text.split(" of ")[0].replace(",", "") for text in held.values())
    summed = [int(cells) for cells in sent if cells != "none"]
    assert facts(page, "cells in the totals") == [f"{sum(summed):,}"]
    assert [c.passed for c in page.checks] == [True] * len(page.checks)
    (gone,) = (site for site in page.sites if not site.taking_part)
    assert gone.fate == "in neither round: vanished"
    assert held[gone.name].startswith("none of ")


def test_what_left_is_said_class_by_class(summed, summed_by_name):
    section = page_of(summed["lab-a"]).find(ClassesLeft).text()
    assert section.table.columns == ["class", "cells", "kept for testing", "in the sums"]
    for _, cells, tested, in_sums in section.table.rows:
        assert int(cells) == int(tested) + int(in_sums)
    assert section.paragraphs[0].endswith("No cell's position left.")
    by_name = page_of(summed_by_name["lab-a"]).find(ClassesLeft).text()
    assert "sketch" not in by_name.paragraphs[0]


def test_the_steps_are_six_or_four_where_names_are_agreed(summed, summed_by_name):
    told = [step.title for step in page_of(summed["lab-a"]).find(Steps).steps]
    assert len(told) == 6
    by_name = [step.title for step in page_of(summed_by_name["server"]).find(Steps).steps]
    assert by_name == ["Names are agreed", *told[3:]]


def test_a_model_that_is_learned_again_from_the_totals_has_the_same_page(summed, tmp_path):
    shutil.copytree(summed["server"].parents[1], tmp_path / "server")
    kit = tmp_path / "server"
    run = CliRunner().invoke(app, ["learn", str(kit / "results" / "run")])
    assert run.exit_code == 0, run.output
    first, second = page_of(summed["server"]), page_of(kit / "results" / "run-learned-1")
    assert second.find(FoundClasses) == first.find(FoundClasses)
    assert facts(second, "")[:4] == facts(first, "")[:4]


# Dropouts between the sums


def test_a_page_says_who_is_in_which_round(left_between):
    page = page_of(left_between["server"])
    fates = {site.name: (site.fate, site.taking_part) for site in page.sites}
    assert fates["lab-a"] == ("in both rounds", True)
    assert fates["lab-c"] == ("in the first round only: vanished", False)
    assert claims.COUNTS_OF_ONE_GONE in page.find(WhoLearnsWhat).seen
    site = page_of(left_between["lab-a"])
    assert [each.fate for each in site.sites if not each.taking_part] == ["not in the second round"]


def test_who_drops_out_between_the_rounds_tells_its_counts_as_the_threat_model_says(
    left_between, summed
):
    found = page_of(left_between["server"]).find(FoundClasses).rows
    cells = result_of(left_between["server"])["cells_by_class"]
    missing = [row.cells - n for row, n in zip(found, cells, strict=True)]
    # lab-c holds the same in both studies, under numbers that may differ
    assert sorted(missing) == sorted(own_classes(summed["lab-c"]).values())


def test_of_a_study_that_all_stay_in_that_is_not_said(summed):
    told = learned(page_of(summed["server"]))
    assert claims.COUNTS_OF_ONE_GONE not in told
    assert claims.VANISHED not in told
    assert claims.TWO_WITH_MOMENTS not in told


# What its words may claim


def test_that_no_position_left_is_not_said_where_numbers_may_give_it_away(
    summed, summed_by_name, summed_simulation
):
    page = page_of(summed["server"])
    assert "No cell's position left." in page.lead
    assert claims.OF_SKETCHES in page.find(WhoLearnsWhat).unprotected
    # eight numbers for eight coordinates
    outcome = summed_simulation.trials[0].session.outcome
    safe = account_of_outcome(outcome)
    assert "No cell's position left." in safe.lead()
    few = dataclasses.replace(outcome.match, counts=np.full_like(outcome.match.counts, 4))
    learned = dataclasses.replace(outcome.learned, match=few)
    risky = account_of_outcome(dataclasses.replace(outcome, learned=learned))
    assert "position" not in risky.lead()
    assert any(told.startswith("Sketches of four cells or fewer") for told in risky.unprotected())
    # without sketches, totals alone always hold fewer numbers than their cells have coordinates
    assert "No cell's position left." in page_of(summed_by_name["lab-a"]).lead


def test_pages_of_agreed_names_say_nothing_of_sketches(summed_by_name):
    for who in PARTICIPANTS:
        page = page_of(summed_by_name[who])
        told = page.find(WhoLearnsWhat)
        assert claims.OF_TOTALS in told.unprotected
        assert "sketch" not in " ".join(learned(page))
        assert claims.RARE_CLASSES in told.unprotected
        assert page.find(AgreedNames)


def test_the_figures_are_the_studys(summed, summed_simulation):
    shown = {figure.label: figure.value for figure in page_of(summed["lab-a"]).figures}
    in_sums = sum(own_classes(summed["lab-a"]).values())
    assert shown["of your cells were summed"].startswith(f"{in_sums:,} of ")
    assert shown["features of each cell"] == "32"
    shown = {figure.label: figure.value for figure in summed_simulation.page().figures}
    assert shown["sites in the last round"] == "3 of 4"


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
