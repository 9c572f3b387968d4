"""A coordinator and sites that lie in an encoder study of three sums."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from frames import GENES
from neighbour_studies import (
    LISTED,
    NAMES,
    SIZES,
    Curious,
    changed,
    gene_sums,
    groups_of_cells,
    honest,
    make_parts,
    make_sites,
    make_study,
    other_axis,
    other_gene,
    products,
    run,
)
from parties import identity

from fedhull.codes.power_sums import SlotCoding
from fedhull.data.datasets import lung_all
from fedhull.embed.cells import Cells, Preparation
from fedhull.embed.features import GeneSums, Products, Standardisation
from fedhull.errors import BadMessage, BelowThreshold, DecodingError
from fedhull.protocol import messages as m
from fedhull.protocol.drive import MemoryEngine, drive
from fedhull.protocol.server import ServerSession
from fedhull.rounds import axes as axis_round
from fedhull.rounds.anchors import _NAMES, Anchors
from fedhull.rounds.genes import GeneNews
from fedhull.rounds.round import Known, RoundSummation
from fedhull.study.kinds import task_of

# A server that does not say the same to all, or not in its turn


@pytest.mark.parametrize("victims", [["lab-a"], ["lab-a", "lab-b"]], ids=["one", "half"])
@pytest.mark.parametrize(("number", "other"), [(1, other_gene), (2, other_axis)])
def test_sites_that_are_shown_different_genes_or_axes_upload_nothing_more(number, other, victims):
    def change(n, name, content):
        return other(content) if n == number and name in victims else content

    study = make_study()
    coordinator, engine, outcome = run(study, make_sites(study, make_parts()), change=change)
    assert isinstance(outcome, BelowThreshold)
    assert engine.uploads(number) == NAMES
    # what sites seal for each other under different publications does not open
    assert engine.uploads(number + 1) == []
    assert len(coordinator.opened) == number


def after_the_first_sum(study, sites):
    """(session, coordinator, engine, what it would publish) when the first sum is opened."""
    engine, coordinator = MemoryEngine(sites.values()), Curious(study)
    session = ServerSession(study, coordinator.next_sum(), identity("coordinator"))
    made = coordinator.take(drive(session, engine))
    return session, coordinator, engine, made


def all_sums(study):
    """The three sums of a study, as they are after what an honest coordinator publishes."""
    known = honest()[2].known
    return [
        RoundSummation(round, Known(known.raw[:i], known.news[:i]))
        for i, round in enumerate(task_of(study, LISTED.to_bytes()).rounds)
    ]


def refusals(engine, study, summation):
    session = ServerSession(study, summation, identity("coordinator"))
    replies, failures = engine.step("advertise", session.start())
    assert replies == {}
    return set(failures.values())


def test_no_sum_is_given_twice_or_before_its_turn():
    study = make_study()
    sites = make_sites(study, make_parts())
    sums = all_sums(study)
    engine = MemoryEngine(sites.values())
    assert refusals(engine, study, sums[1]) == {"OutOfTurn"}
    assert refusals(engine, study, sums[2]) == {"OutOfTurn"}
    session, _, engine, made = after_the_first_sum(study, sites)
    assert refusals(engine, study, sums[0]) == {"OutOfTurn"}
    assert engine.step("publish", session.publish(made.content)) == ({}, {})
    assert refusals(engine, study, sums[0]) == {"OutOfTurn"}
    assert refusals(engine, study, sums[2]) == {"OutOfTurn"}
    # nor is anything published twice
    again = engine.step("publish", session.publish(made.content))
    assert again == ({}, dict.fromkeys(NAMES, "OutOfTurn"))


def test_after_the_third_sum_no_other_is_given():
    study, sites, coordinator, engine, _ = honest()
    assert all(site.done for site in sites.values())
    first, _, third = all_sums(study)
    for summation in (first, third):
        assert refusals(engine, study, summation) == {"OutOfTurn"}
    assert len(coordinator.opened) == 3


@pytest.mark.parametrize("name", ["A frame", "Another"], ids=["session", "study"])
def test_a_publication_of_another_session_or_study_is_refused(name):
    other = make_study(name=name)
    session, _, _, made = after_the_first_sum(other, make_sites(other, make_parts(1)))
    replayed = session.publish(made.content)
    study = make_study()
    sites = make_sites(study, make_parts())
    _, _, engine, _ = after_the_first_sum(study, sites)
    replies, failures = engine.step("publish", replayed)
    assert (replies, set(failures.values())) == ({}, {"BadMessage"})
    assert all(site.rounds_done == 0 for site in sites.values())


@pytest.mark.parametrize("which", [1, 2], ids=["axes", "encoder"])
def test_what_belongs_after_a_later_sum_is_of_no_use_after_the_first(which):
    _, finished, *_ = honest()
    later = finished["lab-a"].known.raw[which]
    study = make_study()
    sites = make_sites(study, make_parts())
    session, coordinator, engine, _ = after_the_first_sum(study, sites)
    assert engine.step("publish", session.publish(later)) == ({}, {})
    assert all(isinstance(site.complaint, BadMessage) for site in sites.values())
    for summation in (coordinator.next_sum(), all_sums(study)[0]):
        assert refusals(engine, study, summation) == {"OutOfTurn"}


# A server that publishes genes, scaling or axes of its own making


def test_a_server_that_counts_cells_which_nobody_has_announced_gets_no_second_sum():
    """It could choose more genes than so many cells allow."""

    def forge(news):
        return changed(news, cells=sum(SIZES) + 1) if isinstance(news, GeneNews) else news

    study = make_study()
    sites = make_sites(study, make_parts())
    coordinator, _, outcome = run(study, sites, Curious(study, forge=forge))
    assert isinstance(outcome, BelowThreshold)
    assert len(coordinator.opened) == 1
    # all judge alike: a refusal says nothing of the site
    assert all("have announced 300" in str(site.complaint) for site in sites.values())


def threshold_scaling(rng):
    """Means that are thresholds, and deviations by which values are 10 above them and −10 below."""
    return rng.uniform(0.1, 6.0, 20), np.full(20, 1e-4)


def test_whatever_scaling_is_published_the_second_sum_is_the_same():
    study, sites, *_ = honest()
    plain = {name: axis_round.packed(products(site), 300) for name, site in sites.items()}
    mean, deviation = threshold_scaling(np.random.default_rng(0))

    def forge(news):
        if isinstance(news, GeneNews):
            return changed(news, mean=mean.tobytes(), deviation=deviation.tobytes())
        return news

    scaled = make_sites(study, make_parts())
    coordinator, _, outcome = run(study, scaled, Curious(study, forge=forge))
    assert len(outcome.in_rounds) == 3
    for name, site in scaled.items():
        assert np.array_equal(site.known.news[0].standard(LISTED).mean, mean)
        assert np.array_equal(axis_round.packed(products(site), 300), plain[name])
    assert np.array_equal(
        coordinator.opened[1].total.products, honest()[2].opened[1].total.products
    )


@pytest.mark.usefixtures("data_dir")
def test_a_scaling_would_single_cells_out_if_sites_scaled_before_they_multiply():
    """Why they do not: a gene by which one cell is at +10 and all others are at −10 gives that
    cell, gene by gene."""
    cells = lung_all().cells
    sums = GeneSums.of(cells, counts=True)
    express = np.maximum(sums.express, 1)
    typical = sums.seen / express
    spread = np.sqrt(np.maximum(sums.seen_squares / express - typical**2, 0.0))
    often = np.flatnonzero(sums.express >= 20)
    asking, asked = often[:300], often[300:500]
    standard = Standardisation(
        Preparation([cells.genes[i] for i in (*asking, *asked)], counts=True),
        np.concatenate([(typical + 2.6 * spread)[asking], sums.mean(asked)]),
        np.concatenate([np.full(300, 1e-6), np.full(200, 1.0)]),
    )
    z = standard.standardised(cells)
    opened = Products(len(cells), z.sum(axis=0), z.T @ z)
    above = (opened.sums[:300] + 10 * len(cells)) / 20
    alone = np.flatnonzero(np.isclose(above, 1.0, atol=1e-6))
    assert len(alone) > 20
    read = (opened.products[alone, 300:] + 10 * opened.sums[300:]) / 20
    truly = [z[z[:, gene] > 0, 300:][0] for gene in alone]
    np.testing.assert_allclose(read, truly, atol=1e-6)
    # from sums of what cells express the same scaling gives the same as any other: nothing
    linear = Products.of(standard.preparation, cells)
    rescaled = linear.scaled(standard)
    guessed = rescaled.products[alone, 300:] * standard.deviation[alone, None]
    assert not np.isclose(guessed, truly, atol=1e-2).all(axis=1).any()


@pytest.mark.parametrize("correction", ["none", "centre", "scale"])
def test_no_axes_make_a_sites_refusal_depend_on_its_cells(correction):
    study = make_study(correction=correction)

    def forge(news):
        if isinstance(news, GeneNews):
            return news
        mean, variance = np.full(5, 2.0**20), np.full(5, 2.0**40)
        return changed(news, mean=mean.tobytes(), variance=variance.tobytes())

    sites = make_sites(study, make_parts())
    _, engine, outcome = run(study, sites, Curious(study, forge=forge))
    assert engine.uploads(3) == NAMES
    assert len(outcome.in_rounds) == 3

    def beyond(news):
        if isinstance(news, GeneNews):
            return news
        return changed(news, mean=np.full(5, 2.0**21).tobytes())

    sites = make_sites(study, make_parts())
    run(study, sites, Curious(study, forge=beyond))
    assert {str(site.complaint) for site in sites.values()} == {
        "the server's axes have no mean and variance that cells can have"
    }


def test_axes_that_are_single_genes_tell_what_groups_of_cells_express_on_average():
    """And of a group in which one cell expresses a gene, that cell's value over the group's
    size."""

    def forge(news):
        if isinstance(news, GeneNews):
            return news
        return changed(news, components=np.eye(20)[:5].tobytes())

    study = make_study()
    sites = make_sites(study, make_parts())
    coordinator, *_ = run(study, sites, Curious(study, forge=forge))
    standard = sites["lab-a"].known.news[0].standard(LISTED)
    read = coordinator.opened[2].total.anchors * standard.deviation[:5] + standard.mean[:5]
    expected, alone = [], 0
    for site in sites.values():
        seen = standard.preparation.apply(site.holdings.training).toarray()[:, :5]
        for rows in groups_of_cells(site)[1]:
            assert len(rows) >= 5
            expected.append(seen[rows].mean(axis=0))
            alone += int(((seen[rows] > 0).sum(axis=0) == 1).sum())
    np.testing.assert_allclose(np.sort(read, axis=0), np.sort(expected, axis=0), atol=1e-6)
    assert alone > 0


# Sites that drop out between two sums


def without(name, number):
    """A study from which a site is left out in one sum and later."""
    study = make_study()
    sites = make_sites(study, make_parts())
    step = "advertise" if number == 1 else f"{number}/advertise"
    return study, sites, *run(study, sites, vanish={step: [name]})


def test_a_dropout_after_the_first_sum_tells_how_many_cells_the_site_has_and_means_of_its_genes():
    _, sites, coordinator, _, outcome = without("lab-d", 2)
    assert [len(each) for each in outcome.in_rounds] == [4, 3, 3]
    genes, axes = coordinator.opened[0].total, coordinator.opened[1].total
    assert genes.cells - axes.cells == SIZES[3]
    chosen = coordinator.gene_news.chosen
    truly = gene_sums(sites["lab-d"])
    np.testing.assert_allclose(genes.seen[chosen] - axes.sums, truly.seen[chosen], atol=1e-6)
    squares = genes.seen_squares[chosen] - axes.products.diagonal()
    np.testing.assert_allclose(squares, truly.seen_squares[chosen], atol=1e-6)


def test_a_dropout_after_the_second_sum_tells_how_many_cells_the_site_has_and_roughly_their_mean():
    _, sites, coordinator, _, outcome = without("lab-d", 3)
    assert [len(each) for each in outcome.in_rounds] == [4, 4, 3]
    products, anchors = coordinator.opened[1].total, coordinator.opened[2].total
    n = products.cells - anchors.cells
    assert n == SIZES[3]
    of_all = coordinator.axis_news.axes(20).mean * products.cells
    guessed = (of_all - anchors.anchors.mean(axis=0) * anchors.cells) / n
    truly = (
        sites["lab-d"]
        .known.news[1]
        .axes(20)
        .features(sites["lab-d"].known.news[0].standard(LISTED), sites["lab-d"].holdings.training)
    )
    typical = truly.mean(axis=0)
    assert np.linalg.norm(guessed - typical) < 0.5 * truly.std()


def test_a_dropout_within_a_sum_tells_how_many_cells_the_site_has_and_nothing_of_its_genes():
    study = make_study()
    sites = make_sites(study, make_parts())
    coordinator, engine, _ = run(study, sites, vanish={"upload": ["lab-d"]})
    (size,) = [
        messages["lab-a"] for n, kind, messages, *_ in engine.seen if (n, kind) == (1, "upload")
    ]
    announced = m.decode_to_client(size, study, False, 1).totals
    assert announced[0] - coordinator.opened[0].total.cells == SIZES[3]
    assert sites["lab-d"].session.uploaded is False
    three = np.sum([gene_sums(sites[name]).express for name in NAMES[:3]], axis=0)
    assert np.array_equal(coordinator.opened[0].total.express, three)


def test_of_genes_that_are_not_chosen_a_dropout_between_two_sums_tells_nothing():
    """Two federations that the coordinator cannot tell apart, in which the site that drops out has
    other counts of such a gene."""
    opened, own = [], []
    chosen = honest()[2].gene_news.chosen
    first, second = sorted(set(range(60)) - set(chosen))[:2]
    for swapped in (False, True):
        parts = [Cells(part.x.copy(), GENES) for part in make_parts()]
        parts[3].x[0] = parts[2].x[0]
        parts[2].x[0, [first, second]] = (1, 7) if swapped else (7, 1)
        parts[3].x[0, [first, second]] = (7, 1) if swapped else (1, 7)
        study = make_study()
        sites = make_sites(study, parts)
        coordinator, *_ = run(study, sites, vanish={"2/advertise": ["lab-d"]})
        assert not {first, second} & set(coordinator.gene_news.chosen)
        opened.append([each.total for each in coordinator.opened])
        own.append(gene_sums(sites["lab-d"]).values[first])
    assert abs(own[0] - own[1]) > 1.0
    (genes, axes, anchors), others = opened
    for field in ("cells", "express", "values", "squares", "seen", "seen_squares"):
        one, other = (getattr(each, field) for each in (genes, others[0]))
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose(axes.products, others[1].products, rtol=1e-12)
    np.testing.assert_allclose(anchors.anchors, others[2].anchors, atol=1e-6)


# Sites that lie


def spoiled(site, **change):
    """The site, with something else in its part of the third sum."""
    *before, last = site.rounds
    site.rounds = (*before, _Spoiled(last.study, last.genes, **change))


@dataclass(frozen=True)
class _Spoiled(Anchors):
    make: Callable | None = None
    vector: Callable | None = None

    def own_anchors(self, known, own):
        made = super().own_anchors(known, own)
        return self.make(*made) if self.make else made

    def encode(self, known, own, totals, participants):
        if self.vector is None:
            return super().encode(known, own, totals, participants)
        return self.vector(self.layout(known, totals, participants), own.drawn, totals)


def noise(layout, drawn, totals):
    return layout.add_mask(layout.zeros(), bytes(32))


def too_far(layout, drawn, totals):
    coding = SlotCoding(_NAMES, 5)
    slots = {name: [2**50] * coding.width for name in drawn}
    return layout.vector([coding.encode(slots, totals[0]), [60]])


@pytest.mark.parametrize(
    "change",
    [
        {"make": lambda anchors, cells: (anchors, 0)},
        {"make": lambda anchors, cells: (anchors, 2**59)},
        {"vector": noise},
        {"vector": too_far},
    ],
    ids=["anchors of no cells", "of too many", "noise", "where no cells lie"],
)
def test_garbage_in_the_third_sum_is_refused_and_nothing_is_published(change):
    study = make_study()
    sites = make_sites(study, make_parts())
    spoiled(sites["lab-b"], **change)
    _, engine, outcome = run(study, sites)
    assert isinstance(outcome, DecodingError)
    assert engine.uploads(3) == NAMES
    assert [n for n, kind, *_ in engine.seen if kind == "publish"] == [1, 2]
    assert not any(site.done for site in sites.values())
