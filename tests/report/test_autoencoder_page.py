"""Pages of encoder studies: a chart of the loss instead of a disc, and words that claim no more
than the threat model does."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from browser import Opened

from fedhull.report import autoencoder_words as words
from fedhull.report.autoencoder_content import AutoencoderRound
from fedhull.report.autoencoder_pages import _finite
from fedhull.report.html import render, write_page
from fedhull.report.page_file import page_from_json

PARTICIPANTS = ["server", "lab-a"]
THREAT_MODEL = (Path(__file__).parents[2] / "docs" / "threat-model.md").read_text()
ENCODER_STUDIES = THREAT_MODEL.split("## Encoder studies that train an autoencoder")[1].split(
    "\n## "
)[0]


def result_of(folder):
    return json.loads((folder / "result.json").read_text())


def page_of(folder):
    return page_from_json(result_of(folder)["report"], "it")


@pytest.fixture(scope="session")
def page(encoded):
    return page_of(encoded["server"])


# What is on it


@pytest.mark.parametrize("who", PARTICIPANTS)
def test_the_rounds_on_a_page_are_those_of_the_result(encoded, who):
    result, page = result_of(encoded[who]), page_of(encoded[who])
    assert [each.loss for each in page.rounds] == result["loss"]
    assert [each.sites for each in page.rounds] == [3, 3, 2]
    assert page.encoder == result["encoder"]
    assert len(page.rounds) == result["rounds"] == 3


def test_each_side_shows_what_it_knows_and_no_more(encoded):
    server, site = page_of(encoded["server"]), page_of(encoded["lab-a"])
    assert [each.cells for each in server.rounds] == result_of(encoded["server"])["cells"]
    assert all(each.own_loss is None for each in server.rounds)
    assert all(each.cells is None for each in site.rounds)
    assert all(each.own_loss is not None for each in site.rounds)
    assert (server.private, site.private) == (False, True)
    assert (encoded["lab-a"] / "report.html").stat().st_mode & 0o777 == 0o600


def test_the_mean_loss_is_that_of_the_sites_weighted_by_their_cells(encoded):
    one, other = page_of(encoded["lab-a"]), page_of(encoded["lab-b"])
    for mine, theirs in zip(one.rounds[2:], other.rounds[2:], strict=True):
        mean = (one.cells * mine.own_loss + other.cells * theirs.own_loss) / (
            one.cells + other.cells
        )
        assert mine.loss == pytest.approx(mean, abs=1e-4)


def test_who_took_part_in_which_rounds(page):
    assert {site.name: site.fate for site in page.sites} == {
        "lab-a": "in every round",
        "lab-b": "in every round",
        "lab-c": "in the first 2 rounds only: vanished",
    }
    assert (page.n_in_sum, page.n_gone) == (2, 1)


def test_rounds_with_the_same_sites_share_a_row(page):
    table = words.cards(page)[0].table
    assert table.columns == ["rounds", "sites", "cells"]
    assert [row[:2] for row in table.rows] == [["1–2", "3"], ["3", "2"]]
    assert [row[2] for row in table.rows] == [f"{page.rounds[i].cells:,}" for i in (0, 2)]


def test_a_loss_that_is_no_number_does_not_break_the_page(page):
    assert [_finite(loss) for loss in (1.5, float("nan"), float("inf"))] == [1.5, None, None]
    lost = msgspec.structs.replace(page, rounds=[AutoencoderRound(sites=3, loss=None, cells=9)])
    assert "mean loss" not in json.dumps(words.figures(lost))
    render(lost)


def test_pages_are_one_line_in_a_terminal(page):
    assert repr(page) == (
        f"AutoencoderCoordinatorPage('An encoder', 2 of 3 sites, study {page.study_hash[:12]}…)"
    )


# What its words may claim


@pytest.mark.parametrize("row", [*words.SEEN, words.SUM, words.SEEN_IF_ONE_DROPPED_OUT])
def test_what_the_server_sees_is_a_yes_in_the_threat_model(row):
    row = re.escape(row.format(threshold="t"))
    assert re.search(rf"^\| {row} \| \**yes", ENCODER_STUDIES, re.M)


@pytest.mark.parametrize("row", words.HIDDEN)
def test_what_the_server_does_not_see_is_a_no_in_the_threat_model(row):
    assert re.search(rf"^\| {re.escape(row)} \| no", ENCODER_STUDIES, re.M)


def test_what_is_not_protected_is_said_as_strongly_as_in_the_threat_model():
    plain = re.sub(r"\s+", " ", ENCODER_STUDIES.replace("*", ""))
    claims = [words.MEANS, words.DROPOUTS, words.COLLUSION, words.SMALL_COHORT]
    for claim in claims:
        for sentence in claim.split(". "):
            assert sentence.rstrip(".").format(sites="min(2t − n, t − 1)") in plain
    own = words.OWN_RESULT.replace("This page and result.json say", "They say")
    assert own in plain
    assert words.NOT_AUDITED.rstrip(".") in THREAT_MODEL


def test_words_follow_who_stayed(page, encoded):
    assert words.SEEN_IF_ONE_DROPPED_OUT in words.seen(page)
    assert words.SMALL_COHORT in words.unprotected(page)
    assert "2 of them stayed" in words.lead(page)
    whole = msgspec.structs.replace(
        page,
        rounds=page.rounds[:2],
        sites=[msgspec.structs.replace(site, taking_part=True) for site in page.sites],
    )
    assert words.SEEN_IF_ONE_DROPPED_OUT not in words.seen(whole)
    assert words.SMALL_COHORT not in words.unprotected(whole)
    assert "All of them stayed" in words.lead(whole)
    assert words.OWN_RESULT not in words.unprotected(page)
    assert words.OWN_RESULT in words.unprotected(page_of(encoded["lab-a"]))


@pytest.mark.parametrize(("threshold", "sites"), [(2, "one or more"), (3, "2 or more")])
def test_how_many_colluding_sites_are_too_many(page, threshold, sites):
    told = " ".join(words.unprotected(msgspec.structs.replace(page, threshold=threshold)))
    assert f"colludes with {sites} of the sites" in told


# In a browser


@pytest.mark.slow
@pytest.mark.parametrize("who", PARTICIPANTS)
def test_it_has_a_chart_of_the_loss_and_no_disc(chromium, encoded, who):
    path = encoded[who] / "report.html"
    opened = Opened(chromium, path)
    assert opened.complaints() == []
    assert opened.requests() == [path.as_uri()]
    assert opened.run("document.querySelectorAll('canvas, #disc, #steps').length") == 0
    empty = "[...document.querySelectorAll('section, figure')].filter((node) => !node.textContent)"
    assert opened.run(f"{empty}.length") == 0
    lines = 2 if who == "lab-a" else 1
    assert opened.run("document.querySelectorAll('.chart path.curve').length") == lines
    assert opened.run("document.querySelectorAll('.chart circle').length") == 3 * lines
    shown = opened.run(
        "[...document.querySelectorAll('.numbers tbody tr')].map((row) =>"
        " [...row.cells].map((cell) => Number(cell.textContent)))"
    )
    assert [row[1] for row in shown] == pytest.approx(result_of(encoded[who])["loss"], abs=5e-5)
    if who == "lab-a":
        own = [each.own_loss for each in page_of(encoded[who]).rounds]
        assert [row[2] for row in shown] == pytest.approx(own, abs=5e-5)
    text = opened.run("document.body.innerText")
    assert result_of(encoded[who])["encoder"] in text
    assert "fedhull provision study.toml --encoder encoder.npz" in text
    assert "undefined" not in text
    assert "null" not in text


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 768])
def test_nothing_is_wider_than_a_small_screen(chromium, encoded, width):
    opened = Opened(chromium, encoded["lab-a"] / "report.html", width, 800)
    opened.run("document.querySelector('.numbers').open = true")
    assert opened.run("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_it_is_dark_on_dark_paper(chromium, encoded):
    opened = Opened(chromium, encoded["lab-a"] / "report.html")
    ink = "getComputedStyle(document.querySelector('.chart .own')).stroke.match(/\\d+/g)[0]"
    assert opened.run(f"Number({ink})") < 60
    opened.resize(1280, 900, dark=True)
    opened.until(f"Number({ink}) > 200")


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 200])
def test_one_round_and_very_many_can_be_drawn(chromium, page, folder, rounds):
    falling = [AutoencoderRound(sites=3, cells=90, loss=-2.0 - 0.001 * i) for i in range(rounds)]
    path = folder / "rounds.html"
    write_page(msgspec.structs.replace(page, rounds=falling), path)
    opened = Opened(chromium, path)
    assert opened.complaints() == []
    places = opened.run("document.querySelector('.chart path.curve').getAttribute('d')")
    assert len(re.findall("[ML]", places)) == rounds
    assert "NaN" not in opened.run("document.querySelector('.chart').outerHTML")
