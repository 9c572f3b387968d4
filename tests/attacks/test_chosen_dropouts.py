"""A server that chooses who has dropped out, on a sparse graph of masks; no site helps it.

It knows the graph and calls all of a site's partners vanished, so that the others hand it the keys
of their masks. Then it tries to get something of the site that only these masks hide: an answer, by
another list of survivors that the site alone is shown; an upload, by what the witnesses have said
in an earlier run; a ballot, by keys from an earlier sum, both under the same number of the session.
Or it counts sites for the threshold that are cut off from the sum, or leaves out all who deal the
key of the order.
"""

from dataclasses import dataclass

import msgspec
import pytest
from oracles import restore
from parties import identity, make_study

from fedhull.errors import BadMessage, InconsistentView
from fedhull.protocol import messages as m
from fedhull.protocol.client import ClientSession, ClientState
from fedhull.protocol.dealing import (
    COUNT_BYTES,
    COUNT_PRIME,
    fingerprints,
    keys_digest,
    place_in_order,
    share_of,
)
from fedhull.protocol.drive import MemoryEngine
from fedhull.protocol.graph import graph_of
from fedhull.protocol.keys import ExchangeKey, Randomness
from fedhull.protocol.masking import answer_salt, pairwise_mask, self_mask
from fedhull.protocol.server import ServerSession
from fedhull.protocol.shares import weights
from fedhull.rounds.counts import COUNTS

# So many that a graph bears it if the partners of one site leave, all of them.
SITES = {"n": 120, "graph": "sparse", "collusion": 0.01, "dropout": 0.025}
STEPS = ["advertise", "share", "announce", "upload", "confirm"]
ANSWER = [[37, 59]]


@dataclass(frozen=True)
class CountSum:
    """Two numbers of each site, which need no code: what the server opens is there to read."""

    number: int = 1
    ordered: bool = False
    most = (1,)

    @property
    def context(self):
        return b"sum %d" % self.number

    def layout(self, totals, participants):
        return COUNTS

    def open(self, vector, totals, survivors, participants):
        return COUNTS.to_ints(vector)


@dataclass(frozen=True)
class Count:
    """A site's part of it; it draws its place in the order, if there is one."""

    summation: CountSum
    numbers: tuple[int, int]
    announced = (1,)

    def draw(self, place, randomness):
        return place

    def vector(self, drawn, totals, participants):
        return COUNTS.vector([self.numbers])


class Run:
    """A session in the hands of a server that may lie; it keeps all that is said."""

    def __init__(self, study, session=None, invited=None, **summation):
        self.study, self.summation = study, CountSum(**summation)
        self.clients = {name: self.client(name) for name in study.clients}
        self.server = ServerSession(study, self.summation, None, session, invited)
        self.graph = self.server._graph
        self.header = {"study": study.hash, "session": self.server.session}
        self.engine = MemoryEngine(self.clients.values())
        self.told, self.said = {}, {}
        self.outgoing = self.server.start()

    def client(self, name, randomness=None):
        part = Count(self.summation, (self.study.seats[name], 1))
        return ClientSession(self.study, name, identity(name), part, randomness)

    def go_on(self, until):
        while self.server.step.value != until:
            step = self.server.step.value
            replies, _ = self.send(step, self.outgoing)
            self.outgoing = self.server.advance(replies)

    def send(self, step, messages):
        replies, failures = self.engine.step(step, messages)
        self.told |= {(step, name): raw for name, raw in messages.items()}
        self.said |= {(step, name): raw for name, raw in replies.items()}
        return replies, failures

    def message(self, kind, **fields):
        return m.encode_to_client(kind(**self.header, **fields), None)

    def survivors(self, names):
        return self.message(m.SurvivorList, survivors=self.study.marked(names))

    def confirm(self, names, by):
        return self.send("confirm", dict.fromkeys(by, self.survivors(names)))

    def confirmations(self):
        """Those of a quorum of witnesses."""
        confirmed = [name for name in self.graph.witnesses if ("confirm", name) in self.said]
        some = {name: self.said["confirm", name] for name in confirmed[: self.graph.quorum]}
        return self.message(m.ConfirmationList, confirmations=some)

    def unmask(self, names):
        """What these hand in, if the witnesses among them confirm that they survive."""
        self.confirm(names, by=names)
        replies, _ = self.send("unmask", dict.fromkeys(names, self.confirmations()))
        return {name: self.read(raw) for name, raw in replies.items()}

    def read(self, raw):
        return m.decode_signed(raw, self.study, self.server.session, 10**6)[1]

    def heard(self, step, name):
        """What a site was told in a step."""
        return m.decode_to_client(self.told[step, name], self.study)

    def lie(self, step, name, **changes):
        """The same, changed."""
        return m.encode_to_client(msgspec.structs.replace(self.heard(step, name), **changes), None)

    def twin(self, name, before):
        """A site as it was before a step, to be told something else than it was."""
        twin = self.client(name, Randomness(self.clients[name]._randomness.root))
        for step in STEPS[: STEPS.index(before)]:
            twin.receive(self.told[step, name])
        return twin

    def mask_keys(self, unmasked, owners):
        """The mask keys that can be restored of what was handed in {owner: key}."""
        found = {}
        for owner in owners:
            shares = {
                self.study.seats[holder]: int.from_bytes(given.key_shares[owner], "big")
                for holder, given in unmasked.items()
                if owner in given.key_shares
            }
            if len(shares) >= self.graph.enough_holders:
                found[owner] = ExchangeKey(restore(shares).to_bytes(32, "big"))
        return found

    def without_masks(self, vector, name, keys, salt):
        """A site's vector without the masks that these keys give."""
        public = self.server._advertised[name].mask_key
        agreed = {each: key.agree(public) for each, key in keys.items()}
        return COUNTS.subtract(vector, pairwise_mask(name, agreed, salt, COUNTS))

    def upload_of(self, name):
        return COUNTS.unpack(self.read(self.said["upload", name]).vector)


def chosen(study, fits):
    """(session, victim, what the function found): the server tries numbers of the session until it
    likes the graph."""
    for number in range(1, 200):
        session = number.to_bytes(16)
        graph = graph_of(study, session, ordered=False)
        ordinary = study.clients.keys() - graph.witnesses
        for victim in sorted(ordinary, key=lambda name: len(graph.partners(name)))[:8]:
            if found := fits(graph, victim):
                return session, victim, found
    raise AssertionError("there is no graph like this")


def far_away(study, graph, victim):
    """Those who share no mask with a site, if they can do without all who do: they have the
    witnesses, and shares of whatever they are asked for."""
    partners = graph.partners(victim)
    rest = graph.bearable(study.clients.keys() - partners - {victim})
    does = len(rest & graph.witnesses) >= graph.quorum and all(
        graph.keeps(name, rest) for name in partners
    )
    return rest if does else set()


# A site that is cut off from all of its partners, and what it says nevertheless.


@dataclass
class CutOff:
    """Two runs under one number. In the first the witnesses have confirmed that everybody survives,
    and nothing was unmasked. In the second, those far away from the victim have handed in the mask
    keys of all of its partners."""

    victim: str
    everybody: set[str]
    earlier: Run
    run: Run
    keys: dict[str, ExchangeKey]


@pytest.fixture(scope="module")
def cut_off():
    study = make_study(**SITES)

    def fits(graph, victim):
        rest = far_away(study, graph, victim)
        # as many of the victim's holders as it takes are no witnesses: these hear of all keys
        enough = len(graph.holders[victim] - graph.witnesses) >= graph.enough_holders
        return rest if enough and len(rest) >= study.threshold else set()

    session, victim, rest = chosen(study, fits)
    partners = graph_of(study, session, ordered=False).partners(victim)
    everybody = rest | partners | {victim}
    earlier, run = (Run(study, session, everybody) for _ in range(2))
    earlier.go_on("upload")
    witnesses = everybody & earlier.graph.witnesses
    earlier.send("upload", {name: earlier.outgoing[name] for name in witnesses})
    earlier.confirm(everybody, by=witnesses)
    run.go_on("upload")
    assert len(run.send("upload", run.outgoing)[0]) == len(everybody)
    keys = run.mask_keys(run.unmask(rest), partners)
    return CutOff(victim, everybody, earlier, run, keys)


def test_a_site_is_hidden_by_its_own_mask_once_those_of_all_partners_are_known(cut_off):
    victim, run = cut_off.victim, cut_off.run
    advertised = run.server._advertised
    assert cut_off.keys.keys() == run.graph.partners(victim)
    assert all(key.public == advertised[name].mask_key for name, key in cut_off.keys.items())
    bare = run.without_masks(run.upload_of(victim), victim, cut_off.keys, run.server._view)
    mine = [[run.study.seats[victim], 1]]
    assert COUNTS.to_ints(bare) != mine
    # the tests here are about the right thing: with a few shares of its seed it would lie bare
    own = self_mask(run.clients[victim]._seed, run.server._view, COUNTS)
    assert COUNTS.to_ints(COUNTS.subtract(bare, own)) == mine


def test_a_site_answers_noise_if_no_quorum_has_confirmed_who_survives(cut_off):
    run, name = cut_off.run, cut_off.victim
    victim = run.twin(name, before="confirm")
    # the victim alone is shown a list with itself and its partners
    victim.receive(run.survivors(cut_off.everybody))
    asked = run.study.marked(cut_off.everybody)
    victim.receive(run.message(m.Publish, content=b"{}", asked=asked))
    noise = Randomness(victim._randomness.root).token("noise publish")
    sent = COUNTS.unpack(run.read(victim.answer(COUNTS, COUNTS.vector(ANSWER))).numbers)
    salt = answer_salt(b"publish", run.server._view, b"{}", asked)
    assert COUNTS.to_ints(run.without_masks(sent, name, cut_off.keys, salt)) != ANSWER
    assert COUNTS.to_ints(sent) == COUNTS.to_ints(COUNTS.add_mask(COUNTS.zeros(), noise))


def test_confirmations_of_an_earlier_run_under_the_same_number_count_for_nothing(cut_off):
    run = cut_off.run
    for name in run.graph.holders[cut_off.victim]:
        holder = run.twin(name, before="confirm")
        holder.receive(run.survivors(cut_off.everybody))
        with pytest.raises(InconsistentView, match="different participants or survivors"):
            holder.receive(cut_off.earlier.confirmations())
        assert holder.state == ClientState.CONFIRMED


@pytest.mark.parametrize("first", ["earlier", "run"])
@pytest.mark.parametrize("then", ["earlier", "run"])
def test_announcements_of_an_earlier_run_under_the_same_number_count_for_nothing(
    cut_off, first, then
):
    """Whichever keys a site is told all participants have. Were it to upload under what the
    witnesses saw then, their confirmations of then would fit."""
    run, earlier = cut_off.run, cut_off.earlier
    first, then = (getattr(cut_off, which).server._fingerprints for which in (first, then))
    # not the witnesses, which know better before they announce anything
    for name in run.graph.holders[cut_off.victim] - run.graph.witnesses:
        holder = run.twin(name, before="announce")
        holder.receive(run.lie("announce", name, keys=keys_digest(first)))
        old = m.decode_to_client(earlier.outgoing[name], run.study)
        with pytest.raises(InconsistentView):
            holder.receive(
                m.encode_to_client(msgspec.structs.replace(old, fingerprints=then), None)
            )
        assert holder.state == ClientState.ANNOUNCED


# A site that is shown keys of its partners which the server has restored in an earlier sum.


@dataclass
class Stale:
    """Two sums of a study under one number. After the first the server has the mask keys of some
    holders of the victim's; in the second the victim is shown these `old` keys again, and hears of
    no other partner. `seen` are the fingerprints of all participants' keys as it was shown them."""

    victim: str
    old: dict[str, bytes]
    first: Run
    run: Run
    seen: bytes


@pytest.fixture(scope="module")
def stale():
    study = make_study(**SITES)

    def fits(graph, victim):
        # whoever seals nothing for the victim does not betray that it is there under other keys
        silent = graph.holders[victim] - graph.owners[victim] - graph.witnesses
        others = study.clients.keys() - (graph.partners(victim) - silent)
        rest = graph.bearable(others - silent - {victim})
        does = (
            len(silent) >= graph.enough_holders
            and len(rest) >= study.threshold
            and len(rest & graph.witnesses) >= graph.quorum
            and all(graph.keeps(name, rest) for name in silent)
        )
        return (silent, rest) if does else None

    session, victim, (holders, rest) = chosen(study, fits)
    first = Run(study, session, rest | holders | {victim})
    first.go_on("upload")
    first.send("upload", first.outgoing)
    keys = first.mask_keys(first.unmask(rest), holders)
    # the server could take these masks off
    assert {name: key.public for name, key in keys.items()} == {
        name: first.server._advertised[name].mask_key for name in holders
    }
    run = Run(study, session, rest | holders | {victim}, number=2)
    run.go_on("share")
    run.told |= {("share", victim): run.outgoing[victim]}
    old = {name: first.said["advertise", name] for name in holders}
    shown = run.heard("share", victim).advertisements | old
    run.outgoing[victim] = run.lie("share", victim, advertisements=shown)
    run.go_on("upload")
    run.told |= {("upload", victim): run.outgoing[victim]}
    participants = sorted(run.server._participants)
    assert holders | {victim} <= set(participants)
    seen = fingerprints((run.server._listed | old)[name] for name in participants)
    return Stale(victim, old, first, run, seen)


@pytest.mark.parametrize("first", ["as they are", "as shown to it"])
@pytest.mark.parametrize("then", ["as they are", "as shown to it"])
def test_a_site_that_was_shown_old_keys_of_others_uploads_nothing(stale, first, then):
    """Whatever it is told of all participants' keys, before it announces what it has seen, and
    after."""
    run, name = stale.run, stale.victim
    lists = {"as they are": run.server._fingerprints, "as shown to it": stale.seen}
    victim = run.twin(name, before="announce")
    victim.receive(run.lie("announce", name, keys=keys_digest(lists[first])))
    with pytest.raises(InconsistentView):
        victim.receive(run.lie("upload", name, fingerprints=lists[then]))
    assert victim.state == ClientState.ANNOUNCED


def test_no_witness_bears_out_old_keys(stale):
    run, keys = stale.run, keys_digest(stale.seen)
    for name in run.graph.witnesses & run.server._participants:
        # neither if it knows the new ones
        witness = run.twin(name, before="announce")
        with pytest.raises(InconsistentView, match="keys are not those"):
            witness.receive(run.lie("announce", name, keys=keys))
        # nor if it does not: what was sealed under the old ones was not for this session of its
        witness = run.twin(name, before="share")
        shown = run.heard("share", name).advertisements | stale.old
        witness.receive(run.lie("share", name, advertisements=shown))
        new, old = (each.heard("announce", name).sealed for each in (run, stale.first))
        for sealed in (new, new | {each: old[each] for each in stale.old}):
            with pytest.raises(BadMessage, match="does not open"):
                witness.receive(run.lie("announce", name, keys=keys, sealed=sealed))
        assert witness.state == ClientState.SHARED


# Sites that count for the threshold, and have no part in the sum.


@pytest.fixture
def thin():
    """(run in which everybody has uploaded, victim, those far away: one fewer than it takes)."""
    study = make_study(**SITES, threshold=98)

    def fits(graph, victim):
        rest, partners = far_away(study, graph, victim), graph.partners(victim)
        for name in sorted(rest - graph.witnesses):
            fewer = rest - {name}
            if len(fewer) >= study.threshold - 1 and all(
                graph.keeps(each, fewer) for each in fewer | partners
            ):
                rest = fewer
        return rest if len(rest) == study.threshold - 1 else set()

    session, victim, rest = chosen(study, fits)
    partners = graph_of(study, session, ordered=False).partners(victim)
    run = Run(study, session, rest | partners | {victim})
    run.go_on("upload")
    run.send("upload", run.outgoing)
    return run, victim, rest


def test_nobody_confirms_survivors_of_whom_one_is_cut_off_from_the_others(thin):
    """No mask leads from the one to the others, whose sum would be over too few. None of those who
    hold its shares is asked."""
    run, victim, rest = thin
    assert not rest & run.graph.partners(victim)
    _, failures = run.confirm(rest | {victim}, by=rest | {victim})
    assert failures == dict.fromkeys(rest | {victim}, "BelowThreshold")
    assert {run.clients[name].state for name in rest} == {ClientState.UPLOADED}


def test_answers_of_sites_do_not_add_up_if_one_who_is_asked_is_cut_off_from_them(thin):
    run, victim, rest = thin
    assert len(run.unmask(run.server._participants)) == len(run.server._participants)
    asked = run.study.marked(rest | {victim})
    total = COUNTS.zeros()
    for name in rest:
        run.clients[name].receive(run.message(m.Publish, content=b"{}", asked=asked))
        answer = run.read(run.clients[name].answer(COUNTS, COUNTS.vector(ANSWER)))
        total = COUNTS.add(total, COUNTS.unpack(answer.numbers))
    assert COUNTS.to_ints(total) != [[len(rest) * each for each in ANSWER[0]]]


# The key of the order.


@pytest.mark.parametrize("step", ["advertise", "share"])
def test_no_site_goes_by_an_order_whose_key_nobody_has_dealt(step):
    """The server, which says who takes part, would know the order as well as they do."""
    study, session = make_study(50, graph="sparse"), bytes(16)
    dealers = graph_of(study, session, ordered=True).dealers
    run = Run(study, session, ordered=True)
    # the others can do without them
    assert len(run.graph.witnesses - dealers) >= run.graph.quorum
    run.go_on(step)
    replies, _ = run.send(step, run.outgoing)
    run.outgoing = run.server.advance({n: raw for n, raw in replies.items() if n not in dealers})
    run.go_on("announce")
    _, failures = run.send("announce", run.outgoing)
    assert failures == dict.fromkeys(run.server._participants, "BelowThreshold")
    assert {run.clients[name].state for name in run.server._participants} == {ClientState.SHARED}


def test_one_dealer_is_enough_for_an_order_that_the_server_does_not_know():
    study, session = make_study(50, graph="sparse"), bytes(16)
    dealers = graph_of(study, session, ordered=True).dealers
    run = Run(study, session, study.clients.keys() - set(sorted(dealers)[1:]), ordered=True)
    run.go_on("done")
    names = run.server._survivors
    places = [run.clients[name].drawn for name in names]
    assert sorted(places) == list(range(len(names)))
    assert places != [place_in_order(name, names, b"") for name in names]


# What a site has seen is in its masks.


def test_what_a_site_uploads_under_other_totals_does_not_add_up_with_the_rest():
    """Here one witness helps the server: with a wrong share of its, the victim restores a total
    that nobody else is shown."""
    run = Run(make_study(12, graph="sparse"))
    run.go_on("upload")
    victim = min(run.clients.keys() - run.graph.witnesses)
    honest = m.decode_to_client(run.outgoing[victim], run.study)
    shares = {
        run.study.seats[name]: share_of(run.read(raw).shares, 0)
        for name, raw in honest.announcements.items()
    }
    # the total is Σ weight·share, and becomes smaller by one
    helper = min(honest.announcements)
    seat, weight = run.study.seats[helper], weights(shares, prime=COUNT_PRIME)
    wrong = (shares[seat] - pow(weight[seat], -1, COUNT_PRIME)) % COUNT_PRIME
    view = run.clients[helper]._view
    forged = m.Announce(**run.header, view=view, shares=wrong.to_bytes(COUNT_BYTES, "big"))
    said = honest.announcements | {helper: m.encode_signed(forged, helper, identity(helper))}
    lie = msgspec.structs.replace(honest, totals=[honest.totals[0] - 1], announcements=said)
    run.outgoing[victim] = m.encode_to_client(lie, None)
    replies, failures = run.send("upload", run.outgoing)
    assert not failures
    # the server overlooks that the victim has seen something else than the others
    same = msgspec.structs.replace(run.read(replies[victim]), view=run.server._view)
    replies[victim] = m.encode_signed(same, victim, identity(victim))
    run.outgoing = run.server.advance(replies)
    run.go_on("done")
    opened, truth = run.server.aggregate, [[sum(run.study.seats.values()), len(run.clients)]]
    assert victim in run.server._survivors
    assert opened != truth
    # it can take off the victim's own mask as it was; the masks with others are left
    as_was, as_not = (
        self_mask(run.clients[victim]._seed, seen, COUNTS)
        for seen in (run.clients[victim]._view, run.server._view)
    )
    better = COUNTS.subtract(COUNTS.add(COUNTS.vector(opened), as_not), as_was)
    assert COUNTS.to_ints(better) != truth
