"""Pages of encoder studies of three sums: the anchors in the disc, the numbers of the result, and
nothing that its reader does not know."""

import base64
import dataclasses
import json
import re

import msgspec
import numpy as np
import pytest
from browser import Opened
from frames import GENES, make_cells

from fedhull.embed.cells import Cells
from fedhull.embed.embedder import load_embedder
from fedhull.errors import InvalidInput
from fedhull.kits.results import write_report
from fedhull.report import claims
from fedhull.report.encoder import ROUNDS, account_of_outcome
from fedhull.report.encoder_sections import (
    AnchorQuality,
    EncoderFile,
    EncoderRound,
    EncoderRounds,
    NeighboursKept,
    OwnCells,
)
from fedhull.report.head import colluding
from fedhull.report.page import page_from_json, page_to_json
from fedhull.report.pages import coordinator_page, site_page
from fedhull.report.render import render, write_page
from fedhull.report.sections import Anchors, WhoLearnsWhat
from fedhull.study.federated import rehearse_neighbours

PARTICIPANTS = ["server", "lab-a"]
SETTINGS = {"n_genes": 20, "n_components": 5}


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
    assert page.find(EncoderFile).sha256 == result["encoder"]
    chosen = (page.parameters["genes chosen"], page.parameters["axes"])
    assert chosen == (f"{result['genes']}", f"{result['axes']}")
    assert len(page.find(Anchors).points) == result["anchors"]
    kept = page.find(NeighboursKept).kept
    assert kept.kept / kept.of == pytest.approx(result["neighbours_kept"])
    assert f"{kept.percent:.1f} %" in {figure.value for figure in page.figures}


def test_the_coordinators_sums_are_those_of_the_result(framed, page):
    result = result_of(framed["server"])
    rounds = page.find(EncoderRounds).rounds
    assert [each.of for each in rounds] == ["genes", "axes", "anchors"]
    assert [each.sites for each in rounds] == result["sites"] == [3, 3, 2]
    assert [each.cells for each in rounds] == result["cells"]
    assert page.parameters["genes listed"] == f"{result['genes_listed']}"
    assert result["smallest_group"] >= 5
    quality = msgspec.structs.asdict(page.find(AnchorQuality))
    assert quality == pytest.approx(result["quality_of_anchors"])


def test_a_sites_page_says_what_its_own_cells_were(framed, own):
    result, held = result_of(framed["lab-a"]), own.find(OwnCells)
    assert (held.cells, held.held_out) == (result["cells"], result["held_out"]) == (216, 24)
    assert held.missing == result["missing_genes"] == 0
    assert [row[1] for row in held.text().table.rows] == ["216", "24", "0", f"{held.rare}"]


def test_genes_that_a_site_lacks_and_those_that_are_too_rare_are_counted(rehearsed):
    site = rehearsed.sites["site-0001"]
    held = site_page(site, 1, 2).find(OwnCells)
    # genes that a site does not measure are not chosen where there are enough others
    chosen = site.outcome.encoder.preparation.genes
    assert held.missing == sum(gene in GENES[:5] for gene in chosen) == 0
    assert held.rare == site.holdings.rare.sum()


@pytest.mark.parametrize("who", PARTICIPANTS)
def test_the_anchors_lie_where_the_encoder_has_them(framed, who):
    encoder = load_embedder(framed[who] / "encoder.npz")
    points = page_of(framed[who]).find(Anchors).points
    assert np.array_equal(points, encoder.places.astype("<f4"))


def test_anchors_lie_in_the_disc_of_the_studys_curvature(rehearsed):
    anchors = coordinator_page(rehearsed.outcome).find(Anchors)
    assert anchors.space.curvature == 4.0
    assert np.allclose(2.0 * anchors.points, rehearsed.outcome.encoder.places, atol=1e-6)
    assert np.hypot(*anchors.points.T).max() < 0.5


def test_who_took_part_in_which_sums(page, own):
    assert {site.name: site.fate for site in page.sites} == {
        "lab-a": "in all rounds",
        "lab-b": "in all rounds",
        "lab-c": "in the first two rounds only: vanished",
    }
    assert [site.fate for site in own.sites] == ["in the last round"] * 2 + [
        "not in the last round"
    ]
    assert [site.taking_part for site in page.sites] == [site.taking_part for site in own.sites]


def test_settings_are_shown_as_they_came_out(page):
    assert page.parameters == {
        "genes listed": "60",
        "genes chosen": "20",
        "axes": "5",
        "anchors": f"{len(page.find(Anchors).points)}",
        "neighbours": "5 of each anchor",
        "smallest group": "5 cells",
        "correction": "none",
        "threshold": "2 of 3 sites",
    }


# What may not be on it


def test_each_side_shows_what_it_knows_and_no_more(framed, page, own):
    known, all_known = own.find(EncoderRounds).rounds, page.find(EncoderRounds).rounds
    assert [(each.sites, each.cells is None) for each in known] == [
        (None, False), (None, False), (2, True)
    ]  # fmt: skip
    assert [each.cells for each in known[:2]] == [each.cells for each in all_known[:2]]
    assert (page.private, own.private) == (False, True)
    for name in ("report.html", "result.json"):
        assert (framed["lab-a"] / name).stat().st_mode & 0o777 == 0o600


def test_the_coordinators_page_has_no_place_for_what_is_one_sites(page, own):
    with pytest.raises(InvalidInput, match="has no place for OwnCells"):
        msgspec.structs.replace(page, sections=[*page.sections, own.find(OwnCells)])


def test_the_coordinators_page_says_of_sites_only_who_was_there(framed):
    for site in result_of(framed["server"])["report"]["sites"]:
        assert site.keys() == {"name", "fate", "taking_part"}


def test_no_sites_number_of_cells_is_on_the_coordinators_page_if_all_stay(rehearsed):
    page = coordinator_page(rehearsed.outcome)
    cells = [len(site.holdings.training) for site in rehearsed.sites.values()]
    told = json.dumps(
        [
            msgspec.to_builtins(page.figures),
            [section.shown() for section in page.sections if section.text()],
            page.parameters,
        ]
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
    ("section", "changed"),
    [
        ("anchors", {"xy": ""}),
        ("anchors", {"xy": "AAAA"}),
        ("anchors", {"xy": as_text([[0.9, 0.9]])}),
        ("anchors", {"xy": as_text([[np.nan, 0.0]])}),
        ("anchors", {"sizes": [5]}),
        ("anchors", {"space": {"radius": None, "curvature": -1.0}}),
        ("neighbours-kept", {"kept": {"kept": 3, "of": 2}}),
        ("neighbours-kept", {"kept": {"kept": 0, "of": 0}}),
        ("encoder-rounds", {"rounds": [{"of": "genes", "sites": "all"}]}),
        ("encoder-file", {"cells": 216}),
    ],
)
def test_damaged_content_is_refused(page, section, changed):
    content = page_to_json(page)
    page_from_json(content, "it")
    (found,) = (each for each in content["sections"] if each["section"] == section)
    found |= changed
    with pytest.raises(InvalidInput, match="damaged"):
        page_from_json(content, "it")


# What its words say


def test_what_the_coordinator_saw_names_the_studys_own_limits(page):
    learned = page.find(WhoLearnsWhat)
    told = " ".join(learned.seen)
    assert "{" not in told + " ".join(learned.hidden)
    assert told.count("at least 2 sites") == 4
    assert "each group of at least 5 cells" in told
    assert "fewer than 5 cells of a site" in " ".join(learned.hidden)


def test_words_follow_who_stayed(page, own, rehearsed):
    whole = coordinator_page(rehearsed.outcome)
    told, all_told = page.find(WhoLearnsWhat), whole.find(WhoLearnsWhat)
    assert claims.CELLS_OF_ONE_GONE in told.seen
    assert claims.CELLS_OF_ONE_GONE not in all_told.seen
    assert claims.TWO_WITH_CELLS in told.unprotected
    assert claims.TWO_WITH_CELLS not in all_told.unprotected
    assert "2 of them stayed" in page.lead
    assert "All of them stayed" in whole.lead
    assert claims.OWN_CELLS in own.find(WhoLearnsWhat).unprotected
    assert claims.OWN_CELLS not in told.unprotected


def test_a_study_that_is_not_judged_says_so(page, rehearsed):
    unjudged = coordinator_page(rehearsed.outcome)
    kept = unjudged.find(NeighboursKept)
    assert kept.kept is None
    assert "is not known" in kept.text().paragraphs[0]
    told = (" ".join(each.find(WhoLearnsWhat).seen) for each in (page, unjudged))
    assert ["one count: the nearest anchors" in seen for seen in told] == [True, False]
    site = site_page(rehearsed.sites["site-0001"], 1, 2)
    assert site.find(NeighboursKept).kept is None


def test_a_site_that_came_late_does_not_say_what_it_does_not_know(own):
    rounds = EncoderRounds(rounds=[EncoderRound(of=of) for of in ROUNDS], own=True)
    assert [row[1:] for row in rounds.text().table.rows] == [["–", "–"]] * 3


def test_a_site_that_fetches_the_encoder_late_gets_a_page(rehearsed):
    site = rehearsed.sites["site-0001"]
    passed = site.own.passed
    for told in range(3):
        late, before = (
            type(site)(site.study, site.rounds, site.name, site._identity, site.holdings)
            for _ in range(2)
        )
        before.own.passed += [*passed[:told], dataclasses.replace(passed[told], published=b"")]
        late.take_late(passed[-1].published, before._memory())
        page = site_page(late, 1, 2)
        rounds = page.find(EncoderRounds).rounds
        assert [each.cells is not None for each in rounds] == [told > 0, told > 1, False]
        assert len(page.checks) == 3 + (told == 2)
        assert "stayed" not in page.lead + str(page.figures)
        render(page)


def test_distances_that_are_all_alike_have_no_row():
    plain = AnchorQuality(neighbours_kept=1.0).text()
    assert plain.table.rows == [["nearest anchors kept", "100.0 %"]]


@pytest.mark.parametrize(("threshold", "sites"), [(3, "2 or more"), (4, "3 or more")])
def test_how_many_colluding_sites_are_too_many(rehearsed, threshold, sites):
    study = rehearsed.outcome.study
    rules = msgspec.structs.replace(study.protocol, threshold=threshold)
    study = msgspec.structs.replace(study, protocol=rules)
    changed = account_of_outcome(dataclasses.replace(rehearsed.outcome, study=study))
    told = " ".join(changed.learned().unprotected)
    assert f"colludes with {sites} of the sites" in told
    assert colluding(study) == int(sites[0])


# In a browser


@pytest.mark.slow
@pytest.mark.parametrize("who", PARTICIPANTS)
def test_the_anchors_are_drawn(chromium, framed, who):
    path, page = framed[who] / "report.html", page_of(framed[who])
    opened = Opened(chromium, path)
    assert opened.complaints() == []
    assert opened.requests() == [path.as_uri()]
    drawn = opened.run("fedhull.scene.anchors")
    assert np.allclose([each["point"] for each in drawn], page.find(Anchors).points)
    assert opened.run(ON_DISC, page.find(Anchors).points.tolist()) == len(page.find(Anchors).points)
    empty = "[...document.querySelectorAll('section, figure')].filter((node) => !node.textContent)"
    assert opened.run(f"{empty}.length") == 0
    assert opened.run("document.querySelectorAll('#classes, #layers, #steps').length") == 0
    text = opened.run("document.body.innerText")
    assert page.find(EncoderFile).sha256 in text
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
    assert opened.run(ON_DISC, page.find(Anchors).points.tolist()) == len(page.find(Anchors).points)
    x, y = opened.run(
        "fedhull.viewer.see(arguments[0]).pixel", page.find(Anchors).points[0].tolist()
    )
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
    many = msgspec.structs.replace(page.find(Anchors), xy=points.tobytes())
    rest = [each for each in page.sections if not isinstance(each, Anchors)]
    many = msgspec.structs.replace(page, sections=[*rest, many])
    write_page(many, folder / "anchors.html")
    assert (folder / "anchors.html").stat().st_size < 250_000
    opened = Opened(chromium, folder / "anchors.html")
    assert opened.complaints() == []
    assert opened.run("fedhull.viewer.time(true)") < 500
