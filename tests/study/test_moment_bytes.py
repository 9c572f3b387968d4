"""What a site sends in a study of moments, to the byte, and how close that is to the least."""

import msgspec
import numpy as np
import pytest

from fedhull.protocol.drive import bytes_up
from fedhull.protocol.summation import Layout
from fedhull.rounds.ballot import ballot_layout
from fedhull.study.draft import draft_study, site_name
from fedhull.study.kinds import task_of
from fedhull.study.rehearsal import rehearse
from fedhull.study.study import Classes


def rehearsed(sites, classes, cells, features, agreed=False, align=0):
    """A study in which every site has so many cells, dealt out to classes around the disc."""
    study = draft_study(sites, classes, summary="moments", features=features, align=align)
    names = np.array([f"class-{i}" for i in range(classes)])
    if agreed:
        study = msgspec.structs.replace(study, classes=Classes(names=names.tolist()))
    task, rng, of_class = task_of(study), np.random.default_rng(0), np.arange(cells) % classes
    angles = 2.0 * np.pi * of_class / classes
    middles = 0.8 * np.stack((np.cos(angles), np.sin(angles)), axis=1)
    holdings = {
        site_name(i): task.hold(
            middles + 0.03 * rng.standard_normal((cells, 2)), names[of_class], names
        )
        for i in range(sites)
    }
    return rehearse(study, holdings)


def layouts(rehearsal, name):
    """[(how the vector of a sum is laid out, how many numbers are announced)]."""
    n, site = len(rehearsal.study.clients), rehearsal.sites[name]
    return [
        (each.layout(site.known, passed.totals, n), len(passed.totals))
        for each, passed in zip(site.rounds, site.own.passed, strict=True)
    ]


def ballot_of(rehearsal):
    """How sites said how candidates do."""
    judged = rehearsal.outcome.vote.judged
    return ballot_layout(judged.candidates, len(judged.confusion))


def predicted(study, name, parts, *answer):
    """Bytes of all sums; after the last one sites say how candidates do."""
    answers = [()] * (len(parts) - 1) + [answer]
    return sum(
        bytes_up(study, name, layout, *asked, numbers=numbers)
        for (layout, numbers), asked in zip(parts, answers, strict=True)
    )


@pytest.mark.parametrize("align", [0, 2])
@pytest.mark.parametrize("agreed", [False, True])
@pytest.mark.parametrize("cells", [150, 400])
def test_bytes_are_those_that_were_predicted(agreed, align, cells):
    made = rehearsed(4, 3, cells, 24, agreed, align)
    for name, measured in made.outcome.record.bytes_up.items():
        assert predicted(made.study, name, layouts(made, name), ballot_of(made)) == measured


@pytest.mark.parametrize("align", [0, 2])
def test_a_site_sends_hardly_more_than_its_numbers(align):
    """Ten sites, ten classes, D = 128 and plenty of cells."""
    made = rehearsed(10, 10, 600, 128, align=align)
    assert made.outcome.total.extent.features == 128
    for name, measured in made.outcome.record.bytes_up.items():
        parts = layouts(made, name)
        numbers = sum(n for layout, _ in parts for _, n in layout.parts)
        # what keys, shares and seals need: all messages, without vectors
        frame = predicted(made.study, name, [(Layout(()), n) for _, n in parts])
        ballot = ballot_of(made)
        assert predicted(made.study, name, parts, ballot) == measured
        assert measured <= 1.1 * numbers * 61 / 8 + 1.1 * ballot.packed_size + frame
