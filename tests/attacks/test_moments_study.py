"""A coordinator and a site that lie in a study of moments: nobody's moments stand out, nobody's
classes are found out, and totals that no cells have are not learned from."""

import json
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from conformance import agree, sites_in_memory
from federations import AGREED, ALIGNED, MOMENTS, draft, make_data
from hypothesis import given
from hypothesis import strategies as st
from restarting import Restarting

from fedhull.codes.field import from_elements, to_elements
from fedhull.errors import BadMessage, BelowThreshold, OutOfTurn, UnknownLabelSum
from fedhull.kits.kit import Kit
from fedhull.kits.provision import make_kits
from fedhull.learn.centres import Centres
from fedhull.learn.horocycles import SCALES, draw_horocycles
from fedhull.learn.moments import BITS, Extent, Moments, moments_of_points
from fedhull.protocol import messages as m
from fedhull.protocol.drive import MemoryEngine
from fedhull.rounds.centres import isometry_of
from fedhull.rounds.learning import ModelNews
from fedhull.rounds.match import MatchNews, sealed_entries
from fedhull.rounds.moments import MOMENT_FIELD, MomentSums
from fedhull.rounds.round import Known, RoundSummation
from fedhull.rounds.run import Coordinator, run_study
from fedhull.study.draft import draft_study
from fedhull.study.kinds import task_of

NAMES = ["lab-a", "lab-b", "lab-c", "lab-d"]


@pytest.fixture
def parties(tmp_path):
    return made_parties(tmp_path, MOMENTS)


def made_parties(folder, extra):
    """(kits, data): everybody's consent is given."""
    kits = make_kits(draft(NAMES, extra), folder / "kits").folder
    data = make_data(folder, NAMES)
    for name in NAMES:
        agree(kits, name, data)
    return kits, data


class Watching:
    """An engine that notes all that the coordinator gets to see of each step, content apart; and
    may change what a site is shown between the sums."""

    def __init__(self, engine, change=lambda name, raw: raw):
        self.engine, self.change = engine, change
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


class Lying(Coordinator):
    """Publishes after the first sum what `forge` makes of it, and stands by it."""

    def __init__(self, study, forge=lambda lying, news: news, at_the_end=None):
        super().__init__(study, task_of(study).rounds)
        self.forge, self.at_the_end = forge, at_the_end

    def publish(self, news):
        if isinstance(news, MatchNews):
            self.news = super().publish(self.forge(self, news))
            return self.news
        content = super().publish(news)
        at_the_end = self.at_the_end and isinstance(news, ModelNews)
        return self.at_the_end(self) if at_the_end else content

    @property
    def matched(self):
        return self.opened[0].total


def run(parties, coordinator=None, change=lambda name, raw: raw, engine=None):
    """(what the coordinator saw, its sites, what it has or the error that it ran into)."""
    kits, data = parties
    server = Kit.open(kits / "server")
    sites = {site.name: site for site in sites_in_memory(kits, data)}
    watching = Watching(engine or MemoryEngine(sites.values()), change)
    try:
        outcome = run_study(coordinator or Lying(server.study), watching, server.identity)
    except (BelowThreshold, UnknownLabelSum) as problem:
        outcome = problem
    return watching, sites, outcome


def study_of(parties):
    return Kit.open(parties[0] / "server").study


# What is published between the sums


def test_a_site_that_was_told_something_else_than_the_others_uploads_nothing(parties):
    server = Kit.open(parties[0] / "server")

    def another(name, raw):
        if name != "lab-a":
            return raw
        message = m.decode_to_client(raw, server.study)
        news = msgspec.msgpack.decode(message.content, type=MatchNews)
        other = MatchNews(news.n_classes, news.entries | {7: bytes(40)})
        other = msgspec.msgpack.encode(other)
        return m.encode_to_client(msgspec.structs.replace(message, content=other), server.identity)

    watching, sites, outcome = run(parties, change=another)
    assert sites["lab-a"].complaint is None  # it cannot know
    assert watching.uploads[0] == NAMES
    # what its peers seal for it does not open, so its moments stay masked, or never leave
    assert len(watching.uploads) == 1 or "lab-a" not in watching.uploads[1]
    assert isinstance(outcome, BelowThreshold) or "lab-a" not in outcome.survivors


def two_for_one(lying, news, place):
    numbers = lying.matched.match.groups.copy()
    mine = [
        i for i, lab in enumerate(lying.matched.match.labels) if lying.study.place_of(lab) == place
    ]
    numbers[mine[0]] = numbers[mine[1]]
    return resealed(lying, news, place, numbers)


def beyond(lying, news, place):
    numbers = [n + news.n_classes for n in lying.matched.match.groups]
    return resealed(lying, news, place, numbers)


def resealed(lying, news, place, numbers):
    match = replace(lying.matched.match, groups=np.array(numbers))
    entries = sealed_entries(lying.study, match, lying.matched.said.secrets, news.bound_to)
    return MatchNews(news.n_classes, news.entries | {place: entries[place]})


def left_out(lying, news, place):
    return MatchNews(news.n_classes, {p: e for p, e in news.entries.items() if p != place})


def another_key(lying, news, place):
    return MatchNews(news.n_classes, news.entries | {place: bytes(len(news.entries[place]))})


LIES = [two_for_one, beyond, left_out, another_key]


@pytest.mark.parametrize("lie", LIES)
def test_nonsense_about_the_classes_of_one_place_does_not_tell_whose_they_are(parties, lie):
    """A site that stayed away would show that the place is its own. It spoils the sum instead."""
    honest, sites, _ = run(parties)
    assert not any(site.complaint for site in sites.values())

    def about_one(lying, news):
        return lie(lying, news, sorted(news.entries)[0])

    watching, sites, outcome = run(parties, Lying(study_of(parties), about_one))
    objecting = [name for name, site in sites.items() if site.complaint is not None]
    assert len(objecting) == 1
    assert isinstance(sites[objecting[0]].complaint, BadMessage)
    assert isinstance(outcome, UnknownLabelSum)
    # up to the sum, which is not one of moments, every step looks as in an honest study
    assert watching.seen == honest.seen[: len(watching.seen)]
    assert watching.seen[-1][:2] == (2, "unmask")


def test_a_coordinator_that_goes_on_without_the_sum_sees_nothing_in_later_sums(
    tmp_path, monkeypatch
):
    """Where sites align themselves, there are sums between the nonsense and the last. What comes of
    them the coordinator can make up."""
    parties = made_parties(tmp_path, ALIGNED)
    opening, made_up = RoundSummation.open, {}

    def remember(self, *parts):
        opened = opening(self, *parts)
        centres = opened.total
        if not isinstance(centres, Centres):
            return opened
        # of one cell each, so that nobody can object that there are more than were announced
        sums = np.rint(centres.sums / centres.counts[:, None]).astype(np.int64)
        single = Centres(np.ones(len(sums), dtype=np.int64), sums)
        made_up[self.number] = replace(opened, total=single)
        return opened

    def make_up(self, *parts):
        return made_up[self.number] if self.number in made_up else opening(self, *parts)

    monkeypatch.setattr(RoundSummation, "open", remember)
    honest, _, _ = run(parties)
    monkeypatch.setattr(RoundSummation, "open", make_up)

    def about_one(lying, news):
        return two_for_one(lying, news, sorted(news.entries)[0])

    watching, sites, outcome = run(parties, Lying(study_of(parties), about_one))
    assert sorted(made_up) == [2, 3]
    assert sum(site.complaint is not None for site in sites.values()) == 1
    assert watching.seen == honest.seen[: len(watching.seen)]
    assert watching.seen[-1][:2] == (4, "unmask")
    assert isinstance(outcome, UnknownLabelSum)


def test_centres_that_a_site_cannot_align_itself_to_do_not_make_it_stay_away(tmp_path, monkeypatch):
    parties = made_parties(tmp_path, ALIGNED)
    honest, _, _ = run(parties)

    def fail(*parts):
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr("fedhull.rounds.centres.align_site", fail)
    watching, sites, outcome = run(parties)
    assert watching.seen == honest.seen
    assert outcome.survivors == NAMES
    assert all(isometry_of(site.own) is None for site in sites.values())


def test_an_objection_outlives_a_process_and_its_owner_hears_of_it_at_the_end(parties):
    kits, _ = parties
    engine = Restarting(kits, NAMES)

    def about_one(lying, news):
        return two_for_one(lying, news, sorted(news.entries)[0])

    _, _, outcome = run(parties, Lying(study_of(parties), about_one), engine=engine)
    assert isinstance(outcome, UnknownLabelSum)
    results = {name: kits / name / "results" / "run" for name in NAMES}
    (objecting,) = [name for name in NAMES if (results[name] / "objection.txt").exists()]
    # until then a last word would end the site's process, and so give it away
    assert not any((results[name] / "status.json").exists() for name in NAMES)
    for name in NAMES:
        engine.site(name).end()
    status = {name: json.loads((results[name] / "status.json").read_text()) for name in NAMES}
    assert status.pop(objecting)["error"] == "BadMessage"
    assert {each["error"] for each in status.values()} == {"EngineFailure"}


def test_whatever_is_published_at_the_end_a_site_that_objected_answers_with_noise(parties):
    def about_one(lying, news):
        return left_out(lying, news, sorted(news.entries)[0])

    watching, sites, _ = run(parties, Lying(study_of(parties), about_one))
    (name,) = [name for name, site in sites.items() if site.complaint is not None]
    server = Kit.open(parties[0] / "server")
    content, replies = b"anything", {}
    for site in sites.values():
        message = m.Publish(
            study=server.study.hash,
            session=site.session._session,
            content=content,
            asked=server.study.marked(NAMES),
        )
        replies[site.name] = site.receive(m.encode_to_client(message, server.identity))
    assert len({len(reply) for reply in replies.values()}) == 1
    assert "class" in str(sites[name].complaint)
    assert not sites[name].done
    assert watching.uploads == [NAMES, NAMES]


@pytest.mark.parametrize("n_classes", [25, 10**9])
def test_more_classes_than_there_can_be_are_refused_by_all_alike(parties, n_classes):
    """Four sites may have six classes each. All sites see that alike, so that none stands out."""
    lying = Lying(study_of(parties), lambda lying, news: MatchNews(n_classes, news.entries))
    watching, sites, outcome = run(parties, lying)
    assert all(isinstance(site.complaint, BadMessage) for site in sites.values())
    assert watching.seen[6] == (1, "publish", {}, {})
    assert watching.seen[7:] == [(2, "advertise", {}, dict.fromkeys(NAMES, "OutOfTurn"))]
    assert isinstance(outcome, BelowThreshold)
    assert len(watching.uploads) == 1


def test_the_first_publication_as_the_last_is_no_model_and_the_answers_say_nothing(tmp_path):
    parties = made_parties(tmp_path, f"{MOMENTS}\nballot = false")
    honest, _, fine = run(parties)
    lying = Lying(study_of(parties), at_the_end=lambda lying: lying.news)
    watching, sites, outcome = run(parties, lying)
    assert all(isinstance(site.complaint, BadMessage) for site in sites.values())
    assert watching.seen == honest.seen
    assert fine.counts.correct is not None
    assert outcome.counts.correct is None


def test_a_publication_that_comes_again_is_answered_by_nobody(parties):
    said = {}

    def keep(name, raw):
        said[name] = raw
        return raw

    _, _, outcome = run(parties, change=keep)
    assert outcome.survivors == NAMES
    kits, data = parties
    again = {site.name: site for site in sites_in_memory(kits, data)}
    engine, server = MemoryEngine(again.values()), Kit.open(kits / "server")

    class Repeating:
        """Shows every site what was published after the first sum once more."""

        def step(self, kind, messages, timeout=0.0):
            answer = engine.step(kind, messages)
            if kind == "publish":
                replies, failures = engine.step(kind, messages)
                assert replies == {}
                assert failures == dict.fromkeys(NAMES, OutOfTurn.__name__)
            return answer

    outcome = run_study(server.task.coordinator(), Repeating(), server.identity)
    assert outcome.survivors == NAMES
    # nor does a message of another session of the same study count
    for site in sites_in_memory(kits, data):
        with pytest.raises(OutOfTurn):
            site.receive(said[site.name])


# What is summed


def test_a_site_that_adds_something_else_than_moments_is_noticed_by_the_sum(parties):
    kits, data = parties
    server = Kit.open(kits / "server")
    sites = {site.name: site for site in sites_in_memory(kits, data)}
    *before, last = sites["lab-b"].rounds

    class Lied(MomentSums):
        def own_moments(self, known, own, totals):
            true = super().own_moments(known, own, totals)
            return Moments(-true.gram, true.sums, true.counts)

    sites["lab-b"].rounds = (*before, Lied(last.study, last.ballot))
    with pytest.raises(UnknownLabelSum, match="some site has sent something else"):
        run_study(server.task.coordinator(), MemoryEngine(sites.values()), server.identity)


STUDY = draft_study(4, 3, summary="moments", features=6)
SUMMATION = RoundSummation(MomentSums(STUDY), Known((b"",), (MatchNews(3, {}),)))


def true_sum(seed):
    """(totals, extent, vector) of cells in three classes."""
    rng = np.random.default_rng(seed)
    x, classes = rng.uniform(-0.6, 0.6, (60, 2)), np.arange(60) % 3
    totals = (20, 20, 20)
    extent = Extent.of(totals, 6, 2, STUDY.disclosure.min_cells)
    waves = draw_horocycles(6, 2, SCALES, STUDY.learning.seed)
    moments = moments_of_points(x, classes, 3, waves, 1.0)
    return totals, extent, moments.packed(extent)


def opened(totals, packed):
    vector = [to_elements(packed, MOMENT_FIELD)]
    return SUMMATION.open(vector, totals, list(STUDY.clients), 4).total


def position_of(extent, what, class_=0, feature=0):
    """Where a number lies in packed moments: the gram's diagonal, a class's sum or its count."""
    d = extent.features
    triangle = d * (d + 1) // 2
    if what == "diagonal":
        return sum(d - i for i in range(feature))
    if what == "sum":
        return triangle + sum(extent.of_class[:class_]) + feature
    return triangle + sum(extent.of_class) + class_


@given(st.integers(0, 50))
def test_sums_that_cells_have_are_opened(seed):
    totals, extent, packed = true_sum(seed)
    assert extent.features == 6
    total = opened(totals, packed)
    assert (total.moments.packed(extent) == packed).all()
    assert (from_elements(to_elements(packed, MOMENT_FIELD), MOMENT_FIELD) == packed).all()


@given(st.integers(0, 50), st.integers(0, 2), st.integers(1, 2**40))
def test_more_cells_than_were_announced_are_refused(seed, class_, more):
    totals, extent, packed = true_sum(seed)
    packed[position_of(extent, "count", class_)] += more
    with pytest.raises(UnknownLabelSum, match="announced"):
        opened(totals, packed)


@given(st.integers(0, 50), st.integers(0, 2), st.integers(21, 2**40))
def test_fewer_cells_than_none_are_refused(seed, class_, fewer):
    totals, extent, packed = true_sum(seed)
    packed[position_of(extent, "count", class_)] -= fewer
    with pytest.raises(UnknownLabelSum):
        opened(totals, packed)


@given(st.integers(0, 50), st.integers(0, 5), st.floats(0.01, 1.0))
def test_a_gram_that_is_not_positive_is_refused(seed, feature, by):
    totals, extent, packed = true_sum(seed)
    packed[position_of(extent, "diagonal", feature=feature)] = -int(by * 2.0 ** (2 * BITS))
    with pytest.raises(UnknownLabelSum):
        opened(totals, packed)


@given(st.integers(0, 50), st.integers(0, 2), st.integers(0, 5))
def test_sums_larger_than_their_squares_allow_are_refused(seed, class_, feature):
    """Cauchy and Schwarz: (Σφ)² ≤ n·Σφ², of a class and so of all cells."""
    totals, extent, packed = true_sum(seed)
    diagonal = position_of(extent, "diagonal", feature=feature)
    packed[diagonal] //= 100
    packed[position_of(extent, "sum", class_, feature)] = 20 * 2**BITS
    with pytest.raises(UnknownLabelSum):
        opened(totals, packed)


@given(st.integers(0, 50), st.integers(0, 2**32))
def test_noise_is_refused(seed, noise):
    totals, _, packed = true_sum(seed)
    rng = np.random.default_rng(noise)
    with pytest.raises(UnknownLabelSum):
        opened(totals, rng.integers(-(2**60) + 1, 2**60, len(packed)))


def test_with_agreed_names_there_is_nothing_between_sums_to_lie_about(tmp_path):
    kits = make_kits(draft(NAMES, f"{MOMENTS}\n{AGREED}"), tmp_path / "kits").folder
    watching, sites, outcome = run((kits, make_data(tmp_path, NAMES)))
    assert [kind for _, kind, *_ in watching.seen].count("publish") == 1
    assert outcome.survivors == NAMES
    assert not any(site.complaint for site in sites.values())
