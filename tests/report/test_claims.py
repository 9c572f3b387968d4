"""What pages claim is no more than the threat model does: its rows, and its sentences."""

import re
from pathlib import Path

import pytest

from fedhull.report.alignment import STAYS
from fedhull.report.claims import OF_SKETCHES, OF_TOTALS, TABLES

THREAT_MODEL = (Path(__file__).parents[2] / "docs" / "threat-model.md").read_text()
PLAIN = re.sub(r"\s+", " ", re.sub("[*`]", "", THREAT_MODEL))
QUOTED = re.sub(r"\s+", " ", re.sub("[*`>]", "", THREAT_MODEL))
# What stands for the numbers of a study, and for what a page calls itself.
FILLED = {"sites": "min(2t − n, t − 1)", "min_cells": "`min_cells`"}


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_rows_are_answered_as_in_the_threat_model(answer):
    for row in TABLES[answer].values():
        row = re.escape(row.format(**FILLED))
        found = re.findall(rf"^\| {row} \| (.*?) \|", THREAT_MODEL, re.M)
        assert found, row
        assert all(re.match(rf"\**{answer}\b", each) for each in found), row


@pytest.mark.parametrize("name", TABLES["unprotected"])
def test_what_is_not_protected_is_said_as_strongly_as_in_the_threat_model(name):
    claim = TABLES["unprotected"][name]
    claim = re.sub("This page and result.json say", "They say", claim)
    for slots in ("sketches", "places"):
        for sentence in claim.format(**FILLED, slots=slots).split(". "):
            assert sentence.rstrip(".") in QUOTED


def test_what_can_be_solved_for_is_said_in_the_threat_models_sentences():
    quoted = re.findall(r"^> (.*)$", THREAT_MODEL.split("what can be solved for\n")[1], re.M)
    assert f"{OF_SKETCHES} {OF_TOTALS} This is not differential privacy." == " ".join(quoted)


def test_that_the_isometry_stays_is_the_threat_models_sentence():
    assert STAYS in PLAIN
