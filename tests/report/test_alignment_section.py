"""What pages say of how sites were aligned: a site all about itself, the coordinator nothing of
single sites, a simulation everything."""

import base64
import json
import re

import msgspec
import numpy as np
import pytest
from browser import Opened

from fedhull import load_model
from fedhull.errors import InvalidInput
from fedhull.kits.results import write_report
from fedhull.report import claims
from fedhull.report.alignment import Alignments, Fit, OwnAlignment, Scatter
from fedhull.report.page import page_from_json, page_to_json
from fedhull.report.sections import Accuracy, ClassesLeft, Confusion, Disc, Steps, WhoLearnsWhat

NAMES = ["lab-a", "lab-b", "lab-c"]
STUDIES = ["aligned", "aligned_by_name", "aligned_hulls"]


@pytest.fixture(params=STUDIES)
def folders(request):
    return request.getfixturevalue(request.param)


def page_of(folder):
    return page_from_json(json.loads((folder / "result.json").read_text())["report"], "it")


def text_of(section):
    rows = [] if section.table is None else section.table.rows
    return " ".join([section.title, *section.paragraphs, *(cell for row in rows for cell in row)])


def shown_points(path):
    """(n, 2), as the page's script gets them."""
    content = re.search(r'"section":"own-points","xy":"([^"]*)"', path.read_text())[1]
    return np.frombuffer(base64.b64decode(content.replace("\\u002b", "+")), "<f4").reshape(-1, 2)


# A site's own page


def test_a_site_is_told_each_round_and_where_its_cells_went(folders):
    for name in NAMES:
        own = page_of(folders[name]).find(OwnAlignment)
        section, found = own.text(), own.found
        assert section.title == "How this site was aligned"
        assert [row[0] for row in section.table.rows] == ["1", "2"]
        assert section.table.rows[1][2] == f"{found.rounds[1].after:.3f}"
        assert found.rounds[1].after < found.rounds[1].before
        assert f"{found.moved:.3f} far" in text_of(section)
        assert f"{abs(found.turned):.1f}°" in text_of(section)
        assert "your points after that" in text_of(section)


def test_its_points_are_drawn_where_its_isometry_moves_them(folders, tmp_path):
    folder = folders["lab-b"]
    page, cells = page_of(folder), np.load(folder.parents[3] / "lab-b.npz")
    moved = page.find(OwnAlignment).found.isometry.apply(cells["x"])
    for path in (folder / "report.html", write_report(folder, tmp_path / "again.html")):
        shown = shown_points(path)
        near = np.abs(shown[:, None] - moved[None]).max(axis=-1).min(axis=1)
        assert len(shown) > 300
        assert near.max() < 1e-6


def test_its_test_points_are_counted_after_the_move(folders):
    for name in NAMES:
        page = page_of(folders[name])
        accuracy, testing = page.find(Accuracy), page.find(Confusion)
        right = np.trace(np.array(testing.confusion))
        assert right == accuracy.correct
        assert right > 0.8 * accuracy.tested


def test_its_model_file_predicts_its_cells_as_they_were_measured(folders):
    folder = folders["lab-c"]
    model, cells = load_model(folder / "model.json"), np.load(folder.parents[3] / "lab-c.npz")
    page = page_of(folder)
    assert (model.site, model.study) == ("lab-c", page.study_hash)
    assert (model.isometry.shift == page.find(OwnAlignment).found.isometry.shift).all()
    assert (model.predict(cells["x"]) == cells["y"]).mean() > 0.8


def test_a_hulls_page_shows_the_hulls_that_left(aligned_hulls):
    sites = [page_of(aligned_hulls[name]) for name in NAMES]
    server = page_of(aligned_hulls["server"])
    sent = sorted(sorted(hull.bins) for page in sites for hull in page.find(Disc).hulls)
    assert sent == sorted(sorted(hull.bins) for hull in server.find(Disc).hulls)
    for page in sites:
        corners = sum(len(hull.bins) for hull in page.find(Disc).hulls)
        assert sum(row.corners for row in page.find(ClassesLeft).rows) == corners


def test_a_site_that_could_not_align_itself_reads_that_it_stayed(aligned):
    own = msgspec.structs.replace(page_of(aligned["lab-a"]).find(OwnAlignment), found=None)
    assert "stayed where they were measured" in text_of(own.text())


def test_a_site_with_classes_of_its_own_only_reads_why_it_stayed(aligned):
    own = page_of(aligned["lab-a"]).find(OwnAlignment)
    nothing = [Fit(before=0.0, after=0.0) for each in own.found.rounds]
    alone = msgspec.structs.replace(own.found, rounds=nothing)
    section = msgspec.structs.replace(own, found=alone).text()
    assert "No other site has any of its classes" in text_of(section)


@pytest.mark.parametrize(
    "change",
    [{"turn": [[1.0, 0.0], [0.0, -1.0]]}, {"turn": [[2.0, 0.0], [0.0, 1.0]]}, {"shift": [2.0, 0.0]},
     {"shift": [0.0, 0.0, 0.0]}],
)  # fmt: skip
def test_what_is_no_move_and_turn_of_the_disc_is_refused(aligned, change):
    content = page_to_json(page_of(aligned["lab-a"]))
    own = next(each for each in content["sections"] if each["section"] == "own-alignment")
    own["found"] |= change
    with pytest.raises(InvalidInput, match="damaged"):
        page_from_json(content, "it")


# The coordinator's page


def test_the_coordinator_reads_the_scatter_over_all_sites_only(folders):
    page = page_of(folders["server"])
    result = json.loads((folders["server"] / "result.json").read_text())
    section = page.find(Scatter).text()
    assert section.title == "How well the sites fit together"
    assert [row[1] for row in section.table.rows] == [f"{v:.3f}" for v in result["scatter"]]
    assert page.find(Scatter).values[1] < page.find(Scatter).values[0]
    assert "nothing of single sites" in text_of(section)
    assert not any(name in text_of(section) for name in NAMES)


def test_no_isometry_can_be_smuggled_into_the_coordinators_page(folders):
    content = page_to_json(page_of(folders["server"]))
    site = page_to_json(page_of(folders["lab-a"]))
    raw = (folders["server"] / "result.json").read_text()
    assert not any(f'"{field}"' in raw for field in ("isometry", "shift", "turn"))
    own = next(each for each in site["sections"] if each["section"] == "own-alignment")
    everything = {"section": "alignments", "times": 2, "scatter": [], "sites": [own["found"]]}
    for smuggled in (own, everything):
        with pytest.raises(InvalidInput, match=r"damaged.*has no place for"):
            page_from_json(content | {"sections": [*content["sections"], smuggled]}, "it")


# A simulation's page


def test_a_simulation_says_it_site_by_site(aligned_simulation):
    page = aligned_simulation.page()
    section = page.find(Alignments).text()
    assert section.title == "How the sites were aligned"
    assert [row[0] for row in section.table.rows] == sorted(aligned_simulation.trials[0].survivors)
    assert len(section.table.columns) == 5
    assert page_from_json(json.loads(json.dumps(page_to_json(page))), "it") == page


# Studies without alignment


def test_where_sites_are_not_aligned_no_page_says_anything_of_it(summed, federated, simulated):
    pages = [page_of(folder) for each in (summed, federated) for folder in each.values()]
    for page in [*pages, simulated.page()]:
        assert not any(page.find(kind) for kind in (OwnAlignment, Scatter, Alignments))
        learned = page.find(WhoLearnsWhat)
        said = [*learned.seen, *learned.hidden, *learned.unprotected]
        assert not re.search("centre|isometr|their place", " ".join(said))


# Words


def test_steps_and_figures_count_the_rounds_of_centres(aligned, aligned_by_name, aligned_hulls):
    page = page_of(aligned["lab-a"])
    steps = page.find(Steps).steps
    assert [step.title for step in steps[:5]] == [
        "Where each class lies", "The coordinator finds out which is which",
        "Each site is told, sealed", "Sites align themselves",
        "Moments, added up inside the masks",
    ]  # fmt: skip
    assert "four masked sums" in page.lead
    assert steps[3].facts[0] == ("24", steps[3].facts[0][1])  # three numbers and a count of each
    notes = {figure.label: figure.note for figure in page.figures}
    assert ", 24, 24 and " in notes["features of each cell"]
    page = page_of(aligned_by_name["server"])
    steps = page.find(Steps).steps
    assert [step.title for step in steps[:2]] == ["Names are agreed", "Sites align themselves"]
    assert "three masked sums" in page.lead
    assert "sketch" not in str(steps)
    page = page_of(aligned_hulls["lab-a"])
    assert page.find(Steps).steps[0].title == "Sites align themselves"


@pytest.mark.parametrize("who", ["server", "lab-a"])
def test_pages_say_that_centres_were_seen_and_published(folders, who):
    page = page_of(folders[who])
    learned, of_moments = page.find(WhoLearnsWhat), not page.find(Disc).hulls
    seen = " ".join(learned.seen)
    assert "published as the centres of all classes" in seen
    assert claims.ISOMETRY in learned.hidden
    assert claims.CENTRES_TELL in learned.unprotected
    assert ("its place, five numbers" in seen) == (page.parameters["class names"] != "agreed")
    if of_moments:
        assert f"{claims.CENTRES_ADD}." in learned.unprotected
        assert "its number of cells and a sketch" not in seen


# In a browser


@pytest.mark.slow
@pytest.mark.parametrize("who", ["server", "lab-a"])
def test_pages_of_aligned_studies_load_without_complaints(chromium, folders, who):
    path = folders[who] / "report.html"
    opened = Opened(chromium, path)
    for number in range(8):
        opened.run(f"fedhull.stepper.go({number})")
        assert opened.run("document.querySelector('.picture').childElementCount") == 1
    assert opened.complaints() == []
    assert opened.requests() == [path.as_uri()]
