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
from fedhull.study.coordinator import Publication, run_study
from fedhull.study.encoder_study import Neighbours, NeighbourStudy
from fedhull.study.kinds import task_of
from fedhull.study.neighbours.axis_sum import AxisNews
from fedhull.study.neighbours.coordinator import NeighbourCoordinator
from fedhull.study.neighbours.gene_sum import GeneNews
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
