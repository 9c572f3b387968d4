"""A coordinator that publishes false centres, and what centres tell at all: totals, and nothing of
the isometry of a site by itself."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parties import identity
from strategies import examples

from fedhull import make_tree
from fedhull.disc.isometry import rotation, translation
from fedhull.errors import BadMessage, BelowThreshold
from fedhull.learn.centres import FARTHEST, Centres, class_centres
from fedhull.learn.site_alignment import align_site
from fedhull.protocol import messages as m
from fedhull.protocol.drive import MemoryEngine
from fedhull.rounds.centres import CENTRE_FIELD, CentreNews, class_numbers, isometry_of
from fedhull.rounds.run import Coordinator, run_study
from fedhull.study.draft import draft_study, with_names
from fedhull.study.kinds import task_of

UNIT = 2.0**-21
SUMMARIES = ["moments", "hulls"]
STAY = translation([0.0, 0.0])
MOVES = [STAY, translation([0.2, 0.0]), rotation(0.3), translation([-0.1, 0.1]) @ rotation(-0.2)]


def make_study(summary="moments", names=("lineage-1", "lineage-2", "stem"), align=2):
    drafted = draft_study(
        4, len(names), summary=summary, features=16, align=align, epsilon=0.2, radius=0.999
    )
    return msgspec.structs.replace(
        with_names(drafted, list(names)),
        coordinator=identity("coordinator").public,
        clients={name: identity(name).public for name in drafted.clients},
    )


def make_sites(study, moves=MOVES):
    data = make_tree(640, lineages=2, seed=3)
    task = task_of(study)
    return {
        name: task.site(
            name, identity(name), task.prepare(move.apply(0.7 * data.x[i::4]), data.y[i::4])
        )
        for i, (name, move) in enumerate(zip(sorted(study.clients), moves, strict=True))
    }


class Watching:
    """Notes all that the coordinator gets to see of each step, content apart; and may change what a
    site is shown after the first sum."""

    def __init__(self, sites, change):
        self.engine, self.change = MemoryEngine(sites.values()), change
        self.number, self.seen, self.uploads = 0, [], []

    def step(self, kind, messages, timeout=0.0):
        self.number += kind == "advertise"
        if (kind, self.number) == ("publish", 1):
            messages = {name: self.change(name, raw) for name, raw in messages.items()}
        replies, failures = self.engine.step(kind, messages, timeout)
        sizes = {name: len(reply) for name, reply in replies.items()}
        self.seen.append((self.number, kind, sizes, dict(failures)))
        if kind == "upload":
            self.uploads.append(sorted(replies))
        return replies, failures


def run(study, sites, forge=lambda centres: centres, change=lambda name, raw: raw):
    """(what the coordinator saw, what it has or the error that it ran into); it publishes what
    `forge` makes of centres."""

    class Lying(Coordinator):
        def publish(self, news):
            if not isinstance(news, CentreNews):
                return super().publish(news)
            forged = forge(self.opened[-1].total)
            if not isinstance(forged, bytes):
                return super().publish(CentreNews.of(forged))
            self.known = self.known.plus(forged, news)  # it stands by what it says
            return forged

    watching = Watching(sites, change)
    try:
        outcome = run_study(Lying(study, task_of(study).rounds), watching, identity("coordinator"))
    except BelowThreshold as problem:
        outcome = problem
    return watching, outcome


def measured(study, site):
    """The centres of a site's cells as they were measured."""
    x, number = site.holdings.numbered(class_numbers(study, site.own))
    return class_centres(x, number, 3, study.geometry.curvature)


def honest_study():
    """(study, what its coordinator saw, what it has)."""
    study = make_study()
    return study, *run(study, make_sites(study))


# What centres tell


def test_messages_look_the_same_whatever_isometry_a_site_has():
    study, moved, _ = honest_study()
    still, _ = run(study, make_sites(study, [STAY] * 4))
    assert still.seen == moved.seen
    for _, kind, sizes, _ in moved.seen:
        if kind == "upload":
            assert len(set(sizes.values())) == 1


@pytest.mark.parametrize("summary", SUMMARIES)
def test_what_is_opened_are_totals_of_measured_and_of_moved_cells(summary):
    study = make_study(summary)
    sites = make_sites(study)
    _, outcome = run(study, sites)
    of_sites = [measured(study, site) for site in sites.values()]
    assert (outcome.centres[0].packed() == sum(of_sites, Centres.none(3, 2)).packed()).all()
    assert len({isometry_of(site.own).shift[0] for site in sites.values()}) == 4
    assert outcome.is_exact(sites)
    # the coordinator has counts and sums, and no file or result of it has anything of a site's
    assert outcome.centres[1].packed().shape == (12,)
    assert "isometry" not in str(outcome.to_json()) + outcome.files()["model.json"].decode()


def test_of_a_class_with_too_few_cells_in_all_no_centre_leaves():
    data = make_tree(640, lineages=2, seed=3)
    names = ("lineage-1", "lineage-2", "rare", "stem")
    study = make_study(names=names)
    task = task_of(study)
    sites = {}
    for i, name in enumerate(sorted(study.clients)):
        y = data.y[i::4].astype("<U9")
        y[0] = "rare"  # four cells in all, of at least five
        sites[name] = task.site(name, identity(name), task.prepare(0.7 * data.x[i::4], y))
    _, outcome = run(study, sites)
    for centres in outcome.centres:
        assert centres.packed().reshape(4, 4)[2].tolist() == [0, 0, 0, 0]
        assert (centres.counts[[0, 1, 3]] > 100).all()


# False centres


def nowhere(centres):
    return Centres(centres.counts, np.zeros_like(centres.sums))


def beyond_the_rim(centres):
    return Centres(centres.counts, np.abs(centres.sums) * 2**20)


def space_like(centres):
    return Centres(centres.counts, centres.sums[:, [1, 0, 2]])


def too_many(centres):
    return centres + centres


def one_more(centres):
    return Centres(centres.counts + np.array([1, 0, 0]), centres.sums)


def negative(centres):
    return Centres(-centres.counts, centres.sums)


def fewer_classes(centres):
    return centres.only([0, 1])


def no_centres(centres):
    return b"anything"


REFUSED = [nowhere, beyond_the_rim, space_like, too_many, one_more, negative, fewer_classes,
           no_centres]  # fmt: skip


@pytest.mark.parametrize("lie", REFUSED)
def test_what_no_cells_can_have_is_refused_by_all_alike(lie):
    study = make_study()
    sites = make_sites(study)
    watching, outcome = run(study, sites, lie)
    assert all(isinstance(site.complaint, BadMessage) for site in sites.values())
    assert all(isometry_of(site.own) is None for site in sites.values())
    assert watching.seen[6] == (1, "publish", {}, {})
    assert watching.seen[7:] == [(2, "advertise", {}, dict.fromkeys(sites, "OutOfTurn"))]
    assert isinstance(outcome, BelowThreshold)


def by(isometry):
    """Centres moved as a whole."""

    def moved(centres):
        sums = np.rint(centres.sums @ isometry.matrix.T).astype(np.int64)
        return Centres(centres.counts, sums)

    return moved


def heaped(centres):
    cells = np.array([[0.9, 0.0]] * 3)
    one = class_centres(cells, np.arange(3), 3)
    return Centres(centres.counts, one.sums * centres.counts[:, None])


def at_the_end(centres):
    angles = np.array([0.0, 2.0, 4.0])
    cells = np.tanh(FARTHEST / 2.0) * np.column_stack((np.cos(angles), np.sin(angles)))
    one = class_centres(cells, np.arange(3), 3)
    return Centres(centres.counts, one.sums * centres.counts[:, None])


def only_one(centres):
    return centres.only([-1, 1, -1])


def none_at_all(centres):
    return Centres.none(3, 2)


BELIEVED = [by(translation([0.6, 0.0])), by(rotation(3.0)), heaped, at_the_end, only_one,
            none_at_all]  # fmt: skip


@pytest.mark.parametrize("lie", BELIEVED)
def test_whatever_centres_are_published_the_sites_replies_look_the_same(lie):
    study, honest, expected = honest_study()
    sites = make_sites(study)
    watching, outcome = run(study, sites, lie)
    assert watching.seen == honest.seen
    assert not any(site.complaint for site in sites.values())
    # moved cells are still cells: sums fit their fields, and their counts are what they were
    assert outcome.is_exact(sites)
    assert outcome.total.extent == expected.total.extent
    assert (outcome.centres[1].counts == outcome.centres[0].counts).all()


def test_a_site_that_is_shown_other_centres_than_the_others_is_in_no_later_sum():
    study = make_study()
    sites = make_sites(study)
    first = min(sites)

    def another(name, raw):
        if name != first:
            return raw
        message = m.decode_to_client(raw, study)
        shown = msgspec.msgpack.decode(message.content, type=CentreNews).centres(3)
        moved = CentreNews.of(by(translation([0.3, 0.0]))(shown))
        other = msgspec.msgpack.encode(moved)
        changed = msgspec.structs.replace(message, content=other)
        return m.encode_to_client(changed, identity("coordinator"))

    watching, outcome = run(study, sites, change=another)
    assert sites[first].complaint is None  # it cannot know
    assert watching.uploads[0] == sorted(sites)
    # what its peers seal for it does not open: its moved cells stay masked, or never leave
    assert all(first not in uploads for uploads in watching.uploads[1:])
    assert isinstance(outcome, BelowThreshold) or first not in outcome.survivors


@examples(60)
@given(st.integers(0, 2**32), st.floats(0.0, 0.999999999), st.floats(0.0, FARTHEST))
def test_moved_cells_never_exceed_what_the_field_holds(seed, reach, false):
    """Wherever cells are and wherever false centres are: a coordinate of a cell is at most cosh 8
    in units of 2⁻²¹, so that 2²⁸ cells fit."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, 2.0 * np.pi, 30)
    cells = reach * np.column_stack((np.cos(angle), np.sin(angle)))
    classes = np.arange(30) % 3
    ends = np.tanh(false / 2.0) * np.column_stack((np.cos(angle[:3]), np.sin(angle[:3])))
    one = class_centres(ends, np.arange(3), 3)
    total = Centres(np.full(3, 1000), one.sums * 1000)
    total.check()
    found = align_site(cells, classes, total)
    moved = class_centres(found.isometry.apply(cells), classes, 3)
    moved.check()
    largest = int(np.abs(moved.sums).max()) / moved.counts.max()
    assert largest * 2**28 <= (np.cosh(FARTHEST) / UNIT + 1) * 2**28 < (CENTRE_FIELD.q - 1) / 2


# What is not protected


def test_false_centres_show_what_part_of_a_class_is_at_sites_that_hold_another():
    """As the threat model says: only the two sites that hold `marked` have evidence to move by, and
    from how another class's centre moves, the coordinator sees roughly how much of it they hold."""
    rng = np.random.default_rng(0)
    study = make_study(names=("common", "marked", "other"))
    task, sites, common = task_of(study), {}, [30, 170, 90, 60]
    for i, name in enumerate(sorted(study.clients)):
        sizes = [common[i], 150 if i < 2 else 0, 40]
        y = np.repeat(["common", "marked", "other"], sizes)
        middles = np.array([[0.0, 0.1], [0.5, 0.0], [-0.5, 0.2]]).repeat(sizes, axis=0)
        x = middles + rng.normal(0.0, 0.05, (len(y), 2))
        sites[name] = task.site(name, identity(name), task.prepare(x, y))

    def only_marked(centres):
        # far off: one class alone is little evidence, and what it says must not look like chance
        return by(translation([0.8, 0.0]))(centres.only([-1, 1, -1]))

    _, outcome = run(study, sites, only_marked)
    before, after = outcome.centres
    move = seen_move(before, after, 1)
    changed = (after.sums[0] - before.sums[0]) * UNIT
    found, *_ = np.linalg.lstsq(move.matrix - np.eye(3), changed, rcond=1e-6)
    holders = sum(site.holdings.counts([[0], [1], [2]], 3)[0] for site in list(sites.values())[:2])
    # cosh of the distance from the origin is close to one there: its sum is about the count
    assert found[0] == pytest.approx(holders, rel=0.25)
    assert found[0] < 0.8 * before.counts[0]


def seen_move(before, after, number):
    """The translation that took the centre of a class where it is."""
    start, end = (each.points()[number] for each in (before, after))
    back = translation(-start).apply(end[None])[0]
    return translation(start) @ translation(back) @ translation(-start)


def test_of_a_class_that_one_site_has_alone_no_centre_leaves():
    study = make_study(names=("mine", "stem", "lineage-1"))
    data, task, sites = make_tree(640, lineages=1, seed=3), task_of(study), {}
    for i, name in enumerate(sorted(study.clients)):
        y = data.y[i::4].astype("<U9")
        y[:40] = np.where(i == 0, "mine", y[:40])
        sites[name] = task.site(name, identity(name), task.prepare(0.7 * data.x[i::4], y))
    first = sites[min(sites)]
    _, outcome = run(study, sites)
    assert measured(study, first).counts[0] > 5
    for centres in outcome.centres:
        assert centres.counts[0] == 0 < centres.counts[1:].min()
        assert not centres.sums[0].any()
