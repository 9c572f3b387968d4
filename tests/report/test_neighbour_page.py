"""Pages of encoder studies of three sums: the anchors in the disc, the numbers of the result, and
nothing that its reader does not know."""

import base64
import json
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from browser import Opened
from frames import GENES, make_cells

from fedhull.embed.cells import Cells
from fedhull.embed.embedder import load_embedder
from fedhull.errors import InvalidInput
from fedhull.kits.results import write_report
from fedhull.report import neighbour_words as words
from fedhull.report.html import render, write_page
from fedhull.report.neighbour_content import (
    AnchorQuality,
    Kept,
    NeighbourCoordinatorPage,
    NeighbourSitePage,
    NeighbourSum,
)
from fedhull.report.page_file import page_from_json, page_to_json
from fedhull.report.pages import coordinator_page, site_page
from fedhull.study.federated import rehearse_neighbours

PARTICIPANTS = ["server", "lab-a"]
SETTINGS = {"n_genes": 20, "n_components": 5}
THREAT_MODEL = (Path(__file__).parents[2] / "docs" / "threat-model.md").read_text()
OF_THREE_SUMS = THREAT_MODEL.split("## Encoder studies of three sums")[1].split("\n## ")[0]


def result_of(folder):
    return json.loads((folder / "result.json").read_text())


def page_of(folder):
    return page_from_json(result_of(folder)["report"], "it")


@pytest.fixture(scope="module")
def page(framed):
    return page_of(framed["server"])


@pytest.fixture(scope="module")
def own(framed):
    return page_of(framed["lab-a"])


@pytest.fixture(scope="module")
def rehearsed():
    """Nobody drops out of it, nobody holds cells out, a site lacks genes, and the disc is not the
    unit disc."""
    parts = [make_cells(71 + 20 * i, i) for i in range(4)]
    parts[0] = Cells(parts[0].x[:, 5:], GENES[5:])
    return rehearse_neighbours(parts, curvature=4.0, holdout=0.0, **SETTINGS)


# What is on it


@pytest.mark.parametrize("who", PARTICIPANTS)
def test_numbers_on_a_page_are_those_of_the_result(framed, who):
    result, page = result_of(framed[who]), page_of(framed[who])
    assert page.encoder == result["encoder"]
    assert (page.genes, page.axes) == (result["genes"], result["axes"])
    assert page.n_anchors == result["anchors"]
    assert page.kept.kept / page.kept.of == pytest.approx(result["neighbours_kept"])
    assert f"{page.kept.percent:.1f} %" in json.dumps(words.figures(page))


def test_the_coordinators_sums_are_those_of_the_result(framed, page):
    result = result_of(framed["server"])
    assert [each.of for each in page.sums] == ["genes", "axes", "anchors"]
    assert [each.sites for each in page.sums] == result["sites"] == [3, 3, 2]
    assert [each.cells for each in page.sums] == result["cells"]
    assert page.listed == result["genes_listed"]
    assert result["smallest_group"] >= page.group == 5
    assert msgspec.to_builtins(page.quality) == pytest.approx(result["quality_of_anchors"])


def test_a_sites_page_says_what_its_own_cells_were(framed, own):
    result = result_of(framed["lab-a"])
    assert (own.cells, own.held_out) == (result["cells"], result["held_out"]) == (216, 24)
    assert own.missing == result["missing_genes"] == 0
    table = next(card for card in words.cards(own) if card.title == "Your own cells").table
    assert [row[1] for row in table.rows] == ["216", "24", "0", f"{own.rare}"]


def test_genes_that_a_site_lacks_and_those_that_are_too_rare_are_counted(rehearsed):
    site = rehearsed.sites["site-0001"]
    page = site_page(site, 1, 2)
    # genes that a site does not measure are not chosen where there are enough others
    assert page.missing == sum(gene in GENES[:5] for gene in site.encoder.preparation.genes) == 0
    assert page.rare == site.holdings.rare.sum()


@pytest.mark.parametrize("who", PARTICIPANTS)
def test_the_anchors_lie_where_the_encoder_has_them(framed, who):
    encoder = load_embedder(framed[who] / "encoder.npz")
    assert np.array_equal(page_of(framed[who]).points, encoder.places.astype("<f4"))


def test_anchors_lie_in_the_disc_of_the_studys_curvature(rehearsed):
    page = coordinator_page(rehearsed.outcome)
    assert page.space.curvature == 4.0
    assert np.allclose(2.0 * page.points, rehearsed.outcome.encoder.places, atol=1e-6)
    assert np.hypot(*page.points.T).max() < 0.5


def test_who_took_part_in_which_sums(page, own):
    assert {site.name: site.fate for site in page.sites} == {
        "lab-a": "in all sums",
        "lab-b": "in all sums",
        "lab-c": "in the first two sums only: vanished",
    }
    assert [site.fate for site in own.sites] == ["in the last sum"] * 2 + ["not in the last sum"]
    assert (page.n_in_sum, page.n_gone) == (own.n_in_sum, own.n_gone) == (2, 1)


def test_settings_are_shown_as_they_came_out(page):
    assert page.parameters == {
        "genes listed": "60",
        "genes chosen": "20",
        "axes": "5",
        "anchors": f"{page.n_anchors}",
        "neighbours": "5 of each anchor",
        "smallest group": "5 cells",
        "correction": "none",
        "threshold": "2 of 3 sites",
    }


# What may not be on it


def test_each_side_shows_what_it_knows_and_no_more(framed, page, own):
    assert [(each.sites, each.cells is None) for each in own.sums] == [
        (None, False), (None, False), (2, True)
    ]  # fmt: skip
    assert [each.cells for each in own.sums[:2]] == [each.cells for each in page.sums[:2]]
    assert (page.private, own.private) == (False, True)
    for name in ("report.html", "result.json"):
        assert (framed["lab-a"] / name).stat().st_mode & 0o777 == 0o600


def test_the_coordinators_page_has_no_place_for_what_is_one_sites():
    of_a_site = set(NeighbourSitePage.__struct_fields__)
    of_the_coordinator = set(NeighbourCoordinatorPage.__struct_fields__)
    own = {"name", "earlier_sessions", "cells", "held_out", "missing", "rare"}
    assert of_a_site - of_the_coordinator == own
    assert of_the_coordinator - of_a_site == {"quality"}


def test_the_coordinators_page_says_of_sites_only_who_was_there(framed):
    for site in result_of(framed["server"])["report"]["sites"]:
        known = {key for key, value in site.items() if value is not None}
        assert known == {"name", "fate", "taking_part"}


def test_no_sites_number_of_cells_is_on_the_coordinators_page_if_all_stay(rehearsed):
    page = coordinator_page(rehearsed.outcome)
    cells = [len(site.holdings.training) for site in rehearsed.sites.values()]
    told = json.dumps(
        [words.figures(page), msgspec.to_builtins(words.cards(page)), page.parameters]
    )
    assert f'"{sum(cells)}"' in told
    assert not any(f'"{n}"' in told for n in cells)


# Whether it can be read again


@pytest.mark.parametrize("who", PARTICIPANTS)
def test_a_page_survives_its_way_through_a_result_file(framed, tmp_path, who):
    page = page_of(framed[who])
    assert page_from_json(json.loads(json.dumps(page_to_json(page))), "it") == page
    again = write_report(framed[who], tmp_path / "again.html")
    assert again.read_text() == (framed[who] / "report.html").read_text()


def as_text(points):
    return base64.b64encode(np.array(points, dtype="<f4").tobytes()).decode()


@pytest.mark.parametrize(
    "changed",
    [
        {"anchors": ""},
        {"anchors": "AAAA"},
        {"anchors": as_text([[0.9, 0.9]])},
        {"anchors": as_text([[np.nan, 0.0]])},
        {"sizes": [5]},
        {"kept": {"kept": 3, "of": 2}},
        {"kept": {"kept": 0, "of": 0}},
        {"space": {"radius": None, "curvature": -1.0}},
        {"sums": [{"of": "genes", "sites": "all"}]},
        {"cells": 216},
    ],
)
def test_damaged_content_is_refused(page, changed):
    content = page_to_json(page)
    page_from_json(content, "it")
    with pytest.raises(InvalidInput, match="damaged"):
        page_from_json(content | changed, "it")


# What its words say


@pytest.mark.parametrize(
    "row",
    [
        *words.SEEN, words.GENES, words.AXES, words.ANCHORS, words.COUNT,
        words.SEEN_IF_ONE_DROPPED_OUT,
    ],
)  # fmt: skip
def test_what_the_server_sees_is_a_yes_in_the_threat_model(row):
    row = re.escape(row.format(threshold="t", group="g"))
    assert re.search(rf"^\| {row} \| \**yes", OF_THREE_SUMS, re.M)


@pytest.mark.parametrize("row", [*words.HIDDEN, words.RARE])
def test_what_the_server_does_not_see_is_a_no_in_the_threat_model(row):
    row = re.escape(row.format(min_cells="`min_cells`"))
    assert re.search(rf"^\| {row} \| no", OF_THREE_SUMS, re.M)


def test_what_is_not_protected_is_said_as_strongly_as_in_the_threat_model():
    plain = re.sub(r"\s+", " ", re.sub("[*`]", "", OF_THREE_SUMS))
    own = words.OWN_RESULT.replace("This page and result.json say", "They say")
    claims = [words.PRODUCTS, words.OWN_GENES, words.ANCHORS_TELL, words.DROPOUTS, own]
    for claim in (*claims, words.COLLUSION, words.SMALL_COHORT):
        for sentence in claim.split(". "):
            assert sentence.rstrip(".").format(sites="min(2t − n, t − 1)") in plain


def test_what_the_server_saw_names_the_studys_own_limits(page):
    told = " ".join(words.seen(page))
    assert "{" not in told + " ".join(words.hidden(page))
    assert told.count("≥ 2 sites") == 3
    assert "groups of at least 5 cells" in told
    assert "fewer than 5 cells of a site" in " ".join(words.hidden(page))


def test_words_follow_who_stayed(page, own, rehearsed):
    whole = coordinator_page(rehearsed.outcome)
    assert words.SEEN_IF_ONE_DROPPED_OUT in words.seen(page)
    assert words.SEEN_IF_ONE_DROPPED_OUT not in words.seen(whole)
    assert words.SMALL_COHORT in words.unprotected(page)
    assert words.SMALL_COHORT not in words.unprotected(whole)
    assert "2 of them stayed" in words.lead(page)
    assert "All of them stayed" in words.lead(whole)
    assert words.OWN_RESULT in words.unprotected(own)
    assert words.OWN_RESULT not in words.unprotected(page)


def test_a_study_that_is_not_judged_says_so(page, own, rehearsed):
    unjudged = coordinator_page(rehearsed.outcome)
    assert unjudged.kept is None
    assert words.COUNT in words.seen(page)
    assert words.COUNT not in words.seen(unjudged)
    assert "is not known" in words.cards(unjudged)[0].paragraphs[0]
    # the server may have a count of other sites' cells
    assert words.COUNT in words.seen(msgspec.structs.replace(own, kept=None))


def test_a_site_that_came_late_does_not_say_what_it_does_not_know(own):
    sites = [msgspec.structs.replace(site, taking_part=False) for site in own.sites]
    sums = [NeighbourSum(of=each.of) for each in own.sums]
    late = msgspec.structs.replace(own, sites=sites, sums=sums)
    assert "stayed" not in words.lead(late) + json.dumps(words.figures(late))
    assert [row[1:] for row in words.cards(late)[1].table.rows] == [["–", "–"]] * 3
    render(late)


def test_a_site_that_fetches_the_encoder_late_gets_a_page(rehearsed):
    site = rehearsed.sites["site-0001"]
    encoder, published = site.files()["encoder.npz"], site._published
    for told in range(3):
        late = type(site)(site.study, site.name, site._identity, site.genes, site.holdings)
        late._published = published[:told]
        late.take_late(encoder)
        page = site_page(late, 1, 2)
        assert [each.cells is not None for each in page.sums] == [told > 0, told > 1, False]
        assert len(page.checks) == 3 + (told == 2)


def test_distances_that_are_all_alike_have_no_row(page):
    plain = msgspec.structs.replace(page, quality=AnchorQuality(neighbours_kept=1.0))
    assert words.cards(plain)[0].table.rows == [["nearest anchors kept", "100.0 %"]]


@pytest.mark.parametrize(("threshold", "sites"), [(2, "one or more"), (3, "2 or more")])
def test_how_many_colluding_sites_are_too_many(page, threshold, sites):
    told = " ".join(words.unprotected(msgspec.structs.replace(page, threshold=threshold)))
    assert f"colludes with {sites} of the sites" in told


# In a browser


@pytest.mark.slow
@pytest.mark.parametrize("who", PARTICIPANTS)
def test_the_anchors_are_drawn(chromium, framed, who):
    path, page = framed[who] / "report.html", page_of(framed[who])
    opened = Opened(chromium, path)
    assert opened.complaints() == []
    assert opened.requests() == [path.as_uri()]
    drawn = opened.run("fedhull.scene.anchors")
    assert np.allclose([each["point"] for each in drawn], page.points)
    assert opened.run(ON_DISC, page.points.tolist()) == page.n_anchors
    empty = "[...document.querySelectorAll('section, figure')].filter((node) => !node.textContent)"
    assert opened.run(f"{empty}.length") == 0
    assert opened.run("document.querySelectorAll('#classes, #layers, #steps').length") == 0
    text = opened.run("document.body.innerText")
    assert page.encoder in text
    assert "fedhull provision study.toml --encoder encoder.npz" in text
    assert "undefined" not in text
    assert "null" not in text


# How many of these points have another colour than the paper.
ON_DISC = """((points) => {
    const { canvas, see } = fedhull.viewer, context = canvas.getContext("2d");
    const colour = (x, y) => context.getImageData(Math.round(x), Math.round(y), 1, 1).data.join();
    const paper = colour(canvas.width / 2, 4);
    return points.filter((point) => colour(...see(point).pixel) !== paper).length;
})(arguments[0])"""


@pytest.mark.slow
def test_the_disc_of_anchors_moves_and_tells_what_is_under_the_pointer(chromium, framed, page):
    opened = Opened(chromium, framed["server"] / "report.html")
    opened.drag((300, 300), (420, 380))
    assert np.hypot(*opened.centre) > 0.05
    assert opened.run(ON_DISC, page.points.tolist()) == page.n_anchors
    x, y = opened.run("fedhull.viewer.see(arguments[0]).pixel", page.points[0].tolist())
    opened.actions().move_to_element_with_offset(*opened.at(x, y)).perform()
    told = opened.run("document.querySelector('.readout').textContent")
    assert "from the origin" in told
    assert told.endswith("anchor")
    assert "lab-" not in told
    assert opened.complaints() == []


@pytest.mark.parametrize("who", PARTICIPANTS)
def test_times_are_written_for_people(framed, who):
    html = (framed[who] / "report.html").read_text()
    assert not re.search(r"\d{4}-\d\d-\d\dT\d\d", html)
    assert ("2026-01-01 00:00 UTC" in html) == (who != "server")


@pytest.mark.slow
@pytest.mark.parametrize("who", PARTICIPANTS)
def test_what_came_of_it_stands_beside_the_disc(chromium, framed, who):
    opened = Opened(chromium, framed[who] / "report.html", 1400, 900)
    box = "document.querySelector(arguments[0]).getBoundingClientRect().toJSON()"
    page, stage, first = (opened.run(box, each) for each in ("#main", ".stage", "#results .card"))
    # both take half of the page, and nothing between them is left empty
    assert stage["top"] < first["top"] < stage["bottom"]
    assert 0 < first["left"] - stage["right"] < 50
    assert abs(first["right"] - page["right"]) < 2


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 768])
def test_nothing_is_wider_than_a_small_screen(chromium, framed, width):
    opened = Opened(chromium, framed["lab-a"] / "report.html", width, 800)
    assert opened.run("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_dots_are_light_on_dark_paper(chromium, framed):
    opened = Opened(chromium, framed["server"] / "report.html")
    light, dark = "#4d9dca", "#4487ae"
    assert opened.pixels(light) > 100
    opened.resize(1280, 900, dark=True)
    opened.settle()
    assert opened.pixels(dark) > 100


@pytest.mark.slow
def test_very_many_anchors_can_be_drawn(chromium, page, folder):
    rng = np.random.default_rng(0)
    points = (rng.uniform(-0.7, 0.7, (4000, 2))).astype("<f4")
    many = msgspec.structs.replace(page, anchors=points.tobytes(), kept=Kept(kept=1, of=15))
    write_page(many, folder / "anchors.html")
    assert (folder / "anchors.html").stat().st_size < 250_000
    opened = Opened(chromium, folder / "anchors.html")
    assert opened.complaints() == []
    assert opened.run("fedhull.viewer.time(true)") < 500
