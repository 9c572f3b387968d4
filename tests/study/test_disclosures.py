"""Whoever is asked is told no less than before the words came from the rounds' disclosures.

`fixtures/recorded/texts.json` holds what consent and plan said then of the studies in `recorded`.
"""

import hashlib
import json
import re

import pytest
import recorded

from fedhull.study.kinds import study_from_toml, task_of
from fedhull.study.task import Source

TEXTS = json.loads((recorded.RECORDED / "texts.json").read_text())
PARTIES = "at least 3 sites"
ONE_BY_ONE = f"Masked: read one by one among {PARTIES}, without saying whose they are. Read by the"
IN_TOTAL = f"Masked: opened only as a total over {PARTIES}"

# {a sentence of then: what says the same now}; {0}, {1} are the groups of the sentence.
SAID = {
    # hulls
    r"(\d+) points would leave, ([\d.]+%) as many as you hold apart from those for testing: the "
    r"corners of the hulls of your classes, each rounded to a bin of width ([\d.]+), without names "
    r"or labels, masked": [
        "the corners of its hull, each rounded to a bin of width {2}",
        "classes, without its name: {0} points, {1} as many as you hold apart from those for "
        "testing",
        f"{ONE_BY_ONE} coordinator. At most {{0}} numbers",
    ],
    r"No cell's position leaves; everything sent is the mean of at least (\d+) cells": [
        "No cell's position leaves; every corner is the mean of at least {0} cells",
    ],
    "With each hull goes the number of its cells and a sketch, eight sums over them, by which the "
    "coordinator finds out whose class is whose": [
        "each hull: its number of cells and a sketch, eight sums over them",
    ],
    "The coordinator sees the sum over all sites, from which it reads all sites' hulls, but not "
    "whose they are": ["each hull", f"{ONE_BY_ONE} coordinator"],
    # moments
    "First, for each of these classes, the number of its cells and a sketch, eight sums over them, "
    "leave, masked, without names": [
        "classes, without its name: its number of cells and a sketch, eight sums over them",
        f"eight sums over them. {ONE_BY_ONE} coordinator",
    ],
    "First, for each of these classes, the number of its cells and its place, five numbers for "
    r"where their middle is and how they spread, and if there are (\d+) or more a sketch, eight "
    "sums over them, leave, masked, without names": [
        "classes, without its name: its number of cells and its place, five numbers for where "
        "their middle is and how they spread; of {0} cells or more also a sketch, eight sums over "
        "them",
        f"eight sums over them. {ONE_BY_ONE} coordinator",
    ],
    "The coordinator reads them for all sites' classes, but not whose they are, and finds out "
    "whose class is whose": ["Read by the coordinator", "without saying whose they are"],
    "(Once|Twice) before the last sum, the number of cells of each class and the sum of their "
    "positions leave, masked": [
        ": {0}, the number of cells and the sum of their positions",
        IN_TOTAL,
    ],
    "The coordinator reads the totals over all sites, the centres of the classes, and publishes "
    "them to all sites; of a class that is yours alone nothing leaves here": [
        "published as the centres of all classes",
        "Read by the coordinator and all sites",
        "nothing of a class that one site has alone",
    ],
    "Your cells are then turned and moved as a whole, on this machine, so that they fit the "
    "others'; nobody is told how": [
        "to which each site moves its cells, on its own machine",
        "nobody is told how a site has moved its cells",
    ],
    r"Then sums over all cells, of at most (\d+) functions of where they lie, by class, and of the "
    "products of these functions": [
        ": sums of at most {0} functions of where cells lie (features), by class, and of all "
        "products of two of them",
        "cells that are not held out",
    ],
    "They are masked: the coordinator reads the totals over all sites, and nothing of yours alone, "
    "unless a class is yours alone": [
        f"{IN_TOTAL}; of a class that one site has alone, the total is that site's. Read by the "
        "coordinator"
    ],
    "No cell's position leaves": ["No cell's position leaves"],
    # noise
    r"First, for each of (\d+) classes that a site may have, the number of its cells and a sketch, "
    "eight sums over them, leave, masked, without names, and with noise that this machine adds; "
    "for those that you do not have, noise alone": [
        "Round match, each of {0} classes that a site may have, without its name: its number of "
        "cells and a sketch, eight sums over them, with noise that this machine adds; for a class "
        "that the site lacks, noise alone",
    ],
    r"Then sums over all cells, of (\d+) functions of where they lie, by class, and of the "
    "products of these functions, with your share of the noise": [
        ": sums of {0} functions of where cells lie (features), by class, and of all products of "
        "two of them",
        "noise hides every cell",
        "each adds its share of the noise",
    ],
    "They are masked: the coordinator reads the totals over all sites, noise included": [
        f"{IN_TOTAL}; noise hides every cell (ε = 100, δ = 1e-05). Read by the coordinator"
    ],
    # held-out points
    r"Before the model is published, up to (\d+) candidates are tried on your (\d+) test points, "
    "on this machine": [
        "before the publication, for each of up to {0} candidates",
        "your {1} held-out points",
    ],
    "How many (points of each class )?each (of them )?takes for which( class)?, how sure it is, "
    "and how far (points|they) are from all classes: these numbers leave, masked, and the "
    "coordinator can only read their totals over all sites that it asks": [
        "how many of each class it takes for which, how sure it is, and how far points are from "
        "all classes",
        f"from all classes. {IN_TOTAL}. Read by the coordinator",
    ],
    "How many each takes for which class, how sure it is, and how far they are from all classes: "
    "these numbers leave, masked and with your share of the noise, and the coordinator can only "
    "read their totals": [
        "how many of each class it takes for which, how sure it is, and how far points are from "
        "all classes",
        f"from all classes. {IN_TOTAL}; with your share of the noise. Read by the coordinator",
    ],
    r"The coordinator also gets one masked count: how many of your (\d+) test points the model "
    "gets right, which it can only read as a sum over sites": [
        "your {0} held-out points: after the publication, how many the model gets right, and of "
        f"how many. {IN_TOTAL}. Read by the coordinator. At most 2 numbers",
    ],
    # encoders
    r"Three sums would leave, masked": ["Round genes", "Round axes", "Round anchors"],
    r"The coordinator opens each over all sites that are in it, at least (\d+), and nothing "
    "else:": [
        f"{IN_TOTAL}. Read by the coordinator",
        f"{ONE_BY_ONE} coordinator",
    ],
    r"1\. For each gene, whether you measure it, how many of your (\d+) cells express it, and sums "
    "of its values and of their squares, as they are and logged": [
        "your {0} cells: for each of 60 genes, whether it is measured, how many cells express it, "
        "and sums of its values and of their squares, as they are and logged",
    ],
    r"2\. For each pair of the up to (\d+) genes that vary most, the sum of their products over "
    "your cells: what a principal component analysis has to know": [
        "your 60 cells: for each pair of the up to {0} genes that vary most, the sum of their "
        "products: what a principal component analysis has to know",
    ],
    r"3\. Anchors: the mean, along up to (\d+) axes, of each group of at least (\d+) of your "
    "cells": [
        ": the mean along up to {0} axes (an anchor), published in the encoder",
        "each group of at least {1} of your cells",
    ],
    "The coordinator reads all sites' anchors, but is not told whose they are; they are published "
    "in the encoder, to all sites": [
        "published in the encoder",
        f"{ONE_BY_ONE} coordinator and all sites",
    ],
}
# Numbers that are not said any more, and why.
LOST = {
    "1.": "rounds are called by their names, and no longer numbered",
    "2.": "rounds are called by their names, and no longer numbered",
    "3.": "rounds are called by their names, and no longer numbered",
}


def asked(name, folder):
    """(task, holdings of the first site) of a recorded study."""
    tables, _ = recorded.STUDIES[name]
    files, attached = recorded._data(folder, encoder="encoder" in tables)
    if attached is not None:
        tables = tables.format(genes=hashlib.sha256(attached).hexdigest())
    study = study_from_toml(recorded._head() + tables + recorded._roster())
    task = task_of(study, attached)
    return task, task.read(Source(str(files["lab-a"])))


def plain(paragraph):
    """Without the study's hash, which is held elsewhere."""
    return re.sub(r"hash [0-9a-f]{64}", "hash", paragraph)


def sentences(paragraph):
    """The sentences of a paragraph; what stands before a list is one."""
    return [each.rstrip(".") for each in re.split(r"(?<!^\d)(?<!\n\d)\. ", paragraph)]


def numbers_in(text):
    return re.findall(r"\d[\d,.]*(?:e[+-]?\d+)?(?:%|(?<=\d))", text)


@pytest.mark.parametrize("name", recorded.STUDIES)
def test_every_sentence_of_the_old_consent_is_said_in_the_words_of_the_disclosures(name, tmp_path):
    task, held = asked(name, tmp_path)
    new = [plain(each) for each in task.explain("lab-a", held)]
    text = "\n".join(new)
    for paragraph in map(plain, TEXTS[name]["consent"]):
        if paragraph in new:
            continue
        for sentence in sentences(paragraph):
            found = [(m, now) for old, now in SAID.items() if (m := re.fullmatch(old, sentence))]
            assert found, f"nothing is known to say {sentence!r}"
            for match, now in found:
                groups = [each and each.lower() for each in match.groups()]
                for words in now:
                    assert words.format(*groups) in text, f"{sentence!r} is not said any more"


@pytest.mark.parametrize("name", recorded.STUDIES)
def test_every_number_of_the_old_consent_is_in_the_new_one(name, tmp_path):
    task, held = asked(name, tmp_path)
    new = numbers_in(plain("\n".join(task.explain("lab-a", held))))
    rest = {each.rstrip(".,") for each in new}
    for number in numbers_in(plain("\n".join(TEXTS[name]["consent"]))):
        assert number in LOST or number.rstrip(".,") in rest, number


@pytest.mark.parametrize("name", recorded.STUDIES)
def test_everybody_who_reads_what_leaves_is_named_with_every_disclosure(name, tmp_path):
    task, held = asked(name, tmp_path)
    for each in task.disclosures(held):
        assert each.to_whom in {"the coordinator", "the coordinator and all sites"}
        assert f"Read by {each.to_whom}" in each.sentence
        assert PARTIES in each.sentence


@pytest.mark.parametrize("name", recorded.STUDIES)
def test_plans_have_the_same_numbers_and_doubts_are_the_same(name, tmp_path):
    task, held = asked(name, tmp_path)
    numbers = json.loads(json.dumps(task.plan(held).numbers))
    before = TEXTS[name]["numbers"]
    assert {key: numbers.get(key) for key in before} == before
    # the bytes of the last round are counted apart in studies of hulls, too
    assert numbers.keys() - before.keys() <= {"bytes_up_learn"}
    assert task.doubts(held) == TEXTS[name]["doubts"]
