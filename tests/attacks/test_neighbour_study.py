"""A coordinator and sites that lie in an encoder study of three sums; what its sums tell even if
nobody lies, and what they do not."""

from functools import cache

import msgspec
import numpy as np
import pytest
from frames import GENES, make_cells
from parties import identity
from scipy.sparse import csr_matrix

from fedhull.data.raw import lung_all
from fedhull.embed.cells import Cells, Preparation
from fedhull.embed.gene_sums import GeneSums
from fedhull.embed.projection import Products, Standardisation
from fedhull.errors import BadMessage, BelowThreshold, DecodingError
from fedhull.protocol import messages as m
from fedhull.protocol.agreement import Cohort
from fedhull.protocol.drive import drive
from fedhull.protocol.keys import Randomness, digest
from fedhull.protocol.memory import MemoryEngine
from fedhull.protocol.server import ServerSession
from fedhull.study.coordinator import Publication, run_study
from fedhull.study.encoder_study import Neighbours, NeighbourStudy
from fedhull.study.kinds import task_of
from fedhull.study.neighbours import axis_sum
from fedhull.study.neighbours.anchor_sum import AnchorContribution, AnchorSummation
from fedhull.study.neighbours.axis_sum import AxisNews, AxisSummation
from fedhull.study.neighbours.coordinator import NeighbourCoordinator
from fedhull.study.neighbours.gene_sum import GeneNews, GeneSummation
from fedhull.study.neighbours.genes import GeneList
from fedhull.study.neighbours.holdings import hold
from fedhull.study.study import Disclosure

NAMES = ["lab-a", "lab-b", "lab-c", "lab-d"]
LISTED = GeneList(tuple(GENES))
SIZES = [60, 70, 80, 90]
USUAL = Disclosure()


def make_study(genes=LISTED, disclosure=USUAL, name="A frame", **settings):
    settings = {"n_genes": 20, "n_components": 5, "holdout": 0.0} | settings
    return NeighbourStudy(
        name=name,
        encoder=Neighbours(genes=genes.hash, **settings),
        disclosure=disclosure,
        protocol=Cohort(threshold=3),
        coordinator=identity("coordinator").public,
        clients={name: identity(name).public for name in NAMES},
    )


def make_parts(seed=0):
    return [make_cells(n, 10 * seed + i) for i, n in enumerate(SIZES)]


def make_sites(study, parts, genes=LISTED):
    task = task_of(study, genes.to_bytes())
    return {
        name: task.site(name, identity(name), hold(study, genes, cells))
        for name, cells in zip(NAMES, parts, strict=True)
    }


class Curious(NeighbourCoordinator):
    """A coordinator that keeps all that it has opened, and publishes, and stands by, whatever
    `forge` makes of genes or axes."""

    def __init__(self, study, genes=LISTED, forge=lambda news: news):
        super().__init__(study, genes)
        self.forge, self.opened = forge, []

    def take(self, opened, seconds):
        self.opened.append(opened)
        made = super().take(opened, seconds)
        if len(self.opened) == 3:
            return made
        name = "_gene_news" if len(self.opened) == 1 else "_axis_news"
        setattr(self, name, self.forge(getattr(self, name)))
        self._published[-1] = getattr(self, name).to_bytes()
        return Publication(self._published[-1])


class Lying(MemoryEngine):
    """A server that shows sites what `change` makes of (number of the sum, site, content)."""

    def __init__(self, sites, study, change=lambda number, name, content: content, vanish=None):
        super().__init__(sites.values(), vanish)
        self.study, self.change = study, change
        self.number, self.seen = 0, []

    def step(self, kind, messages, timeout=0.0):
        self.number += kind == "advertise"
        if kind == "publish":
            messages = {name: self._changed(name, raw) for name, raw in messages.items()}
        replies, failures = super().step(kind, messages, timeout)
        self.seen.append((self.number, kind, dict(messages), dict(replies), dict(failures)))
        return replies, failures

    def _changed(self, name, raw):
        message = m.decode_to_client(raw, self.study)
        content = self.change(self.number, name, message.content)
        changed = msgspec.structs.replace(message, content=content)
        return m.encode_to_client(changed, identity("coordinator"))

    def uploads(self, number):
        """Who has uploaded in a sum."""
        return [
            name
            for n, kind, _, replies, _ in self.seen
            for name in sorted(replies)
            if (n, kind) == (number, "upload")
        ]


def run(study, sites, coordinator=None, genes=LISTED, **engine):
    """(coordinator, engine, what came of it: an outcome or an error)."""
    coordinator, engine = coordinator or Curious(study, genes), Lying(sites, study, **engine)
    try:
        outcome = run_study(coordinator, engine, identity("coordinator"))
    except (BelowThreshold, DecodingError) as problem:
        outcome = problem
    return coordinator, engine, outcome


@cache
def honest():
    """(study, sites, coordinator, engine, outcome) of a study in which nobody lies."""
    study = make_study()
    sites = make_sites(study, make_parts())
    return study, sites, *run(study, sites)


def changed(news, **fields):
    return msgspec.structs.replace(news, **fields)


def other_gene(content):
    news = msgspec.msgpack.decode(content, type=GeneNews)
    unchosen = min(set(range(len(GENES))) - set(news.chosen))
    return changed(news, chosen=[unchosen, *news.chosen[1:]]).to_bytes()


def other_axis(content):
    news = msgspec.msgpack.decode(content, type=AxisNews)
    turned = np.frombuffer(news.components).reshape(-1, 20).copy()
    turned[0] *= -1
    return changed(news, components=turned.tobytes()).to_bytes()


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
    made = coordinator.take(drive(session, engine), 0.0)
    return session, coordinator, engine, made


def refusals(engine, study, summation):
    session = ServerSession(study, summation, identity("coordinator"))
    replies, failures = engine.step("advertise", session.start())
    assert replies == {}
    return set(failures.values())


def test_no_sum_is_given_twice_or_before_its_turn():
    study = make_study()
    sites = make_sites(study, make_parts())
    sums = [
        GeneSummation(study, len(GENES)),
        AxisSummation(study, 20, b""),
        AnchorSummation(study, 5, b""),
    ]
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
    for summation in (GeneSummation(study, 60), AnchorSummation(study, 5, b"")):
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
    assert all(site.sums_done == 0 for site in sites.values())


@pytest.mark.parametrize("which", [1, 2], ids=["axes", "encoder"])
def test_what_belongs_after_a_later_sum_is_of_no_use_after_the_first(which):
    _, finished, *_ = honest()
    later = finished["lab-a"]._published[which]
    study = make_study()
    sites = make_sites(study, make_parts())
    session, coordinator, engine, _ = after_the_first_sum(study, sites)
    assert engine.step("publish", session.publish(later)) == ({}, {})
    assert all(isinstance(site.complaint, BadMessage) for site in sites.values())
    for summation in (coordinator.next_sum(), GeneSummation(study, 60)):
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
    plain = {name: axis_sum.packed(site.products(), 300) for name, site in sites.items()}
    mean, deviation = threshold_scaling(np.random.default_rng(0))

    def forge(news):
        if isinstance(news, GeneNews):
            return changed(news, mean=mean.tobytes(), deviation=deviation.tobytes())
        return news

    scaled = make_sites(study, make_parts())
    coordinator, _, outcome = run(study, scaled, Curious(study, forge=forge))
    assert len(outcome.survivors) == 3
    for name, site in scaled.items():
        assert np.array_equal(site.gene_news.standard(LISTED).mean, mean)
        assert np.array_equal(axis_sum.packed(site.products(), 300), plain[name])
    assert np.array_equal(
        coordinator.opened[1].products.products, honest()[2].opened[1].products.products
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
    assert len(outcome.survivors) == 3

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
    standard = sites["lab-a"].gene_news.standard(LISTED)
    read = coordinator.opened[2].anchors * standard.deviation[:5] + standard.mean[:5]
    expected, alone = [], 0
    for site in sites.values():
        seen = standard.preparation.apply(site.holdings.training).toarray()[:, :5]
        for rows in site.groups_of_cells[1]:
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
    assert [len(each) for each in outcome.survivors] == [4, 3, 3]
    genes, axes = coordinator.opened[0].sums, coordinator.opened[1].products
    assert genes.cells - axes.cells == SIZES[3]
    chosen = coordinator._gene_news.chosen
    truly = sites["lab-d"].gene_sums()
    np.testing.assert_allclose(genes.seen[chosen] - axes.sums, truly.seen[chosen], atol=1e-6)
    squares = genes.seen_squares[chosen] - axes.products.diagonal()
    np.testing.assert_allclose(squares, truly.seen_squares[chosen], atol=1e-6)


def test_a_dropout_after_the_second_sum_tells_how_many_cells_the_site_has_and_roughly_their_mean():
    _, sites, coordinator, _, outcome = without("lab-d", 3)
    assert [len(each) for each in outcome.survivors] == [4, 4, 3]
    products, anchors = coordinator.opened[1].products, coordinator.opened[2]
    n = products.cells - anchors.cells
    assert n == SIZES[3]
    of_all = coordinator._axis_news.axes(20).mean * products.cells
    guessed = (of_all - anchors.anchors.mean(axis=0) * anchors.cells) / n
    truly = (
        sites["lab-d"]
        .axis_news.axes(20)
        .features(sites["lab-d"].gene_news.standard(LISTED), sites["lab-d"].holdings.training)
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
    assert announced[0] - coordinator.opened[0].sums.cells == SIZES[3]
    assert sites["lab-d"].session.uploaded is False
    three = np.sum([sites[name].gene_sums().express for name in NAMES[:3]], axis=0)
    assert np.array_equal(coordinator.opened[0].sums.express, three)


def test_of_genes_that_are_not_chosen_a_dropout_between_two_sums_tells_nothing():
    """Two federations that the coordinator cannot tell apart, in which the site that drops out has
    other counts of such a gene."""
    opened, own = [], []
    chosen = honest()[2]._gene_news.chosen
    first, second = sorted(set(range(60)) - set(chosen))[:2]
    for swapped in (False, True):
        parts = [Cells(part.x.copy(), GENES) for part in make_parts()]
        parts[3].x[0] = parts[2].x[0]
        parts[2].x[0, [first, second]] = (1, 7) if swapped else (7, 1)
        parts[3].x[0, [first, second]] = (7, 1) if swapped else (1, 7)
        study = make_study()
        sites = make_sites(study, parts)
        coordinator, *_ = run(study, sites, vanish={"2/advertise": ["lab-d"]})
        assert not {first, second} & set(coordinator._gene_news.chosen)
        opened.append(coordinator.opened)
        own.append(sites["lab-d"].gene_sums().values[first])
    assert abs(own[0] - own[1]) > 1.0
    (genes, axes, anchors), others = opened
    for field in ("cells", "express", "values", "squares", "seen", "seen_squares"):
        one, other = (getattr(each.sums, field) for each in (genes, others[0]))
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose(axes.products.products, others[1].products.products, rtol=1e-12)
    np.testing.assert_allclose(anchors.anchors, others[2].anchors, atol=1e-6)


# What sums tell though nobody lies


@cache
def lung_genes():
    return GeneList(tuple(map(str, lung_all().cells.genes)))


class Rare:
    """A type of cells of Lung-Human that a coordinator has a profile of, from half of its cells and
    half of all others, and federations of four sites with cells of the other halves."""

    def __init__(self, kind, n_genes=1500, disclosure=USUAL):
        raw, rng = lung_all(), np.random.default_rng(0)
        self.cells, self.rng = raw.cells, rng
        is_rare = raw.labels == kind
        known_rare, self.rare = np.array_split(rng.permutation(np.flatnonzero(is_rare)), 2)
        known, self.others = np.array_split(rng.permutation(np.flatnonzero(~is_rare)), 2)
        self.study = make_study(lung_genes(), disclosure, n_genes=n_genes, n_components=20)
        sums = GeneSums.of(self.cells[known], counts=True)
        self.chosen = sums.variable_genes(n_genes, share=0.0)
        self.preparation = Preparation([lung_genes().names[i] for i in self.chosen], counts=True)
        self.mean, self.deviation = sums.mean(self.chosen), sums.deviation(self.chosen)
        z = (self.preparation.apply(self.cells[known]).toarray() - self.mean) / self.deviation
        rare = self.preparation.apply(self.cells[known_rare]).toarray()
        profile = ((rare - self.mean) / self.deviation).mean(axis=0)
        self.along = np.linalg.solve(np.cov(z.T) + np.eye(n_genes), profile)

    def sites(self, k):
        """What four sites hold, three quarters of the cells that the coordinator does not know; the
        last has k cells of the type."""
        dealt = self.rng.permutation(self.others)[: len(self.others) * 3 // 4]
        rows = np.array_split(dealt, 4)
        rows[-1] = np.concatenate([rows[-1], self.rng.permutation(self.rare)[:k]])
        return [self.cells[each] for each in rows]

    def score(self, products):
        """How much cells vary along the profile, as the opened products say."""
        scaled = products.scaled(Standardisation(self.preparation, self.mean, self.deviation))
        return self.along @ scaled.products @ self.along / scaled.cells

    def score_of(self, parts):
        """The same without a protocol."""
        along, constant = self.along / self.deviation, self.mean @ (self.along / self.deviation)
        total, n = 0.0, 0
        for part in parts:
            seen = self.preparation.apply(hold(self.study, lung_genes(), part).training)
            total += float(((seen @ along - constant) ** 2).sum())
            n += len(part)
        return total / n


def share_told(rare, k):
    """How often the score of a federation with k cells of the type is above that of any of 60
    without."""
    without = max(rare.score_of(rare.sites(0)) for _ in range(60))
    return np.mean([rare.score_of(rare.sites(k)) > without for _ in range(25)])


@pytest.mark.usefixtures("data_dir")
def test_eight_fibroblasts_among_1200_cells_can_be_told_from_products_and_one_cannot():
    rare = Rare("Fibroblast")
    assert share_told(rare, 8) > 0.9
    assert share_told(rare, 1) < 0.3


@pytest.mark.usefixtures("data_dir")
def test_if_genes_that_few_cells_express_left_two_fibroblasts_could_be_told():
    assert share_told(Rare("Fibroblast", disclosure=Disclosure(min_cells=1, group=5)), 2) > 0.9


@pytest.mark.usefixtures("data_dir")
def test_that_is_what_the_coordinator_opens():
    rare = Rare("Fibroblast", 60)

    def forge(news):
        if isinstance(news, GeneNews):
            return changed(
                news,
                chosen=rare.chosen.tolist(),
                mean=rare.mean.tobytes(),
                deviation=rare.deviation.tobytes(),
            )
        return news

    parts = rare.sites(5)
    coordinator = Curious(rare.study, lung_genes(), forge)
    run(rare.study, make_sites(rare.study, parts, lung_genes()), coordinator)
    opened = coordinator.opened[1].products
    assert rare.score(opened) == pytest.approx(rare.score_of(parts), rel=1e-6)


def test_products_of_a_gene_that_five_cells_express_tell_what_these_express_on_average():
    parts = make_parts()
    parts[3] = Cells(parts[3].x.copy(), GENES)
    # a marker of five cells of one site
    for part in parts:
        part.x[:, 0] = 0
    parts[3].x[:5, 0] = [9, 11, 8, 10, 12]

    def forge(news):
        if isinstance(news, GeneNews):
            return changed(news, chosen=list(range(20)))
        return news

    study = make_study()
    sites = make_sites(study, parts)
    coordinator, *_ = run(study, sites, Curious(study, forge=forge))
    opened = coordinator.opened[1].products
    seen = Preparation(GENES[:20], counts=True).apply(sites["lab-d"].holdings.training)
    truly = np.asarray(seen.toarray())[:5, 1:].mean(axis=0)
    read = opened.products[0, 1:] / opened.sums[0]
    assert np.corrcoef(read, truly)[0, 1] > 0.99


def test_cells_that_alone_express_as_many_genes_as_they_are_can_be_read_from_products():
    """Products of these genes give the cells up to a rotation, and where cells express nothing
    gives the rotation."""
    parts, rng, g = make_parts(), np.random.default_rng(5), 40
    for part in parts:
        part.x[:, :6] = 0
    parts[3].x[:5, :6] = rng.poisson(8, (5, 6)) + 1

    def forge(news):
        if isinstance(news, GeneNews):
            ones = np.ones(g).tobytes()
            return changed(news, chosen=list(range(g)), mean=ones, deviation=ones)
        return news

    study = make_study(n_genes=g)
    sites = make_sites(study, parts)
    coordinator, *_ = run(study, sites, Curious(study, forge=forge))
    products = coordinator.opened[1].products.products
    squared, turn = np.linalg.eigh(products[:6, :6])
    assert squared[0] < 1e-6 < squared[1]
    rotated = (turn[:, 1:] / np.sqrt(squared[1:])).T @ products[:6]
    # a cell is the direction at right angles to many genes: those that it does not express
    fours = np.array([rng.choice(np.arange(6, g), 4, replace=False) for _ in range(10_000)])
    normals = np.linalg.svd(rotated.T[fours])[2][:, -1]
    silent = (np.abs(normals @ rotated) < 1e-5).sum(axis=1)
    read = np.abs(normals[silent >= 7] @ rotated)
    truly = Preparation(GENES[:g], counts=True).apply(sites["lab-d"].holdings.training)
    apart = np.abs(truly.toarray()[:5, None] - read).max(axis=2)
    assert (apart.min(axis=1) < 1e-3).all()


@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize("kind", ["B cell", "Fibroblast", "Transformed epi"])
def test_no_anchor_is_of_three_cells_of_a_rare_type_alone(kind):
    raw, rng = lung_all(), np.random.default_rng(1)
    is_rare = raw.labels == kind
    study = make_study(lung_genes(), n_genes=200, n_components=20)
    rows = np.array_split(rng.permutation(np.flatnonzero(~is_rare))[:1200], 4)
    rows[3] = np.concatenate([rows[3], rng.permutation(np.flatnonzero(is_rare))[:3]])
    sites = make_sites(study, [raw.cells[each] for each in rows], lung_genes())
    run(study, sites, genes=lung_genes())
    largest = 0.0
    for name, own in zip(NAMES, rows, strict=True):
        for group in sites[name].groups_of_cells[1]:
            largest = max(largest, float(is_rare[own[group]].mean()))
    assert 0.0 < largest <= 3 / 5


@pytest.mark.parametrize("expressing", [1, 2, 3, 4])
def test_a_gene_that_fewer_than_five_cells_of_a_site_express_leaves_nothing_in_any_sum(expressing):
    _, finished, *_ = honest()
    study, published = make_study(), finished["lab-a"]._published
    gene = finished["lab-a"].gene_news.chosen[3]
    x = make_parts()[0].x.copy()
    x[:, gene] = 0
    some = x.copy()
    some[7 : 7 + expressing, gene] = [40, 1, 3, 200][:expressing]
    vectors = []
    for counts in (x, some):
        held = hold(study, LISTED, Cells(csr_matrix(counts), GENES))
        task = task_of(study, LISTED.to_bytes())
        sent = []
        for done in range(3):
            standing = msgspec.msgpack.encode({"published": published[:done]})
            site = task.site("lab-a", identity("lab-a"), held, Randomness(bytes(32)), standing)
            contribution = site.contribution()
            drawn = contribution.draw(0, Randomness(bytes(32)))
            totals = (300,) if done < 2 else (96,)
            assert contribution.announced <= totals
            sent.append((contribution.announced, contribution.vector(drawn, totals, 4)))
        vectors.append(sent)
    for (announced, one), (other_announced, other) in zip(*vectors, strict=True):
        assert announced == other_announced
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    # five would leave something
    some[7:12, gene] = 3
    assert not hold(study, LISTED, Cells(csr_matrix(some), GENES)).rare[gene]


# Whose an anchor is


def test_the_names_of_anchors_say_nothing_of_their_order_or_of_whose_they_are():
    """Over many sessions: where a site's anchors stand among all, in the order of their names, and
    how often neighbours in that order are one site's."""
    contribution = AnchorContribution(
        AnchorSummation(make_study(), 5, b""), lambda: (np.zeros((8, 5)), 40)
    )
    ranks, neighbours = np.zeros((8, 32)), []
    for session in range(400):
        roots = [digest(bytes([place]), session.to_bytes(2, "big")) for place in range(4)]
        names = [contribution.draw(0, Randomness(root)) for root in roots]
        order = np.argsort(np.concatenate(names))
        rank = np.argsort(order)
        for anchor in range(8):
            ranks[anchor, rank[anchor]] += 1
        site = order // 8
        neighbours.append(float((site[1:] == site[:-1]).mean()))
    # χ² with 31 degrees of freedom: that of a uniform rank exceeds 70 once in 10,000 times
    assert (((ranks - 12.5) ** 2 / 12.5).sum(axis=1) < 70).all()
    assert abs(np.mean(neighbours) - 7 / 31) < 0.02


def test_of_an_anchor_nothing_leaves_but_where_it_lies_and_not_how_many_cells_it_stands_for():
    """All groups of a site are about equally large, so that sizes would tell which are its own."""
    study, sites, coordinator, *_ = honest()
    sizes = {name: {len(rows) for rows in site.groups_of_cells[1]} for name, site in sites.items()}
    assert all(max(each) - min(each) <= 1 for each in sizes.values())
    opened = coordinator.opened[2]
    expected = np.concatenate([site.anchors[0] for site in sites.values()])
    expected = np.rint(expected * 2**24) / 2**24
    assert opened.anchors.tolist() == sorted(expected.tolist())
    assert opened.cells == sum(SIZES)
    assert AnchorSummation(study, 5, b"").coding.width == 5


def test_anchors_of_a_site_that_measures_differently_can_be_told_from_the_others():
    parts, odd = make_parts(), np.arange(60) % 2
    parts[3].x[:] += odd * np.random.default_rng(0).poisson(5, parts[3].x.shape)
    study = make_study()
    sites = make_sites(study, parts)
    coordinator, *_ = run(study, sites)
    anchors = coordinator.opened[2].anchors
    own = {tuple(each) for each in (np.rint(sites["lab-d"].anchors[0] * 2**24) / 2**24).tolist()}
    is_own = np.array([tuple(each) in own for each in anchors.tolist()])
    apart = np.linalg.norm(anchors[:, None] - anchors, axis=2) + 1e9 * np.eye(len(anchors))
    assert (is_own[apart.argmin(axis=1)] == is_own).mean() > 0.95
    assert is_own.sum() == len(own)


# Sites that lie


def spoiled(site, **change):
    """The site, with something else in its part of the third sum."""
    honest_contribution = site.contribution

    def contribution():
        made = honest_contribution()
        return _Spoiled(made, **change) if isinstance(made, AnchorContribution) else made

    site.contribution = contribution


class _Spoiled:
    def __init__(self, made, make=None, vector=None):
        anchors, cells = made.make()
        self.made = (
            AnchorContribution(made.summation, lambda: make(anchors, cells)) if make else made
        )
        self.summation, self.announced, self.draw = made.summation, made.announced, self.made.draw
        self.vector = vector(self.made) if vector else self.made.vector


def noise(made):
    def vector(drawn, totals, participants):
        layout = made.summation.layout(totals, participants)
        return layout.add_mask(layout.zeros(), bytes(32))

    return vector


def too_far(made):
    def vector(drawn, totals, participants):
        layout = made.summation.layout(totals, participants)
        coding = made.summation.coding
        slots = {name: [2**50] * coding.width for name in drawn}
        return layout.vector([coding.encode(slots, totals[0]), [60]])

    return vector


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
