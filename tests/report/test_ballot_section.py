"""What pages say of the ballot, and that it is no more than the threat model does."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from fedhull.report import class_words
from fedhull.report.ballot_section import TITLE, ballot
from fedhull.report.class_content import ClassCoordinatorPage
from fedhull.report.narration import narrate
from fedhull.report.page_file import page_from_json
from fedhull.study.classes.outcome import unanswered

THREAT_MODEL = (Path(__file__).parents[2] / "docs" / "threat-model.md").read_text()


@pytest.fixture(scope="module")
def results(federated):
    """{participant: its result}, of a study with a ballot."""
    return {name: json.loads((federated[name] / "result.json").read_text()) for name in federated}


def page_of(results, name):
    return page_from_json(results[name]["report"], "it")


def test_the_coordinators_page_has_accuracy_confusion_and_calibration(results):
    page, told = page_of(results, "server"), results["server"]["ballot"]
    assert isinstance(page, ClassCoordinatorPage)
    assert page.testing.confusion == told["confusion"]
    assert sum(level.points for level in page.testing.reliability) == told["cells"]
    section = ballot(page)
    assert section.title == TITLE
    assert f"{told['accuracy']:.1f} % of these cells" in section.paragraphs[0]
    rows = [[row[0], row[2], row[3]] for row in section.table.rows]
    assert rows == [
        [name, f"{recall:.1f} %", f"{precision:.1f} %"]
        for name, recall, precision in zip(
            page.classes, told["recall"], told["precision"], strict=True
        )
    ]


def test_a_sites_page_says_the_same_in_the_sites_own_words(results):
    section, theirs = ballot(page_of(results, "lab-a")), ballot(page_of(results, "server"))
    assert section.paragraphs[:3] == theirs.paragraphs[:3]
    assert sorted(row[1:] for row in section.table.rows) == sorted(
        row[1:] for row in theirs.table.rows
    )
    assert {row[0] for row in section.table.rows} == set(
        map(str, results["lab-a"]["classes"].values())
    )


def test_a_page_of_a_study_that_was_not_judged_says_why(results):
    page = page_of(results, "server")
    why = unanswered(["lab-c"])
    unjudged = ballot(msgspec.structs.replace(page, verdict=None, unjudged=why))
    assert unjudged.title != TITLE
    assert unjudged.paragraphs == [
        "The model is the study's default, and not calibrated: lab-c did not answer when "
        "candidates were proposed."
    ]


@pytest.mark.parametrize("name", ["server", "lab-a"])
def test_what_the_server_saw_of_the_ballot_is_said_on_every_page(results, name):
    page = page_of(results, name)
    told = narrate(page)
    assert class_words.BALLOT.format(threshold=page.threshold) in told["seen"]
    assert class_words.HIDDEN_BALLOT in told["hidden"]
    assert class_words.BALLOT_ASKS in told["unprotected"]


def test_rows_and_sentences_are_the_threat_models():
    seen = re.escape(class_words.BALLOT.format(threshold="t"))
    # of hulls and of moments
    assert len(re.findall(rf"^\| {seen} \| \*\*yes\*\*", THREAT_MODEL, re.M)) == 2
    hidden = re.escape(class_words.HIDDEN_BALLOT)
    assert len(re.findall(rf"^\| {hidden} \| no", THREAT_MODEL, re.M)) == 2
    plain = re.sub(r"\s+", " ", THREAT_MODEL.replace("*", ""))
    for sentence in class_words.BALLOT_ASKS.rstrip(".").split(". "):
        assert sentence in plain
