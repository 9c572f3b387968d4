"""A coordinator that lies, alone or with a site's help: what it tries, and that it learns nothing.

The sites hold real data; the coordinator departs from the protocol in what it publishes, to whom it
shows what, and in what it asks for.
"""

import msgspec
import numpy as np
import pytest
from parties import identity, make_clients, make_server, make_study, random_hulls, summation
from scipy import stats

from fedhull.data.generated import make_tree
from fedhull.errors import BadMessage
from fedhull.protocol import messages as m
from fedhull.protocol.dealing import COUNT_PRIME
from fedhull.protocol.drive import MemoryEngine, drive
from fedhull.rounds.counts import COUNTS, Counts
from fedhull.rounds.hulls import HullSums
from fedhull.rounds.learning import ModelNews
from fedhull.rounds.match import _context
from fedhull.rounds.pseudonym import open_entries
from fedhull.study.kinds import task_of

SIZES = [3, 4, 6]


class Study:
    """A study of real sites, up to the sum, in the hands of a coordinator that may lie."""

    def __init__(self, n: int):
        study = make_study(n, classes=3, epsilon=0.2)
        geometry = msgspec.structs.replace(study.geometry, radius=0.99)
        self.study = msgspec.structs.replace(study, geometry=geometry)
        task = task_of(self.study)
        data = make_tree(90 * n, lineages=3, batches=n, seed=0)
        self.sites = {}
        for i, name in enumerate(sorted(study.clients)):
            # every site has another number of classes
            mine = (data.batch == i) & np.isin(data.y, np.unique(data.y)[: 1 + (i % 3)])
            held = task.prepare(data.x[mine], data.y[mine])
            self.sites[name] = task.site(name, identity(name), held)
        self.engine = MemoryEngine(self.sites.values())
        self.session = make_server(self.study)
        opened = drive(self.session, self.engine)
        self.total = opened.total
        self.content = task.coordinator().take(opened).content

    def publish(self, content_for) -> tuple[dict[str, bytes], Counts]:
        """Show every site what the coordinator has made for it; what comes back."""
        outgoing = {
            name: self.session.publish(content_for(name), COUNTS)[name] for name in self.sites
        }
        replies, failures = self.engine.step("publish", outgoing)
        assert failures == {}
        return replies, Counts.of(self.session.answers(replies), self.session.evaluators)

    def with_entries(self, change) -> bytes:
        """The publication with its entries changed: {place: entry} to {place: entry}."""
        published = msgspec.msgpack.decode(self.content, type=ModelNews)
        changed = msgspec.structs.replace(published, entries=change(dict(published.entries)))
        return msgspec.msgpack.encode(changed)


def flipped(entry: bytes) -> bytes:
    return bytes([entry[0] ^ 1]) + entry[1:]


LIES = {
    "no entry": lambda entries, place: {k: v for k, v in entries.items() if k != place},
    "an entry that does not open": lambda entries, place: (
        entries | {place: flipped(entries[place])}
    ),
    "another's entry": lambda entries, place: dict.fromkeys(entries, entries[place]),
    "an entry for one only": lambda entries, place: {place: entries[place]},
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("n", SIZES)
def test_no_publication_makes_sites_tell_whose_place_is_whose(n, lie):
    study = Study(n)
    place = next(iter(study.total.secrets))
    content = study.with_entries(lambda entries: LIES[lie](entries, place))
    replies, counts = study.publish(lambda name: content)
    # one reply of each, all of one form and size, and a sum that says nothing
    assert sorted(replies) == sorted(study.sites)
    assert len({len(reply) for reply in replies.values()}) == 1
    assert (counts.correct, counts.tested) == (None, None)
    # the site itself knows, and takes no second publication
    hit = [site for site in study.sites.values() if site.complaint is not None]
    assert hit
    assert all(isinstance(site.complaint, BadMessage) for site in hit)
    again = study.session.publish(study.content, COUNTS)
    replies, failures = study.engine.step("publish", again)
    assert replies == {}
    assert set(failures.values()) == {"OutOfTurn"}


@pytest.mark.parametrize("n", SIZES)
def test_what_a_site_is_shown_alone_tells_nothing_about_it(n):
    # the true model to the victim, to the others one that is always wrong, with entries that open
    study = Study(n)
    victim = next(iter(study.sites))
    learned = HullSums(study.study).learn_from(study.total)
    learned.model.classes_ = np.roll(learned.model.classes_, 1)
    wrong = published_again(study, learned)
    _, counts = study.publish(lambda name: study.content if name == victim else wrong)
    assert (counts.correct, counts.tested) == (None, None)
    assert all(site.complaint is None for site in study.sites.values())


def test_who_is_asked_is_the_same_for_all_or_nothing_is_learned():
    study = Study(4)
    names, header = (
        sorted(study.sites),
        {"study": study.study.hash, "session": study.session.session},
    )
    replies = {}
    for name in names:
        asked = study.study.marked(names if name == "site-a" else names[1:])
        message = m.Publish(**header, content=study.content, asked=asked)
        replies[name] = study.sites[name].receive(m.encode_to_client(message, None))
    study.session.publish(study.content, COUNTS)
    counts = Counts.of(study.session.answers(replies), names)
    assert (counts.correct, counts.tested) == (None, None)


def test_an_honest_publication_is_counted():
    study = Study(4)
    _, counts = study.publish(lambda name: study.content)
    assert counts.tested == sum(site.finding.tested for site in study.sites.values())
    assert counts.correct == sum(site.finding.correct for site in study.sites.values())


def test_no_site_can_read_which_classes_another_holds():
    study = Study(6)
    published = msgspec.msgpack.decode(study.content, type=ModelNews)
    # as long for one class as for three
    assert len({len(site.session.drawn.labels) for site in study.sites.values()}) == 3
    assert len({len(entry) for entry in published.entries.values()}) == 1
    for site in study.sites.values():
        me = site.session.drawn
        for place, entry in published.entries.items():
            context = _context(published.model, place)
            if place == me.place:
                opened = open_entries(me.secret, entry, context)
                assert sum(c is not None for c in opened) == len(site.session.drawn.labels)
            else:
                with pytest.raises(BadMessage):
                    open_entries(me.secret, entry, context)


def published_again(study, learned):
    last = HullSums(study.study)
    return last.write(last.publication(learned.model, learned))


def test_two_publications_of_one_sum_share_no_keystream():
    study = Study(4)
    again = HullSums(study.study).learn_from(study.total)
    again.model.classes_ = np.roll(again.model.classes_, 1)
    first, second = (
        msgspec.msgpack.decode(content, type=ModelNews).entries
        for content in (study.content, published_again(study, again))
    )
    for place in first:
        # the entries say the same; sealed under one key, they would be the same bytes
        assert first[place][:-16] != second[place][:-16]


# With a site's help.


@pytest.mark.parametrize("n", range(3, 27))
def test_by_default_one_site_may_work_with_the_coordinator_whatever_the_number_of_sites(n):
    study = make_study(n)
    assert 1 <= study.tolerated < 2 * study.threshold - n
    assert study.threshold - study.tolerated >= 2


@pytest.mark.parametrize("n", [3, 4])
def test_a_coordinator_and_one_site_cannot_say_whose_hulls_are_whose(n):
    """The coordinator knows the hulls of every place. In version 1 every site knew the order of the
    places, and every guess was right; now not even a site can say more than by the names' order."""
    right = tried = 0
    for seed in range(60):
        study = make_study(n)
        clients = make_clients(study, random_hulls(study, seed))
        total = drive(make_server(study), MemoryEngine(clients.values())).total
        colluder = clients["site-a"]
        assert colluder._order_key == b""
        places = sorted(total.secrets)
        others = [name for name in sorted(clients) if name != "site-a"]
        left = [place for place in places if place != colluder.drawn.place]
        for name, place in zip(others, left, strict=True):
            tried += 1
            right += clients[name].drawn.place == place
    assert stats.binomtest(right, tried, 1 / (n - 1), alternative="greater").pvalue > 1e-4


def test_the_shares_of_how_much_a_site_sends_tell_a_peer_nothing():
    held = []
    for seed in range(80):
        study = make_study(3)
        clients = make_clients(study, random_hulls(study, seed % 4))
        drive(make_server(study), MemoryEngine(clients.values()))
        held += [
            int.from_bytes(secrets.count_shares, "big") / COUNT_PRIME
            for name, secrets in clients["site-a"]._received.items()
            if name != "site-a"
        ]
    assert stats.kstest(held, "uniform").pvalue > 1e-4


def test_with_three_sites_two_lists_of_survivors_open_nothing():
    """A coordinator that has site-a's help tells site-b that site-c has vanished, and site-c that
    site-b has. With a threshold of two it would get both kinds of share of both."""
    study = make_study(3)
    clients = make_clients(study, random_hulls(study, 0))
    server, engine = make_server(study), MemoryEngine(clients.values())
    outgoing = server.start()
    while server.step.value != "confirm":
        outgoing = server.advance(engine.step(server.step.value, outgoing)[0])
    header = {"study": study.hash, "session": server.session}
    for name in ("site-b", "site-c"):
        lie = m.SurvivorList(**header, survivors=study.marked(["site-a", name]))
        _, failures = engine.step("confirm", {name: m.encode_to_client(lie, None)})
        assert failures == {name: "BelowThreshold"}


def test_sums_of_different_sizes_for_different_sites_open_nothing():
    study = make_study(4)
    clients = make_clients(study, random_hulls(study, 0))
    server, engine = make_server(study), MemoryEngine(clients.values())
    outgoing = server.start()
    while server.step.value != "upload":
        outgoing = server.advance(engine.step(server.step.value, outgoing)[0])
    header = {"study": study.hash, "session": server.session}
    (total,), honest = server._totals, m.decode_to_client(outgoing["site-a"], study)
    lie = m.Size(
        **header,
        totals=[total + 8],
        fingerprints=honest.fingerprints,
        announcements=honest.announcements,
    )
    replies, failures = engine.step("upload", outgoing | {"site-a": m.encode_to_client(lie, None)})
    assert failures == {"site-a": "InconsistentView"}
    server.advance(replies)
    assert "site-a" not in server._survivors
    assert summation(study).layout(server._totals, 4) == server._layout


def test_a_coordinator_cannot_say_that_more_was_announced_than_was():
    """What leaves may depend on the totals, so sites restore them from each other's shares."""
    study = make_study(4)
    clients = make_clients(study, random_hulls(study, 0))
    server, engine = make_server(study), MemoryEngine(clients.values())
    outgoing = server.start()
    while server.step.value != "upload":
        outgoing = server.advance(engine.step(server.step.value, outgoing)[0])
    honest = m.decode_to_client(outgoing["site-a"], study)
    fewer = dict(list(honest.announcements.items())[:-1])
    swapped = dict(zip(honest.announcements, reversed(honest.announcements.values()), strict=True))
    for announcements, totals, error in (
        (honest.announcements, [honest.totals[0] + 8], "InconsistentView"),
        (fewer, honest.totals, "BelowThreshold"),
        (swapped, honest.totals, "BadMessage"),
        ({}, honest.totals, "BelowThreshold"),
        (honest.announcements, [*honest.totals, 1], "BadMessage"),
    ):
        lie = msgspec.structs.replace(honest, announcements=announcements, totals=totals)
        _, failures = engine.step("upload", {"site-a": m.encode_to_client(lie, None)})
        assert failures == {"site-a": error}
    assert clients["site-a"].receive(outgoing["site-a"])
