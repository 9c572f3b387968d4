"""Encoder studies of three sums: equal to the pooled embedder's axes, anchors of enough cells,
dropouts, genes by name, sessions that are taken up."""

import json
import subprocess
import sys

import msgspec
import numpy as np
import pytest
from conformance import in_memory
from frames import GENES, frame_draft, make_cells, make_frame_kits
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from strategies import examples

from fedhull import federated_encoder
from fedhull.embed.cells import Cells, Preparation
from fedhull.embed.embedder import load_embedder
from fedhull.embed.neighbours import NeighbourEmbedder
from fedhull.errors import BadMessage, BelowThreshold, InvalidInput
from fedhull.kits.journal import Journal
from fedhull.kits.kit import Kit
from fedhull.kits.participant import SiteRun, coordinate
from fedhull.protocol.drive import MemoryEngine
from fedhull.rounds import axes, genes
from fedhull.rounds.axes import AxisNews
from fedhull.rounds.cells import CellHoldings, group_size, hold
from fedhull.rounds.genes import GeneNews
from fedhull.rounds.round import Known
from fedhull.study.encoder import EncoderTask
from fedhull.study.encoder_study import NeighbourStudy
from fedhull.study.federated import rehearse_neighbours
from fedhull.study.gene_list import GeneList
from fedhull.study.kinds import study_from_toml
from fedhull.study.study import Disclosure
from fedhull.study.task import Source

NAMES = ["lab-a", "lab-b", "lab-c"]
SMALL = {"n_genes": 20, "n_components": 5, "holdout": 0.0}
SINGLE = Disclosure(min_cells=1, group=5)


def stacked(parts):
    return Cells(np.concatenate([part.x for part in parts]), GENES)


def dealt(n, sites, seed):
    """Cells that are dealt out to so many sites, each with 20 or more, in unequal shares."""
    whole, rng = make_cells(n, seed), np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(1, n // 20), sites - 1, replace=False)) * 20
    return [Cells(x, GENES) for x in np.split(whole.x, cuts)]


def own_products(site):
    return site.rounds[1].own_products(site.known, site.own)


def own_anchors(site):
    return site.rounds[2].own_anchors(site.known, site.own)[0]


def groups_of(site):
    return site.rounds[2].groups_of_cells(site.known, site.own)[1]


# The law: from sums the same comes as from all cells in one place.


@examples(8)
@given(seed=st.integers(0, 10_000), sites=st.integers(2, 6))
def test_genes_scaling_and_axes_are_the_pooled_embedders_however_cells_are_dealt_out(seed, sites):
    parts = dealt(400, sites, seed)
    ours = federated_encoder(parts, disclosure=SINGLE, **SMALL)
    pooled = NeighbourEmbedder(n_genes=20, n_components=5, steps=1).fit(stacked(parts))
    assert ours.preparation == pooled.preparation
    np.testing.assert_allclose(ours.standard.mean, pooled.standard.mean, rtol=1e-9)
    np.testing.assert_allclose(ours.standard.deviation, pooled.standard.deviation, rtol=1e-9)
    np.testing.assert_allclose(ours.axes.components, pooled.axes.components, atol=1e-6)


def test_with_genes_that_few_cells_express_it_is_the_pooled_embedder_of_what_sites_take_in():
    parts = dealt(300, 4, 1)
    for part in parts:
        part.x[:, 30:] *= np.random.default_rng(0).random((len(part), 30)) < 0.05
    rehearsed = rehearse_neighbours(parts, Disclosure(), **SMALL)
    taken = [site.holdings.training.x.toarray() for site in rehearsed.sites.values()]
    assert any((x != part.x).any() for x, part in zip(taken, parts, strict=True))
    pooled = NeighbourEmbedder(n_genes=20, n_components=5, steps=1)
    pooled.fit(Cells(np.concatenate(taken), GENES))
    ours = rehearsed.outcome.encoder
    assert ours.preparation == pooled.preparation
    np.testing.assert_allclose(ours.axes.components, pooled.axes.components, atol=1e-6)


def test_what_is_published_follows_exactly_from_what_sites_quantized():
    rehearsed = rehearse_neighbours(dealt(300, 3, 2), **SMALL)
    study, sites = rehearsed.study, list(rehearsed.sites.values())
    cells = sum(len(site.holdings.training) for site in sites)
    of_genes = np.sum([genes.packed(site.rounds[0].own_sums(site.own)) for site in sites], axis=0)
    gene_news, axis_news, _ = sites[0].known.news
    assert gene_news == GeneNews.of(study, genes.unpacked(of_genes, len(GENES), 3))
    products = np.sum([axes.packed(own_products(site), cells) for site in sites], axis=0)
    standard = gene_news.standard(GeneList(tuple(GENES)))
    opened = axes.unpacked(products, 20, cells)
    assert axis_news == AxisNews.of(study, standard, opened)
    anchors = np.concatenate([np.rint(own_anchors(site) * 2**24) / 2**24 for site in sites])
    found = rehearsed.outcome.encoder.anchors
    assert sorted(map(tuple, found)) == sorted(map(tuple, anchors))
    assert rehearsed.outcome.cells == [cells] * 3


def test_the_same_arguments_give_the_same_encoder_and_other_settings_another():
    parts = dealt(300, 3, 3)
    one, two = (federated_encoder(parts, **SMALL) for _ in range(2))
    assert one.to_bytes() == two.to_bytes()
    assert one.hash != federated_encoder(parts, **SMALL | {"n_components": 4}).hash
    assert one.hash != federated_encoder(parts, **SMALL | {"curvature": 2.0}).hash


def test_everybody_gets_the_same_file_and_places_cells_alike():
    rehearsed = rehearse_neighbours(dealt(400, 3, 4), **SMALL)
    files = [site.files() for site in rehearsed.sites.values()]
    assert all(file == rehearsed.outcome.files() for file in files)
    new = make_cells(30, 77)
    points = [site.outcome.encoder.transform(new) for site in rehearsed.sites.values()]
    assert all(np.array_equal(each, points[0]) for each in points)
    assert (np.hypot(*points[0].T) < 1).all()


# What may leave.


@pytest.mark.parametrize("group", [5, 12])
def test_behind_every_anchor_stand_as_many_cells_as_the_study_says(group):
    rehearsed = rehearse_neighbours(dealt(400, 3, 5), Disclosure(group=group), **SMALL)
    sizes = [len(rows) for site in rehearsed.sites.values() for rows in groups_of(site)]
    assert rehearsed.outcome.group == group
    assert group <= min(sizes) <= max(sizes) < 2 * group
    assert len(sizes) == len(rehearsed.outcome.encoder.anchors)


def test_with_many_cells_anchors_stand_for_more_of_them():
    settings = SMALL | {"max_anchors": 20}
    outcome = rehearse_neighbours(dealt(600, 3, 6), **settings).outcome
    assert len(outcome.encoder.anchors) <= 20
    assert outcome.group == 600 // 20


def test_anchors_are_of_enough_donors_where_the_data_say_whose_cells_they_are():
    study, genes = make_study(), GeneList(tuple(GENES))
    donors = np.repeat(["a", "b", "c"], 40)
    held = hold(study, genes, make_cells(120, 0), donors)
    features = np.random.default_rng(0).normal(size=(len(held.training), 3))
    # all cells of a donor lie together
    features[:, 0] += 100.0 * held.donor[~held.test]
    for rows in held.groups(features, 5, min_donors=2):
        assert len(rows) >= 5
        assert len(set(held.donor[~held.test][rows])) >= 2
    with pytest.raises(InvalidInput, match="from 1 donors, but nothing may leave"):
        hold(study, genes, make_cells(120, 0), np.repeat("a", 120))


def test_a_gene_that_four_of_a_sites_cells_express_is_not_expressed_in_what_leaves():
    x = make_cells(100, 0).x.copy()
    x[:, 0], x[:, 1] = 0, 0
    x[:4, 0], x[:5, 1] = 7, 7
    study = make_study("holdout = 0.0")
    held = hold(study, GeneList(tuple(GENES)), Cells(csr_matrix(x), GENES))
    assert held.rare.tolist() == [True] + [False] * 59
    assert held.training.x.toarray()[:, 0].sum() == 0
    assert np.array_equal(held.training.x.toarray()[:, 1:], x[:, 1:])
    # what the data are recognised by is what they are
    assert (held.table()[0] != x).sum() == 0


def test_fewer_genes_are_chosen_than_there_are_cells():
    parts = [make_cells(14, i) for i in range(3)]
    rehearsed = rehearse_neighbours(parts, n_genes=50, n_components=5)
    assert len(rehearsed.outcome.encoder.preparation.genes) <= 42 - 3
    site = next(iter(rehearsed.sites.values()))
    news = site.known.news[0]
    more = GeneNews(20, news.chosen, news.mean, news.deviation)
    with pytest.raises(BadMessage, match="with 20 cells it may choose at most 17"):
        check(site, 0, msgspec.msgpack.encode(more))


def check(site, number, raw):
    """Read and check what is published after one of the site's rounds."""
    known = Known(site.known.raw[:number], site.known.news[:number])
    each = site.rounds[number]
    each.check(known, each.read(known, raw), site.own.passed[number].totals)


def make_study(settings="") -> NeighbourStudy:
    roster = "".join(f'site-{i} = "{i:064x}"\n' for i in range(3))
    text = frame_draft([]).replace('genes = ""', f'genes = "{"0" * 64}"\n{settings}')
    return study_from_toml(text + roster)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (Cells(make_cells(50, 0).x + 0.5, GENES), "raw counts"),
        (make_cells(8, 0), "at least 10 cells to take part"),
        (
            Cells(make_cells(50, 0).x, [f"ENSG{i:011d}" for i in range(60)]),
            "yours are Ensembl identifiers without versions and the list has gene symbols",
        ),
        (Cells(make_cells(50, 0).x, [f"other-{i}" for i in range(60)]), "of the same species"),
    ],
)
def test_cells_that_do_not_fit_are_refused_before_anything_is_sent(cells, words):
    with pytest.raises(InvalidInput, match=words):
        hold(make_study(), GeneList(tuple(GENES)), cells)


def test_values_that_are_no_counts_are_refused_in_the_same_words_in_both_kinds_of_study():
    logged = Cells(np.log1p(make_cells(50, 0).x), GENES)
    with pytest.raises(InvalidInput, match=r"must hold raw counts .* got 1\.6.*--layer") as making:
        hold(make_study(), GeneList(tuple(GENES)), logged)
    with pytest.raises(InvalidInput) as using:
        Preparation(GENES, counts=True).apply(logged)
    assert str(making.value) == str(using.value)


def test_a_site_with_too_few_cells_to_be_corrected_is_refused_before_anything_is_sent():
    study = make_study('correction = "centre"')
    with pytest.raises(InvalidInput, match="at least 50 cells to take part"):
        hold(study, GeneList(tuple(GENES)), make_cells(49, 0))
    assert len(hold(study, GeneList(tuple(GENES)), make_cells(50, 0)).training) == 50
    # none are held out if too few would be left
    held = hold(
        make_study('correction = "scale"\nholdout = 0.5'), GeneList(tuple(GENES)), make_cells(90, 0)
    )
    assert held.test.sum() == 0


def test_genes_that_all_sites_measure_are_chosen_whatever_their_order():
    parts = dealt(300, 3, 7)
    order = np.random.default_rng(0).permutation(60)[:50]
    fewer = Cells(parts[0].x[:, order], [GENES[i] for i in order])
    settings = SMALL | {"n_genes": 45}
    ours = federated_encoder([fewer, *parts[1:]], disclosure=SINGLE, **settings)
    assert set(ours.preparation.genes) <= set(fewer.genes)
    both = np.sort(order)
    common = [Cells(part.x[:, both], [GENES[i] for i in both]) for part in parts]
    pooled = NeighbourEmbedder(n_genes=45, n_components=5, steps=1).fit(
        Cells(np.concatenate([part.x for part in common]), common[0].genes)
    )
    assert set(ours.preparation.genes) == set(pooled.preparation.genes)


def test_where_sites_have_few_genes_in_common_those_that_one_lacks_are_not_expressed():
    parts = dealt(300, 3, 7)
    halves = [GENES[:34], GENES[26:], GENES]
    fewer = [
        Cells(part.x[:, [GENES.index(g) for g in genes]], genes)
        for part, genes in zip(parts, halves, strict=True)
    ]
    filled = []
    for part, mine in zip(parts, halves, strict=True):
        x = part.x * np.isin(GENES, mine)
        filled.append(Cells(x, GENES))
    ours = federated_encoder(fewer, disclosure=SINGLE, **SMALL)
    whole = federated_encoder(filled, disclosure=SINGLE, **SMALL)
    columns = [whole.preparation.genes.index(gene) for gene in ours.preparation.genes]
    assert sorted(columns) == list(range(20))
    np.testing.assert_allclose(ours.standard.mean, whole.standard.mean[columns], rtol=1e-9)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"A\n", "between 2 and 100,000 names, got 1"),
        (b"A\nB\nA\n", "has 'A' twice"),
        (b"\xff\xfe", "must be a text file"),
        (b"A\n" + b"B" * 101, "between 1 and 100 characters"),
    ],
)
def test_lists_of_genes_that_are_none_are_refused(content, words):
    with pytest.raises(InvalidInput, match=words):
        GeneList.from_bytes(content)


def test_a_list_of_genes_may_have_comments_and_is_written_without():
    listed = GeneList.from_bytes(b"# public\nACTB\n\n  GAPDH \n")
    assert listed.names == ("ACTB", "GAPDH")
    assert GeneList.from_bytes(listed.to_bytes()) == listed


# Who takes part.


class Vanishing(MemoryEngine):
    """A site is gone from one step of one sum on."""

    def __init__(self, clients, name, step, number):
        super().__init__(clients)
        self.name, self.when, self.number = name, (step, number), 0

    def step(self, kind, messages, timeout=0.0):
        self.number += kind == "advertise"
        if (kind, self.number) == self.when:
            self._gone.add(self.name)
        return super().step(kind, messages, timeout)


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("step", ["share", "upload", "unmask", "publish"])
def test_a_site_that_vanishes_is_left_out_of_that_sum_and_all_later_ones(tmp_path, step, number):
    kits, data = make_frame_kits(tmp_path, NAMES)
    outcome = in_memory(kits, data, engine=lambda sites: Vanishing(sites, "lab-b", step, number))
    late = step in ("unmask", "publish")
    expected = [3] * (number - 1) + [3 if late else 2] + [2] * (3 - number)
    assert [len(each) for each in outcome.in_rounds] == expected
    assert (outcome.cells[0] > outcome.cells[2]) == (1 < number + late < 4)
    assert outcome.record.failures == {"lab-b": "vanished"}
    assert outcome.encoder.places.shape == (len(outcome.encoder.anchors), 2)


def test_too_few_sites_end_the_study(tmp_path):
    kits, data = make_frame_kits(tmp_path, NAMES, extra="[protocol]\nthreshold = 3")
    with pytest.raises(BelowThreshold):
        in_memory(kits, data, engine=lambda sites: Vanishing(sites, "lab-b", "upload", 2))


# What sites do not take from a server.


def published(kind, **changed):
    site = next(iter(rehearse_neighbours(dealt(300, 3, 8), **SMALL).sites.values()))
    news = msgspec.structs.replace(site.known.last_of(kind), **changed)
    return site, msgspec.msgpack.encode(news)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"chosen": [0, 0, *range(2, 20)]}, "none of them twice"),
        ({"chosen": [*range(19), 60]}, "not in the study's list"),
        ({"deviation": np.zeros(20).tobytes()}, "no means and deviations"),
        ({"mean": np.full(20, np.nan).tobytes()}, "no means and deviations"),
        ({"mean": b"123"}, "not genes and their scaling"),
    ],
)
def test_genes_that_no_sum_gives_are_refused(changed, words):
    site, raw = published(GeneNews, **changed)
    with pytest.raises(BadMessage, match=words):
        check(site, 0, raw)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"components": np.ones((5, 20)).tobytes()}, "not at right angles"),
        ({"components": np.eye(20)[:6].tobytes()}, "6 axes, but the study says 5 at most"),
        ({"variance": np.full(5, -1.0).tobytes()}, "mean and variance that cells can have"),
        ({"components": b"12345678"}, "are not axes"),
    ],
)
def test_axes_that_no_sum_gives_are_refused(changed, words):
    site, raw = published(AxisNews, **changed)
    with pytest.raises(BadMessage, match=words):
        check(site, 1, raw)


def test_an_encoder_with_other_axes_than_were_published_is_refused():
    rehearsed = rehearse_neighbours(dealt(300, 3, 9), **SMALL)
    site = next(iter(rehearsed.sites.values()))
    other = federated_encoder(dealt(300, 3, 10), **SMALL)
    with pytest.raises(BadMessage, match="other genes or axes"):
        check(site, 2, other.to_bytes())
    with pytest.raises(BadMessage, match="not a fedhull embedder"):
        check(site, 2, b"no encoder")


# Sums that are none.


def test_sums_that_no_cells_have_are_not_opened():
    site = next(iter(rehearse_neighbours(dealt(300, 3, 11), **SMALL).sites.values()))
    numbers, g = genes.packed(site.rounds[0].own_sums(site.own)), len(GENES)
    for place, value in [(1, 2), (1, 0), (1 + g, 10**6), (1 + 2 * g, -5), (1 + 2 * g, 10**9)]:
        wrong = numbers.copy()
        wrong[place] = value
        with pytest.raises(InvalidInput):
            genes.unpacked(wrong, g, 1)
    products, cells = axes.packed(own_products(site), 300), 300
    for place, value in [(0, 0), (0, 301), (21, -(2**50)), (22, 2**58)]:
        wrong = products.copy()
        wrong[place] = value
        with pytest.raises(InvalidInput):
            axes.unpacked(wrong, 20, cells)


# What participants leave.


class Restarting:
    """Every message goes to a new process, so to speak: kits, journals and results remain."""

    def __init__(self, kits, names):
        self.kits, self.journals = kits, {name: Journal().to_bytes() for name in names}

    def step(self, kind, messages, timeout=0.0):
        replies, failures = {}, {}
        for name, message in messages.items():
            run = SiteRun(
                Kit.open(self.kits / name),
                "run",
                Journal.from_bytes(self.journals[name]),
                lambda journal, name=name: self.journals.update({name: journal.to_bytes()}),
            )
            reply, error = run.answer(kind, message)
            if error is not None:
                failures[name] = error
            elif reply is not None:
                replies[name] = reply
        return replies, failures


def test_sites_that_are_restarted_for_every_message_get_the_same_encoder(tmp_path):
    kits, data = make_frame_kits(tmp_path, NAMES)
    expected = in_memory(kits, data).encoder
    said = []
    engine = Restarting(kits, NAMES)
    outcome = coordinate(Kit.open(kits / "server"), "run", engine, 1.0, said.append)
    assert outcome.encoder.hash == expected.hash
    purposes = dict.fromkeys(progress.step.partition(":")[0] for progress in said)
    assert list(purposes) == ["genes (1 of 3)", "axes (2 of 3)", "anchors (3 of 3)"]
    for name in ("server", *NAMES):
        results = kits / name / "results" / "run"
        assert json.loads((results / "status.json").read_text())["error"] is None
        result = json.loads((results / "result.json").read_text())
        assert result["encoder"] == load_embedder(results / "encoder.npz").hash == expected.hash
        assert 0 < result["neighbours_kept"] < 1
        assert expected.hash in (results / "report.html").read_text()


def test_holdings_survive_the_way_to_another_process():
    held = hold(make_study(), GeneList(tuple(GENES)), make_cells(300, 0), np.arange(300) % 4)
    assert held.test.sum() == 30
    again = CellHoldings.from_bytes(held.to_bytes())
    assert again.to_bytes() == held.to_bytes()
    with pytest.raises(InvalidInput, match="damaged"):
        CellHoldings.from_bytes(held.to_bytes()[:100])


def test_a_person_is_told_what_leaves_before_it_does(tmp_path):
    kits, data = make_frame_kits(tmp_path, NAMES)
    kit = Kit.open(kits / "lab-a")
    held = kit.task.read(Source(str(data["lab-a"])))
    words = " ".join(kit.task.explain("lab-a", held))
    assert "You hold 240 cells, of which 24 are kept out" in words
    assert "at least 5 of your cells" in words
    assert "This is not differential privacy" in words
    assert group_size(kit.study, 10**6) == 250


@pytest.mark.parametrize("setting", ['method = "neighbours"', "rounds = 2", 'start = ""'])
def test_settings_that_an_encoder_study_does_not_have_are_refused(setting):
    with pytest.raises(InvalidInput, match=f"no setting '{setting.split()[0]}'"):
        study_from_toml(frame_draft(NAMES, settings=setting).replace('""', f'"{"0" * 64}"', 1))


# What it costs, before anything is sent.


def test_the_plan_is_an_upper_bound_where_fewer_genes_vary_than_may_be_chosen():
    parts = [make_cells(300, i) for i in range(3)]
    parts = [Cells(part.x * (np.arange(len(GENES)) < 10), GENES) for part in parts]
    rehearsed = rehearse_neighbours(parts, n_components=5)
    task = EncoderTask(rehearsed.study, GeneList(tuple(GENES)))
    first, site = next(iter(rehearsed.sites.items()))
    numbers, words, _ = task.plan(site.holdings)
    assert len(rehearsed.outcome.encoder.preparation.genes) < numbers["genes"]
    assert rehearsed.outcome.record.bytes_up[first] < numbers["bytes_up_per_client"]
    assert f"up to {numbers['genes']:,} genes" in " ".join(words)
    assert f"In all at most {numbers['bytes_up_per_client']:,} bytes" in " ".join(words)


def test_the_plan_says_to_the_byte_what_a_site_sends():
    parts = [make_cells(300, i) for i in range(3)]
    rehearsed = rehearse_neighbours(parts, n_genes=20, n_components=5)
    task = EncoderTask(rehearsed.study, GeneList(tuple(GENES)))
    first, site = next(iter(rehearsed.sites.items()))
    numbers, words, _ = task.plan(site.holdings)
    assert numbers["bytes_up_per_client"] == rehearsed.outcome.record.bytes_up[first]
    assert numbers["anchors_per_site"] == len(own_anchors(site))
    assert f"{numbers['bytes_up_per_client']:,} bytes up per site" in " ".join(words)
    assert task.plan(None).numbers["bytes_up_axes"] == numbers["bytes_up_axes"]


def test_no_extra_is_needed():
    """Files of cells need anndata; the study itself does without."""
    program = """
import sys
EXTRAS = {"jax", "optax", "torch", "nvflare", "flwr", "anndata", "matplotlib", "scanpy"}
class Missing:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing)
import numpy as np
from fedhull import Cells, federated_encoder
counts = np.random.default_rng(0).poisson(3.0, (4, 60, 40))
*sites, new = [Cells(x, [f"gene-{i}" for i in range(40)]) for x in counts]
print(federated_encoder(sites, n_genes=20, n_components=5).transform(new).shape)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "(60, 2)\n", done.stderr
