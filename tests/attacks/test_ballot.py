"""A coordinator that uses the ballot to ask more than it may: whatever it proposes, nothing opens
but a sum over all who were asked, and nothing about single cells."""

from functools import lru_cache

import msgspec
import numpy as np
import pytest
from conformance import agree, in_memory, sites_in_memory
from copies import copy_of
from federations import ALIGNED, MOMENTS, NO_BALLOT, draft, make_data
from hypothesis import given
from hypothesis import strategies as st
from restarting import Restarting

from fedhull.data.generated import make_tree
from fedhull.errors import BadMessage
from fedhull.kits.kit import Kit
from fedhull.kits.provision import make_kits
from fedhull.learn.lorentz import LorentzClassifier
from fedhull.learn.model import model_to_json
from fedhull.learn.places import landmarks_of_corners
from fedhull.learn.tally import Tally
from fedhull.protocol import messages as m
from fedhull.protocol.drive import MemoryEngine, drive
from fedhull.protocol.keys import digest
from fedhull.protocol.server import ServerSession
from fedhull.rounds.ballot import Ballot, Proposed, _Proposed, ballot_layout
from fedhull.rounds.hulls import HullSums
from fedhull.rounds.noise import noise_of
from fedhull.rounds.noisy import NoisyBallot
from fedhull.rounds.round import Proposal, Votes
from fedhull.rounds.run import run_study
from fedhull.study.draft import draft_study

NAMES = ["lab-a", "lab-b", "lab-c", "lab-d"]


class Lying:
    """A study up to its last sum, in the hands of a coordinator that may propose what it likes."""

    def __init__(self, folder, extra=""):
        self.kits = make_kits(draft(NAMES, extra), folder / "kits").folder
        self.data = make_data(folder, NAMES)
        self.server = Kit.open(self.kits / "server")
        self.sites = {site.name: site for site in sites_in_memory(self.kits, self.data)}
        self.engine = MemoryEngine(self.sites.values())
        self.coordinator = self.server.task.coordinator()
        study = self.server.study
        while True:
            summation = self.coordinator.next_sum()
            self.session = ServerSession(study, summation, self.server.identity)
            opened = drive(self.session, self.engine)
            made = self.coordinator.take(opened)
            if isinstance(made, Proposal) or self.coordinator.next_sum() is None:
                break
            self.engine.step("publish", self.session.publish(made.content))
        self.made = made
        self.draft = getattr(made, "draft", None)

    def show(self, content_for):
        """Show every site what the coordinator has made for it; the replies."""
        outgoing = {
            name: self.session.propose(content_for(name), self.made.layout)[name]
            for name in self.sites
        }
        replies, failures = self.engine.step("propose", outgoing)
        assert failures == {}
        return replies

    def opened(self, replies):
        """The tally that the coordinator reads, if it can read one."""
        votes = Votes(self.session.answers(replies), NAMES)
        return Ballot(self.server.study).opened(votes, len(self.models), 6)

    @property
    def models(self):
        return msgspec.msgpack.decode(self.made.content, type=_Proposed).models

    def with_models(self, *models):
        """A proposal of these models, with entries that open."""
        packed = [msgspec.json.encode(model_to_json(model)) for model in models]
        round, learned = self.coordinator.round, self.draft.learned
        entries = round.entries_for_judges(learned, digest(*packed))
        landmarks = self.draft.landmarks.to_lists()
        content = msgspec.msgpack.encode(_Proposed(packed, landmarks, entries))
        return Proposal(content, ballot_layout(len(models), len(learned.model.classes_)))


@pytest.fixture(scope="module", params=["", MOMENTS], ids=["hulls", "moments"])
def about_to_propose(request, tmp_path_factory):
    return Lying(tmp_path_factory.mktemp("study"), request.param)


@pytest.fixture
def lying(about_to_propose):
    return copy_of(about_to_propose)


def sizes(replies):
    return {len(reply) for reply in replies.values()}


def test_an_honest_proposal_is_opened(lying):
    replies = lying.show(lambda name: lying.made.content)
    tally = lying.opened(replies)
    assert tally.n_cells == sum(len(site.holdings.test_y) for site in lying.sites.values())
    assert len(sizes(replies)) == 1


def test_different_proposals_open_nothing(lying):
    # the victim is shown the candidates in another order: as many numbers of the same kind
    content = msgspec.msgpack.decode(lying.made.content, type=_Proposed)
    others = [lying.draft.candidates[i].model for i in (1, 0, 2)]
    three = [lying.draft.candidates[i].model for i in (0, 1, 2)]
    to_all, to_one = lying.with_models(*three), lying.with_models(*others)
    assert len(content.models) > 3
    lying.made = to_all
    replies = lying.show(lambda name: (to_one if name == "lab-a" else to_all).content)
    assert sorted(replies) == NAMES
    assert len(sizes(replies)) == 1
    assert lying.opened(replies) is None


def test_without_one_of_those_asked_nothing_opens(lying):
    replies = lying.show(lambda name: lying.made.content)
    for name in NAMES:
        assert lying.opened({k: v for k, v in replies.items() if k != name}) is None
    # not even with what it said to something else in its place
    assert lying.opened(replies | {"lab-a": replies["lab-b"]}) is None


@pytest.mark.parametrize("asked", [["lab-a"], ["lab-a", "lab-b"]])
def test_a_site_that_is_asked_with_too_few_answers_noise(lying, asked):
    header = {"study": lying.server.study.hash, "session": lying.session.session}
    marked = lying.server.study.marked(asked)
    message = m.Propose(**header, content=lying.made.content, asked=marked)
    lying.session.propose(lying.made.content, lying.made.layout)
    raw = m.encode_to_client(message, lying.server.identity)
    replies = {name: lying.sites[name].receive(raw) for name in asked}
    lying.session.evaluators = asked
    assert lying.opened(replies) is None


def test_different_lists_of_who_is_asked_open_nothing(lying):
    header = {"study": lying.server.study.hash, "session": lying.session.session}
    lying.session.propose(lying.made.content, lying.made.layout)
    replies = {}
    for name in NAMES:
        asked = lying.server.study.marked(NAMES if name == "lab-a" else NAMES[1:])
        message = m.Propose(**header, content=lying.made.content, asked=asked)
        raw = m.encode_to_client(message, lying.server.identity)
        replies[name] = lying.sites[name].receive(raw)
    assert lying.opened(replies) is None


def test_a_second_proposal_is_answered_by_nobody(lying):
    lying.show(lambda name: lying.made.content)
    again = lying.session.propose(lying.made.content, lying.made.layout)
    replies, failures = lying.engine.step("propose", again)
    assert replies == {}
    assert set(failures.values()) == {"OutOfTurn"}


def test_a_second_proposal_is_answered_by_nobody_after_a_crash_either(tmp_path):
    kits = make_kits(draft(NAMES), tmp_path / "kits").folder
    data = make_data(tmp_path, NAMES)
    for name in NAMES:
        agree(kits, name, data)
    server, engine = Kit.open(kits / "server"), Restarting(kits, NAMES)
    coordinator = server.task.coordinator()
    session = ServerSession(server.study, coordinator.next_sum(), server.identity)
    made = coordinator.take(drive(session, engine, 1.0))
    first, _ = engine.step("propose", session.propose(made.content, made.layout))
    assert sorted(first) == NAMES
    other = session.propose(made.content + b" ", made.layout)
    for outgoing in (session.propose(made.content, made.layout), other):
        replies, failures = engine.step("propose", outgoing)
        assert replies == {}
        assert set(failures.values()) == {"OutOfTurn"}


@pytest.mark.parametrize("extra", [MOMENTS, ALIGNED], ids=["match", "centres"])
def test_a_proposal_before_the_last_sum_opens_nothing(tmp_path, extra):
    """Else a study of four sums would be asked four times."""
    kits = make_kits(draft(NAMES, extra), tmp_path / "kits").folder
    data = make_data(tmp_path, NAMES)
    (tmp_path / "other").mkdir()
    honest = Lying(tmp_path / "other", extra)
    server = Kit.open(kits / "server")
    sites = {site.name: site for site in sites_in_memory(kits, data)}
    engine, coordinator = MemoryEngine(sites.values()), server.task.coordinator()
    session = ServerSession(server.study, coordinator.next_sum(), server.identity)
    drive(session, engine)
    layout = honest.made.layout
    replies, _ = engine.step("propose", session.propose(honest.made.content, layout))
    assert all(isinstance(site.veto, BadMessage) for site in sites.values())
    assert session.answers(replies) is None
    assert len(sizes(replies)) == 1


def test_a_study_without_a_ballot_has_none_whatever_the_coordinator_says(tmp_path):
    (tmp_path / "with").mkdir()
    honest, lying = Lying(tmp_path / "with"), Lying(tmp_path, NO_BALLOT)
    lying.made = honest.made
    replies = lying.show(lambda name: honest.made.content)
    assert all(isinstance(site.veto, BadMessage) for site in lying.sites.values())
    assert lying.session.answers(replies) is None


# Proposals that ask about single cells


def islands(at, radius, model):
    """A Lorentz classifier with the classes of `model` that gives the second of them to a small
    disc, and the first to everything else."""
    made = LorentzClassifier(curvature=1.0)
    made.classes_, made.n_features_in_ = model.classes_, 2
    made.coef_, made.intercept_ = np.zeros((3, 6)), np.zeros(6)
    # on the hyperboloid, cosh of the distance to a point is −⟨X, P⟩
    z = (1 + at @ at) / (1 - at @ at)
    p = np.array([z, *(2 * at / (1 - at @ at))])
    made.coef_[:, 1] = 50.0 * np.array([-p[0], p[1], p[2]])
    made.intercept_[1] = 50.0 * np.cosh(radius)
    made.intercept_[2:] = -1e3
    return made


def target_of(lying):
    """A held-out cell of lab-a, away from others of the site."""
    held = lying.sites["lab-a"].holdings
    x = held.test_x
    nearest = np.sort(np.hypot(*(x[:, None] - held.x).transpose(2, 0, 1)), axis=1)
    best = int(nearest[:, 2].argmax())
    return x[best]


@pytest.mark.parametrize("first", [True, False])
def test_a_candidate_with_an_island_around_a_cell_tells_nothing_of_it(lying, first):
    """What a site says is what it would say without the cell."""
    at = target_of(lying)
    default = lying.draft.candidates[0].model
    island = islands(at, 0.02, default)
    assert (island.predict(at[None]) == default.classes_[1]).all()
    forged = lying.with_models(*((island, default) if first else (default, island)))
    ballot, site = Ballot(lying.server.study), lying.sites["lab-a"]
    read, held = ballot.read(forged.content), site.holdings
    number = site.round.numbers_in(site.own, forged.content)
    numbers = np.array([number[name] for name in held.test_y.tolist()])
    elsewhere = (held.test_x != at).any(axis=1)
    assert elsewhere.sum() == len(numbers) - 1
    with_it = ballot.tally(read, held.test_x, numbers, held.x)
    without = ballot.tally(read, held.test_x[elsewhere], numbers[elsewhere], held.x)
    assert (with_it.packed() == without.packed()).all()
    assert with_it.n_cells < len(numbers)


def test_two_candidates_that_differ_at_one_cell_do_not_tell_whether_it_is_there(lying):
    """The boundary between two classes is moved just across a known cell."""
    site, default = lying.sites["lab-a"], lying.draft.candidates[0].model
    x = site.holdings.test_x
    models = [default]
    for factor in (1.0 + 1e-4, 1.0 + 1e-3, 1.0 + 1e-2):
        moved = LorentzClassifier(curvature=1.0)
        source = default if hasattr(default, "intercept_") else lorentz_like(default, site)
        moved.classes_, moved.n_features_in_ = default.classes_, 2
        moved.coef_, moved.intercept_ = source.coef_.copy(), source.intercept_.copy()
        moved.intercept_[1] += np.log(factor) * 10.0
        models.append(moved)
    first = models[1]
    forged = lying.with_models(*models[1:])
    lying.made = forged
    lying.show(lambda name: forged.content)
    tally = site.own.cache["tally"]
    for c in range(1, 3):
        flipped = int((models[c + 1].predict(x) != first.predict(x)).sum())
        changed = int(np.abs(tally.confusion[c] - tally.confusion[0]).sum()) // 2
        assert changed == 0 or changed >= 5 or flipped >= 5


def lorentz_like(model, site):
    """A classifier of the other kind that says the same."""
    made = LorentzClassifier(100.0, calibrate=False)
    return made.fit(site.holdings.x, model.predict(site.holdings.x))


@lru_cache
def stripes_of_tree():
    """Points of a tree, and candidates that cut them into stripes of five directions."""
    tree = make_tree(400, seed=0)
    models = []
    for angle in np.linspace(0.0, np.pi, 5):
        stripes = np.digitize(tree.x @ [np.cos(angle), np.sin(angle)], [-0.4, -0.2, 0.0, 0.2, 0.4])
        models.append(LorentzClassifier(1e3, calibrate=False).fit(tree.x, stripes))
    return tree.x, Proposed(models, landmarks_of_corners(tree.x, np.arange(400) % 6), {}, b"")


@given(st.lists(st.integers(0, 12), min_size=6, max_size=6))
def test_no_row_of_a_confusion_matrix_is_of_few_cells(held_out):
    """Where a single held-out cell of a rare class lies, sixteen candidates would tell exactly."""
    x, ballot = stripes_of_tree()
    numbers = np.repeat(np.arange(6), held_out)
    study = draft_study(4, 6, radius=0.999)
    tally = Ballot(study).tally(ballot, x[: len(numbers)], numbers, x)
    rows = tally.confusion[0].sum(axis=1)
    assert ((rows == 0) | (rows >= 5)).all()
    few = sum(n for n in held_out if n < 5)
    named = sum(n for n in held_out if n >= 5)
    assert rows[-1] == (few if few >= 5 else 0)
    assert tally.n_cells == named + (few if few >= 5 else 0)


@pytest.mark.parametrize(
    "change",
    [
        lambda models: models * 9,  # more than sixteen
        lambda models: [],
        lambda models: [models[0], b"{}"],
        lambda models: [models[0], b""],
        lambda models: [models[0], _renumbered(models[0])],
    ],
    ids=["too many", "none", "no model", "empty", "other classes"],
)
def test_what_is_no_ballot_is_refused_by_all_alike(lying, change):
    content = msgspec.msgpack.decode(lying.made.content, type=_Proposed)
    two = content.models[:2]
    forged = msgspec.msgpack.encode(
        msgspec.structs.replace(content, models=change(two))
        if change(two)
        else {"models": [], "landmarks": [], "entries": {}}
    )
    replies = lying.show(lambda name: forged)
    assert all(isinstance(site.veto, BadMessage) for site in lying.sites.values())
    assert len(sizes(replies)) == 1
    assert lying.session.answers(replies) is None


def _renumbered(raw):
    content = msgspec.json.decode(raw)
    content["classes"] = [n + 1 for n in content["classes"]]
    return msgspec.json.encode(content)


def test_a_site_that_objects_still_takes_the_model_that_is_published(lying):
    forged = msgspec.msgpack.encode({"models": [b"?"], "landmarks": [], "entries": {}})
    replies = lying.show(lambda name: forged if name == "lab-a" else lying.made.content)
    assert lying.opened(replies) is None
    made = lying.coordinator.choose(Votes(None, NAMES))
    _, failures = lying.engine.step("publish", lying.session.publish(made.content))
    assert failures == {}
    assert all(site.outcome.model is not None for site in lying.sites.values())
    site = lying.sites["lab-a"]
    assert (site.complaint, site.stopped) == (None, False)
    assert "not models to choose from" in site.result()["ballot"]["objection"]


def test_a_site_that_lies_about_its_counts_can_spoil_the_ballot_or_shift_it_and_no_more(tmp_path):
    kits = make_kits(draft(NAMES), tmp_path / "kits").folder
    data = make_data(tmp_path, NAMES)
    server = Kit.open(kits / "server")
    sites = {site.name: site for site in sites_in_memory(kits, data)}
    liar = sites["lab-a"]
    (honest_round,) = liar.rounds

    class Nonsense(HullSums):
        def judge(self, known, own, proposed):
            vector = super().judge(known, own, proposed)
            vector[0] = vector[0] + np.uint64(1)
            return vector

    liar.rounds = (Nonsense(honest_round.study, honest_round.ballot),)
    outcome = run_study(server.task.coordinator(), MemoryEngine(sites.values()), server.identity)
    assert outcome.vote.judged is None
    honest = in_memory(kits, data)
    assert honest.vote.judged is not None
    # the default, as it would be published without any answer
    assert outcome.survivors == honest.survivors
    assert model_to_json(outcome.model)["kind"] == "lorentz"


def test_layouts_do_not_depend_on_the_site(lying):
    expected = ballot_layout(len(lying.models), 6)
    for site in lying.sites.values():
        assert site.round.ballot_layout(site.known, lying.made.content) == expected
        assert site.round.ballot_layout(site.known, b"?").packed_size == 0


# What clever proposals do find out: the threat model says so, and here it is shown


class Region:
    """A candidate that gives the second class to a region, and the first to all the rest."""

    def __init__(self, inside):
        self.inside, self.classes_ = inside, np.arange(3)

    def predict_proba(self, points):
        there = self.inside(points)[:, None]
        return np.where(there, [0.02, 0.96, 0.02], [0.96, 0.02, 0.02])


def counted(tested, cells, *regions):
    """How many of a site's held-out cells lie in each of these regions, as it says."""
    study = draft_study(4, 3, radius=0.999)
    marks = landmarks_of_corners(cells, np.arange(len(cells)) % 3)
    ballot = Proposed([Region(region) for region in regions], marks, {}, b"")
    tally = Ballot(study).tally(ballot, tested, np.zeros(len(tested), dtype=int), cells)
    return tally.confusion[:, 0, 1].tolist()


def test_a_line_that_cuts_off_an_outermost_cell_counts_it():
    x = make_tree(300, seed=1).x
    x = x[np.argsort(-x[:, 0])]
    line = x[:2, 0].mean()
    assert counted(x[:60], x, lambda p: p[:, 0] > line) == [1]
    assert counted(x[1:61], x, lambda p: p[:, 0] > line) == [0]


def test_a_third_candidate_counts_the_cell_that_two_others_leave_out():
    x = make_tree(300, seed=1).x
    x = x[np.argsort(x[:, 0])]
    right, left, known = x[200, 0] + 1e-9, x[100, 0], x[200]

    def also_known(p):
        return (p[:, 0] > right) | (p[:, 0] < left) | (np.hypot(*(p - known).T) < 1e-6)

    regions = (lambda p: p[:, 0] > right, lambda p: p[:, 0] < left, also_known)
    one, other, three = counted(x, x, *regions)
    assert three - one - other == 1
    without = np.delete(x, 200, axis=0)
    one, other, three = counted(without, x, *regions)
    assert three - one - other == 0


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_where_noise_is_promised_candidates_that_ask_about_a_single_cell_learn_nothing(epsilon):
    """The attack that works above, on the sum of as many sites as must stay: whoever guesses from
    it whether the cell is there is hardly more often right than ε allows by chance."""
    study = draft_study(4, 3, summary="moments", dp_epsilon=epsilon)
    noise, x = noise_of(study), make_tree(300, seed=1).x
    known = x[200]
    marks = landmarks_of_corners(x, np.arange(len(x)) % 3)
    near = Region(lambda p: np.hypot(*(p - known).T) < 1e-6)
    ballot = Proposed([Region(lambda p: p[:, 0] > 2.0), near], marks, {}, b"")
    there, gone = (
        NoisyBallot(study).tally(ballot, cells, np.zeros(len(cells), dtype=int), x).packed()
        for cells in (x, np.delete(x, 200, axis=0))
    )
    # without noise the two differ, and where they do is public
    direction = (there - gone).astype(float)
    assert direction.any()
    spread = np.repeat(
        [float(v) for v in noise.ballot_variances(2)[:1]], Tally.none(2, 3).confusion.size
    )
    # the best linear statistic of the confusion matrices, whose counts have the least noise
    n = len(spread)
    weight = direction[:n] / spread
    draws = np.array(
        [
            sum(
                noise.votes(2, 3, bytes([i % 256, i // 256, site]) + bytes(29)) for site in range(3)
            )
            for i in range(400)
        ]
    )[:, :n]
    with_it, without = (draws + there[:n]) @ weight, (draws + gone[:n]) @ weight
    middle = ((there[:n] + gone[:n]) / 2.0) @ weight
    right = ((with_it > middle).mean() + (without <= middle).mean()) / 2.0
    most = np.exp(epsilon) / (1.0 + np.exp(epsilon))
    assert right < most + 3.0 * np.sqrt(0.25 / 800)
