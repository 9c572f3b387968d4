"""What pages say of how sites were aligned: a site all about itself, the coordinator nothing of
single sites, a simulation everything."""

import base64
import json
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from browser import Opened

from fedhull import load_model
from fedhull.errors import InvalidInput
from fedhull.kits.results import write_report
from fedhull.report import alignment_section, class_words, hull_words, moment_words
from fedhull.report.alignment_section import alignment
from fedhull.report.moment_steps import moment_steps
from fedhull.report.page_file import page_from_json, page_to_json
from fedhull.report.steps import steps

THREAT_MODEL = (Path(__file__).parents[2] / "docs" / "threat-model.md").read_text()
WHERE_ALIGNED = THREAT_MODEL.split("### Where sites are aligned")[1].split("\n## ")[0]
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
    content = re.search(r'"points":\{"xy":"([^"]*)"', path.read_text())[1]
    return np.frombuffer(base64.b64decode(content.replace("\\u002b", "+")), "<f4").reshape(-1, 2)


# A site's own page


def test_a_site_is_told_each_round_and_where_its_cells_went(folders):
    for name in NAMES:
        page = page_of(folders[name])
        section, found = alignment(page), page.alignment
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
    moved = page.alignment.isometry.apply(cells["x"])
    for path in (folder / "report.html", write_report(folder, tmp_path / "again.html")):
        shown = shown_points(path)
        near = np.abs(shown[:, None] - moved[None]).max(axis=-1).min(axis=1)
        assert len(shown) > 300
        assert near.max() < 1e-6


def test_its_test_points_are_counted_after_the_move(folders):
    for name in NAMES:
        page = page_of(folders[name])
        right = np.trace(np.array(page.testing.confusion))
        assert right == page.correct
        assert right > 0.8 * page.tested


def test_its_model_file_predicts_its_cells_as_they_were_measured(folders):
    folder = folders["lab-c"]
    model, cells = load_model(folder / "model.json"), np.load(folder.parents[3] / "lab-c.npz")
    page = page_of(folder)
    assert (model.site, model.study) == ("lab-c", page.study_hash)
    assert (model.isometry.shift == page.alignment.isometry.shift).all()
    assert (model.predict(cells["x"]) == cells["y"]).mean() > 0.8


def test_a_hulls_page_shows_the_hulls_that_left(aligned_hulls):
    sites = [page_of(aligned_hulls[name]) for name in NAMES]
    server = page_of(aligned_hulls["server"])
    sent = sorted(sorted(hull.bins) for page in sites for hull in page.hulls)
    assert sent == sorted(sorted(hull.bins) for hull in server.hulls)
    for page in sites:
        assert sum(row.corners for row in page.by_class) == page.points_sent


def test_a_site_that_could_not_align_itself_reads_that_it_stayed(aligned):
    page = msgspec.structs.replace(page_of(aligned["lab-a"]), alignment=None)
    assert "stayed where they were measured" in text_of(alignment(page))


def test_a_site_with_classes_of_its_own_only_reads_why_it_stayed(aligned):
    page = page_of(aligned["lab-a"])
    nothing = [type(each)(before=0.0, after=0.0) for each in page.alignment.rounds]
    alone = msgspec.structs.replace(page.alignment, rounds=nothing)
    section = alignment(msgspec.structs.replace(page, alignment=alone))
    assert "No other site has any of its classes" in text_of(section)


@pytest.mark.parametrize(
    "change",
    [{"turn": [[1.0, 0.0], [0.0, -1.0]]}, {"turn": [[2.0, 0.0], [0.0, 1.0]]}, {"shift": [2.0, 0.0]},
     {"shift": [0.0, 0.0, 0.0]}],
)  # fmt: skip
def test_what_is_no_move_and_turn_of_the_disc_is_refused(aligned, change):
    content = page_to_json(page_of(aligned["lab-a"]))
    content["alignment"] |= change
    with pytest.raises(InvalidInput, match="damaged"):
        page_from_json(content, "it")


# The coordinator's page


def test_the_coordinator_reads_the_scatter_over_all_sites_only(folders):
    page = page_of(folders["server"])
    result = json.loads((folders["server"] / "result.json").read_text())
    section = alignment(page)
    assert section.title == "How well the sites fit together"
    assert [row[1] for row in section.table.rows] == [f"{v:.3f}" for v in result["scatter"]]
    assert page.scatter[1] < page.scatter[0]
    assert "nothing of single sites" in text_of(section)
    assert not any(name in text_of(section) for name in NAMES)


def test_no_isometry_can_be_smuggled_into_the_coordinators_page(folders):
    content = page_to_json(page_of(folders["server"]))
    site = page_to_json(page_of(folders["lab-a"]))
    assert "isometry" not in (folders["server"] / "result.json").read_text()
    for smuggled in ({"alignment": site["alignment"]}, {"aligned": [site["alignment"]]}):
        with pytest.raises(InvalidInput, match="damaged"):
            page_from_json(content | smuggled, "it")


# A simulation's page


def test_a_simulation_says_it_site_by_site(aligned_simulation):
    page = aligned_simulation.page()
    section = alignment(page)
    assert section.title == "How the sites were aligned"
    assert [row[0] for row in section.table.rows] == sorted(aligned_simulation.trials[0].survivors)
    assert len(section.table.columns) == 5
    assert page_from_json(json.loads(json.dumps(page_to_json(page))), "it") == page


# Studies without alignment, and results of versions that had none


def test_where_sites_are_not_aligned_no_page_says_anything_of_it(summed, federated, simulated):
    pages = [page_of(folder) for each in (summed, federated) for folder in each.values()]
    for page in [*pages, simulated.page()]:
        assert alignment(page) is None
        words = hull_words if hasattr(page, "hulls") else moment_words
        said = [*words.seen(page), *words.hidden(page), *words.unprotected(page)]
        assert not re.search("centre|isometr|their place", " ".join(said))


def test_a_result_of_a_version_without_alignment_is_still_read(summed, simulated):
    new = {"alignments", "alignment", "scatter", "aligned"}
    for content in (page_to_json(page_of(summed["lab-a"])), page_to_json(simulated.page())):
        old = {key: value for key, value in content.items() if key not in new}
        if "moments" in old:
            old["moments"] = {k: v for k, v in old["moments"].items() if k != "centres"}
        assert alignment(page_from_json(old, "it")) is None


# Words


def test_steps_and_figures_count_the_sums_of_centres(aligned, aligned_by_name, aligned_hulls):
    page = page_of(aligned["lab-a"])
    titles = [step["title"] for step in moment_steps(page)]
    assert titles[:5] == [
        "Where each class lies", "The server finds out which is which", "Each site is told, sealed",
        "Sites align themselves", "Moments, added up inside the masks",
    ]  # fmt: skip
    assert "four masked sums" in moment_words.lead(page)
    assert page.moments.centres.numbers == 4 * 6
    figures = {figure["label"]: figure["note"] for figure in moment_words.figures(page)}
    assert ", 24, 24 and " in figures["features of each cell"]
    page = page_of(aligned_by_name["server"])
    titles = [step["title"] for step in moment_steps(page)]
    assert titles[:2] == ["Names are agreed", "Sites align themselves"]
    assert "three masked sums" in moment_words.lead(page)
    assert "sketch" not in json.dumps(moment_steps(page))
    assert steps(page_of(aligned_hulls["lab-a"]))[0]["title"] == "Sites align themselves"


def test_pages_say_that_centres_were_seen_and_published(folders):
    for who in ("server", "lab-a"):
        page = page_of(folders[who])
        words = hull_words if hasattr(page, "hulls") else moment_words
        assert class_words.CENTRES.format(threshold=page.threshold) in words.seen(page)
        assert class_words.HIDDEN_ISOMETRY in words.hidden(page)
        assert class_words.CENTRES_TELL in words.unprotected(page)
        placed = class_words.PLACES.format(threshold=page.threshold)
        assert (placed in words.seen(page)) == (not page.agreed)
        if words is moment_words:
            assert f"{words.CENTRES_ADD}." in words.unprotected(page)
            assert words.SLOTS.format(threshold=page.threshold) not in words.seen(page)


@pytest.mark.parametrize("row", [class_words.CENTRES, class_words.PLACES])
def test_what_the_server_sees_is_a_yes_in_the_threat_model(row):
    assert re.search(rf"^\| {re.escape(row.format(threshold='t'))} \| \**yes", WHERE_ALIGNED, re.M)


@pytest.mark.parametrize(
    "row",
    [class_words.HIDDEN_ISOMETRY, class_words.HIDDEN_CENTRES, moment_words.HIDDEN_OF_PLACES],
)
def test_what_the_server_does_not_see_is_a_no_in_the_threat_model(row):
    assert re.search(rf"^\| {re.escape(row)} \| no", WHERE_ALIGNED, re.M)


@pytest.mark.parametrize(
    "claim",
    [
        class_words.CENTRES_TELL,
        class_words.OF_PLACES,
        moment_words.DROPOUTS_OF_PLACES,
        moment_words.CENTRES_ADD,
        alignment_section.STAYS,
    ],
)
def test_claims_are_the_threat_models(claim):
    assert claim in re.sub(r"\s+", " ", WHERE_ALIGNED.replace("*", ""))


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
