"""Encoder studies of three sums, whose coordinator or sites may lie."""

from functools import cache

import msgspec
import numpy as np
from frames import GENES, make_cells
from parties import identity

from fedhull.errors import BelowThreshold, DecodingError
from fedhull.protocol import messages as m
from fedhull.protocol.agreement import Cohort
from fedhull.protocol.drive import MemoryEngine
from fedhull.rounds.axes import AxisNews
from fedhull.rounds.cells import hold
from fedhull.rounds.genes import GeneNews
from fedhull.rounds.run import Coordinator, run_study
from fedhull.study.encoder_study import Neighbours, NeighbourStudy
from fedhull.study.gene_list import GeneList
from fedhull.study.kinds import task_of
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


class Curious(Coordinator):
    """A coordinator that publishes, and stands by, whatever `forge` makes of genes or axes."""

    def __init__(self, study, genes=LISTED, forge=lambda news: news):
        super().__init__(study, task_of(study, genes.to_bytes()).rounds)
        self.forge = forge

    def publish(self, news):
        return super().publish(news if len(self.opened) == 3 else self.forge(news))

    @property
    def gene_news(self):
        return self.known.news[0]

    @property
    def axis_news(self):
        return self.known.news[1]


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


def gene_sums(site):
    """A site's part of the first sum."""
    return site.rounds[0].own_sums(site.own)


def products(site):
    """A site's part of the second sum."""
    return site.rounds[1].own_products(site.known, site.own)


def anchors(site):
    """A site's part of the third sum."""
    return site.rounds[2].own_anchors(site.known, site.own)


def groups_of_cells(site):
    """A site's training cells along the axes, and the groups in which they leave."""
    return site.rounds[2].groups_of_cells(site.known, site.own)


def changed(news, **fields):
    return msgspec.structs.replace(news, **fields)


def other_gene(content):
    news = msgspec.msgpack.decode(content, type=GeneNews)
    unchosen = min(set(range(len(GENES))) - set(news.chosen))
    return msgspec.msgpack.encode(changed(news, chosen=[unchosen, *news.chosen[1:]]))


def other_axis(content):
    news = msgspec.msgpack.decode(content, type=AxisNews)
    turned = np.frombuffer(news.components).reshape(-1, 20).copy()
    turned[0] *= -1
    return msgspec.msgpack.encode(changed(news, components=turned.tobytes()))
