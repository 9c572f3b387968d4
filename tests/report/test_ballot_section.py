"""What pages say of the ballot, and that it is no more than the threat model does."""

import json

import pytest

from fedhull.report import claims
from fedhull.report.page import page_from_json
from fedhull.report.sections import Confusion, Disc, WhoLearnsWhat
from fedhull.report.verdict import TITLE, NotJudged, Verdict
from fedhull.rounds.outcome import unanswered


@pytest.fixture(scope="module")
def results(federated):
    """{participant: its result}, of a study with a ballot."""
    return {name: json.loads((federated[name] / "result.json").read_text()) for name in federated}


def page_of(results, name):
    return page_from_json(results[name]["report"], "it")


def test_the_coordinators_page_has_accuracy_confusion_and_calibration(results):
    page, told = page_of(results, "server"), results["server"]["ballot"]
    assert page.find(Confusion).confusion == told["confusion"]
    assert sum(level.points for level in page.find(Confusion).reliability) == told["cells"]
    section = page.find(Verdict).text()
    assert section.title == TITLE
    assert f"{told['accuracy']:.1f} % of these cells" in section.paragraphs[0]
    rows = [[row[0], row[2], row[3]] for row in section.table.rows]
    assert rows == [
        [name, f"{recall:.1f} %", f"{precision:.1f} %"]
        for name, recall, precision in zip(
            page.find(Disc).classes, told["recall"], told["precision"], strict=True
        )
    ]


def test_a_sites_page_says_the_same_in_the_sites_own_words(results):
    section, theirs = (page_of(results, name).find(Verdict).text() for name in ("lab-a", "server"))
    assert section.paragraphs[:3] == theirs.paragraphs[:3]
    assert sorted(row[1:] for row in section.table.rows) == sorted(
        row[1:] for row in theirs.table.rows
    )
    assert {row[0] for row in section.table.rows} == set(
        map(str, results["lab-a"]["classes"].values())
    )


def test_a_page_of_a_study_that_was_not_judged_says_why():
    unjudged = NotJudged(why=unanswered(["lab-c"])).text()
    assert unjudged.title != TITLE
    assert unjudged.paragraphs == [
        "The model is the study's default, and not calibrated: lab-c did not answer when "
        "candidates were proposed."
    ]


@pytest.mark.parametrize("name", ["server", "lab-a"])
def test_what_the_server_saw_of_the_ballot_is_said_on_every_page(results, name):
    page = page_of(results, name)
    learned = page.find(WhoLearnsWhat)
    told = " ".join(learned.seen)
    assert "for each of up to 16 candidates: how many of each class it takes for which" in told
    assert claims.BALLOT_OF_ONE in learned.hidden
    assert claims.BALLOT_ASKS in learned.unprotected
