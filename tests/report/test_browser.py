"""The page in a real browser: it draws, moves as the geometry says, loads nothing, runs no data."""

import itertools
import json

import msgspec
import numpy as np
import pytest
from browser import Opened

from fedhull import distance, make_tree, mobius_add, simulate
from fedhull.report.classes import own_points
from fedhull.report.page import page_from_json
from fedhull.report.render import write_page
from fedhull.report.sections import Disc

pytestmark = pytest.mark.slow


@pytest.fixture
def study(chromium, simulated, folder):
    path = folder / "simulation.html"
    simulated.write_report(path, "<i>Hostile</i>")
    return Opened(chromium, path)


@pytest.mark.parametrize("who", ["server", "lab-a"])
def test_pages_of_a_real_study_load_without_complaints_or_requests(chromium, federated, who):
    path = federated[who] / "report.html"
    opened = Opened(chromium, path)
    assert opened.complaints() == []
    assert opened.requests() == [path.as_uri()]
    assert opened.pixels("#0072B2") > 200
    assert opened.run("document.querySelectorAll('#summary li, #results figure').length") > 12


def test_names_from_data_are_shown_and_not_run(study):
    assert study.complaints() == []
    assert study.requests() == [study.path.as_uri()]
    assert study.run("window.hacked") is None
    shown = study.run("document.getElementById('classes').textContent")
    assert "<script>window.hacked = 1</script>" in shown
    assert "onerror='window.hacked = 1'" in shown
    assert study.run("document.querySelector('h1').textContent") == "<i>Hostile</i>"
    assert study.run("document.images.length") == 0


def test_the_policy_stops_scripts_that_are_not_the_pages_own(study):
    study.run(
        """(() => {
            const script = document.createElement("script");
            script.textContent = "window.hacked = 1";
            document.body.append(script);
        })()"""
    )
    assert study.run("window.hacked") is None
    assert any("Content Security Policy" in words for words in study.complaints())


def test_dragging_is_a_mobius_translation_that_keeps_the_grabbed_point_under_the_pointer(study):
    middle = study.run("fedhull.viewer.canvas.clientWidth") / 2
    ways = [((middle, middle), (middle + 150, middle - 90)), ((200, 260), (420, 300))]
    for start, end in ways:
        before = study.centre
        grabbed = mobius_add(before, study.place(*np.round(start)))
        study.drag(start, end)
        after = study.centre
        assert np.abs(after - before).max() > 0.1
        assert mobius_add(-after, grabbed) == pytest.approx(study.place(*np.round(end)), abs=2e-3)
        for point in np.random.default_rng(0).uniform(-0.45, 0.45, (20, 2)):
            # the study's disc has curvature −2, the page draws the unit disc
            expected = np.sqrt(2.0) * mobius_add(-after / np.sqrt(2.0), point, curvature=2.0)
            assert study.run("fedhull.viewer.see(arguments[0]).place", point.tolist()) == (
                pytest.approx(expected, abs=1e-9)
            )


def test_a_classifier_that_the_script_does_not_know_is_shown_from_a_grid(
    chromium, simulated, folder, monkeypatch
):
    monkeypatch.setattr("fedhull.report.classifier.COMPUTED", ())
    path = folder / "grid.html"
    simulated.write_report(path, "A grid")
    opened = Opened(chromium, path)
    assert opened.complaints() == []
    points = np.random.default_rng(2).uniform(-0.45, 0.45, (200, 2))
    shown = opened.run("arguments[0].map(fedhull.probabilities)", points.tolist())
    named = simulated.model.classes_[np.argmax(shown, axis=1)]
    # the grid has cells: next to a boundary the middle of the cell decides
    assert np.mean(named == simulated.model.predict(points)) > 0.95


def test_distances_do_not_change_on_the_way(study):
    points = np.random.default_rng(1).uniform(-0.45, 0.45, (2, 2))
    study.drag((300, 300), (450, 350))
    places = [study.run("fedhull.viewer.see(arguments[0]).place", p.tolist()) for p in points]
    apart = distance(*points, curvature=2.0) * np.sqrt(2.0)
    assert distance(*np.array(places)) == pytest.approx(apart, rel=1e-9)


def test_scrolling_zooms_about_the_pointer_and_out_again(study):
    spot = np.array([420.0, 250.0])
    before = study.place(*spot)
    study.actions().move_to_element_with_offset(*study.at(*spot)).perform()
    wheel = """fedhull.viewer.canvas.dispatchEvent(new WheelEvent("wheel",
        {deltaY: arguments[0], clientX: arguments[1], clientY: arguments[2], cancelable: true}))"""
    corner = study.run(
        "(({left, top}) => [left, top])(fedhull.viewer.canvas.getBoundingClientRect())"
    )
    study.run(wheel, -400, *(spot + corner).tolist())
    study.settle()
    assert study.run("fedhull.viewer.view.zoom") == pytest.approx(np.e)
    assert study.place(*spot) == pytest.approx(before, abs=5e-3)
    study.run(wheel, 4000, *(spot + corner).tolist())
    study.settle()
    assert study.run("fedhull.viewer.view.zoom") == 1


def test_a_double_click_brings_a_point_to_the_middle_and_reset_brings_all_back(study):
    point = mobius_add(study.centre, study.place(430, 240))
    study.actions().move_to_element_with_offset(*study.at(430, 240)).double_click().perform()
    study.until("Math.hypot(...fedhull.viewer.view.centre) > 0.05 && fedhull.viewer.settled")
    assert study.centre == pytest.approx(point, abs=5e-3)
    study.click("button[aria-label^='Back']")
    study.until("Math.hypot(...fedhull.viewer.view.centre) === 0 && fedhull.viewer.settled")


def test_the_keyboard_reaches_and_moves_the_disc(study):
    from selenium.webdriver import Keys

    study.canvas.send_keys(Keys.ARROW_RIGHT, "+")
    study.settle()
    assert study.centre[0] > 0.05
    assert study.run("fedhull.viewer.view.zoom") > 1
    assert study.run("document.querySelector('.readout').textContent") != ""
    study.canvas.send_keys("0")
    study.until("Math.hypot(...fedhull.viewer.view.centre) === 0")
    study.run("document.getElementById('top').scrollIntoView()")
    reached = set()
    for _ in range(40):
        study.driver.switch_to.active_element.send_keys(Keys.TAB)
        reached.add(study.run("document.activeElement.tagName"))
    assert {"CANVAS", "INPUT", "BUTTON"} <= reached


def test_hovering_tells_place_classes_and_bin_but_no_site(study):
    corner = np.array(study.run("fedhull.scene.hulls[0].corners[0]")) / np.sqrt(2.0)
    x, y = study.run("fedhull.viewer.see(arguments[0]).pixel", corner.tolist())
    study.actions().move_to_element_with_offset(*study.at(x, y)).perform()
    told = study.run("document.querySelector('.readout').textContent")
    assert "from the origin" in told
    assert "bin " in told
    assert "site" not in told


def test_classes_and_layers_can_be_switched(study):
    colour = study.run("fedhull.scene.classes[fedhull.scene.rank[0]].colour")
    before = study.pixels(colour)
    assert before > 200
    study.click("#classes input")
    study.settle()
    assert study.pixels(colour) < before / 10
    study.click("#classes input")
    study.settle()
    assert study.pixels(colour) == before
    for number in range(1, study.run("document.querySelectorAll('#layers input').length") + 1):
        study.click(f"#layers label:nth-of-type({number}) input")
    study.settle()
    assert study.pixels(colour) < before / 10
    assert study.complaints() == []


def test_the_stepper_tells_seven_steps(study):
    titles = []
    for _ in range(7):
        titles.append(study.run("document.querySelector('.telling h3').textContent"))
        assert study.run("document.querySelector('.picture').childElementCount") == 1
        if len(titles) < 7:
            study.click(".words button.main")
    assert [title[0] for title in titles] == list("1234567")
    assert len(set(titles)) == 7
    assert study.run("document.querySelector('.words button.main').disabled")
    assert study.complaints() == []


@pytest.mark.parametrize("method", ["lorentz", "poincare-svm", "euclidean-svm"])
@pytest.mark.parametrize("lineages", [1, 3])
def test_the_pages_classifier_is_pythons(chromium, folder, method, lineages):
    data = make_tree(500, lineages=lineages, seed=2)
    result = simulate(
        data.x / np.sqrt(2.0), data.y, clients=2, epsilon=0.1, method=method, curvature=2.0,
        guard="none", min_cells=1,
    )  # fmt: skip
    result.write_report(folder / "classifier.html")
    opened = Opened(chromium, folder / "classifier.html")
    points = np.random.default_rng(0).uniform(-0.45, 0.45, (40, 2))
    shown = opened.run("arguments[0].map(fedhull.probabilities)", points.tolist())
    assert np.array(shown) == pytest.approx(result.model.predict_proba(points), abs=1e-7)
    assert opened.complaints() == []


def test_reference_points_are_the_models(study, simulated):
    for reference in study.run("fedhull.scene.references"):
        first, second = simulated.model.classes_[reference["of"]]
        p, w, _ = simulated.model.boundary(first, second)
        assert np.array(reference["point"]) == pytest.approx(np.sqrt(2.0) * p, abs=1e-9)
        across = np.array([-w[1], w[0]])
        ends = [mobius_add(np.sqrt(2.0) * p, (1 - 1e-12) * side * across) for side in (1, -1)]
        either_way = itertools.permutations(reference["ends"])
        assert min(np.abs(np.array(found) - ends).max() for found in either_way) < 1e-5


@pytest.mark.parametrize("width", [360, 768])
def test_nothing_is_wider_than_a_small_screen(chromium, study, federated, width):
    for path in (study.path, federated["lab-a"] / "report.html"):
        opened = Opened(chromium, path, width, 800)
        assert opened.run("document.documentElement.scrollWidth") <= width
        assert opened.run("fedhull.viewer.canvas.clientWidth") > 0.8 * min(width, 480)
        assert opened.pixels(opened.run("fedhull.scene.classes[0].colour")) > 50


def test_dark_paper_is_dark(study):
    paper = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
    assert study.run(paper) > 200
    study.resize(1280, 900, dark=True)
    study.until(f"{paper} < 60")
    study.settle()
    assert study.pixels("#1b1f23") > 100  # the disc was drawn anew


def test_a_site_with_a_hundred_thousand_points(chromium, federated, folder):
    page = page_from_json(
        json.loads((federated["lab-a"] / "result.json").read_text())["report"], "it"
    )
    data = make_tree(100_000, seed=4)
    disc = page.find(Disc)
    inside = np.hypot(*data.x.T) < disc.space.radius
    columns = [disc.classes.index(name) for name in data.y[inside]]
    path = folder / "large.html"
    points = own_points(data.x[inside], columns)
    write_page(msgspec.structs.replace(page, sections=[*page.sections, points]), path)
    assert path.stat().st_size < 3_000_000
    opened = Opened(chromium, path)
    assert opened.run("fedhull.scene.points.columns.length") == inside.sum()
    colour = opened.run("fedhull.scene.classes[0].colour")
    before = opened.pixels(colour)
    opened.drag((300, 300), (420, 380))
    assert opened.complaints() == []
    assert opened.pixels(colour) > 200
    opened.click("#layers label:last-of-type input")
    opened.settle()
    assert opened.pixels(colour) < before
