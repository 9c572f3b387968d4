"""What the sums of an encoder study tell though nobody lies, and what they do not."""

from functools import cache

import msgspec
import numpy as np
import pytest
from frames import GENES
from neighbour_studies import (
    LISTED,
    NAMES,
    SIZES,
    USUAL,
    Curious,
    anchors,
    changed,
    groups_of_cells,
    honest,
    make_parts,
    make_sites,
    make_study,
    run,
)
from parties import identity
from scipy.sparse import csr_matrix

from fedhull.codes.power_sums import SlotCoding
from fedhull.data.datasets import lung_all
from fedhull.embed.cells import Cells, Preparation
from fedhull.embed.features import GeneSums, Standardisation
from fedhull.protocol.keys import Randomness, digest
from fedhull.rounds.anchors import _NAMES, Anchors
from fedhull.rounds.cells import hold
from fedhull.rounds.genes import GeneNews
from fedhull.rounds.round import RoundContribution, RoundSummation
from fedhull.rounds.site import _as_plain
from fedhull.study.gene_list import GeneList
from fedhull.study.kinds import task_of
from fedhull.study.study import Disclosure


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
    opened = coordinator.opened[1].total
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
    opened = coordinator.opened[1].total
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
    products = coordinator.opened[1].total.products
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
        for group in groups_of_cells(sites[name])[1]:
            largest = max(largest, float(is_rare[own[group]].mean()))
    assert 0.0 < largest <= 3 / 5


@pytest.mark.parametrize("expressing", [1, 2, 3, 4])
def test_a_gene_that_fewer_than_five_cells_of_a_site_express_leaves_nothing_in_any_sum(expressing):
    _, finished, *_ = honest()
    study, passed = make_study(), finished["lab-a"].own.passed
    gene = finished["lab-a"].known.news[0].chosen[3]
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
            standing = msgspec.msgpack.encode([_as_plain(each) for each in passed[:done]])
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

    class Eight(Anchors):
        def own_anchors(self, known, own):
            return np.zeros((8, 5)), 40

    contribution = RoundContribution(RoundSummation(Eight(make_study(), LISTED)), None)
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
    sizes = {name: {len(rows) for rows in groups_of_cells(site)[1]} for name, site in sites.items()}
    assert all(max(each) - min(each) <= 1 for each in sizes.values())
    opened = coordinator.opened[2].total
    expected = np.concatenate([anchors(site)[0] for site in sites.values()])
    expected = np.rint(expected * 2**24) / 2**24
    assert opened.anchors.tolist() == sorted(expected.tolist())
    assert opened.cells == sum(SIZES)
    layout = Anchors(study, LISTED).layout(sites["lab-a"].known, (96,), 4)
    assert layout.parts[0][1] == SlotCoding(_NAMES, 5).length(96)


def test_anchors_of_a_site_that_measures_differently_can_be_told_from_the_others():
    parts, odd = make_parts(), np.arange(60) % 2
    parts[3].x[:] += odd * np.random.default_rng(0).poisson(5, parts[3].x.shape)
    study = make_study()
    sites = make_sites(study, parts)
    coordinator, *_ = run(study, sites)
    all_anchors = coordinator.opened[2].total.anchors
    own = {tuple(each) for each in (np.rint(anchors(sites["lab-d"])[0] * 2**24) / 2**24).tolist()}
    is_own = np.array([tuple(each) in own for each in all_anchors.tolist()])
    apart = np.linalg.norm(all_anchors[:, None] - all_anchors, axis=2)
    apart += 1e9 * np.eye(len(all_anchors))
    assert (is_own[apart.argmin(axis=1)] == is_own).mean() > 0.95
    assert is_own.sum() == len(own)
