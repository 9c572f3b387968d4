"""A server that lies where sites share masks with a few others only, alone or with sites' help.

With a complete graph a site is hidden among all; here its masks lead to a few dozen others, whom
the server knows. It tries to cut a site off from them, to show different things to different sites,
and to gather both kinds of share.
"""

from collections import Counter

import msgspec
import numpy as np
import pytest
from parties import Listening, identity, make_clients, make_server, make_study, random_hulls
from scipy import stats

from fedhull.codes.power_sums import SLOT_FIELD
from fedhull.errors import BelowThreshold
from fedhull.protocol import messages as m
from fedhull.protocol.client import ClientState
from fedhull.protocol.dealing import fingerprints, keys_digest, lengths
from fedhull.protocol.keys import Randomness, seal, unseal
from fedhull.protocol.masking import pairwise_mask, self_mask
from fedhull.rounds.counts import COUNTS, Counts

SITES = 40
VICTIM = "site-007"


class Session:
    """A session on a sparse graph up to a step, in the hands of a server that may lie."""

    def __init__(self, step=None, seed=0, **options):
        self.study = make_study(SITES, graph="sparse", **options)
        self.clients = make_clients(self.study, random_hulls(self.study, seed))
        self.server, self.engine = make_server(self.study), Listening(self.clients.values())
        self.graph = self.server._graph
        self.outgoing = self.server.start()
        self.go_on(until=step)

    def go_on(self, until=None):
        while self.outgoing and self.server.step.value != until:
            self.outgoing = self.server.advance(self.step(self.outgoing)[0])

    def step(self, messages):
        return self.engine.step(self.server.step.value, messages)

    def lie(self, **changes):
        """The messages of this step, with fields changed to what the functions give for a site."""
        lies = {}
        for name, raw in self.outgoing.items():
            honest = m.decode_to_client(raw, self.study)
            changed = {field: change(name) for field, change in changes.items()}
            lies[name] = m.encode_to_client(msgspec.structs.replace(honest, **changed), None)
        return lies

    def states(self):
        return Counter(client.state for client in self.clients.values())


def halves(session):
    """Two halves of all sites, and of the witnesses among them."""
    names = sorted(session.clients, key=lambda name: (name in session.graph.witnesses, name))
    return set(names[::2]), set(names[1::2])


# Cutting a site off.


def test_a_list_of_survivors_without_a_sites_partners_gets_no_share_of_it():
    session = Session("confirm")
    partners = session.graph.partners(VICTIM)
    few = sorted(session.graph.holders[VICTIM])[: session.graph.enough_holders - 1]
    kept = (session.clients.keys() - partners) | set(few)
    survivors = session.study.marked(kept)
    lies = {n: r for n, r in session.lie(survivors=lambda name: survivors).items() if n in kept}
    _, failures = session.step(lies)
    holders = session.graph.holders[VICTIM] & kept
    assert all(failures[name] == "BelowThreshold" for name in holders | {VICTIM})
    assert not any(session.clients[name].state == "confirmed" for name in holders)


def test_a_site_does_not_start_without_enough_of_its_circle():
    session = Session("share")
    graph = session.graph
    honest = m.decode_to_client(session.outgoing[VICTIM], session.study).advertisements
    for members, enough in (
        (graph.holders[VICTIM], graph.enough_holders),
        (graph.witnesses - {VICTIM}, graph.quorum - (VICTIM in graph.witnesses)),
    ):
        hidden = sorted(members)[enough - 1 :]
        listed = {name: raw for name, raw in honest.items() if name not in hidden}
        lie = session.lie(advertisements=lambda name, listed=listed: listed)[VICTIM]
        assert session.step({VICTIM: lie})[1] == {VICTIM: "BelowThreshold"}


def test_a_site_takes_no_keys_of_those_it_has_nothing_to_do_with():
    session = Session("share")
    ordinary = next(n for n in session.clients if n not in session.graph.witnesses)
    witness = next(iter(session.graph.witnesses))
    everybody = m.decode_to_client(session.outgoing[witness], session.study).advertisements
    lie = session.lie(advertisements=lambda name: everybody)[ordinary]
    assert session.step({ordinary: lie})[1] == {ordinary: "InconsistentView"}


def test_a_site_is_not_told_of_participants_whose_keys_it_was_not_shown():
    session = Session("share")
    hidden = sorted(session.graph.holders[VICTIM])[0]
    honest = m.decode_to_client(session.outgoing[VICTIM], session.study).advertisements
    listed = {name: raw for name, raw in honest.items() if name != hidden}
    session.outgoing[VICTIM] = session.lie(advertisements=lambda name: listed)[VICTIM]
    replies, _ = session.step(session.outgoing)
    session.server.advance(replies)
    told = m.SealedList(
        study=session.study.hash,
        session=session.server.session,
        participants=session.study.marked(session.clients),
        keys=bytes(32),
        sealed={},
    )
    assert session.step({VICTIM: m.encode_to_client(told, None)})[1] == {VICTIM: "InconsistentView"}


# Showing different things to different sites.


def test_two_lists_of_survivors_find_no_two_quorums():
    session = Session("confirm")
    one, other = halves(session)
    everybody, first = set(session.clients), sorted(session.clients)
    lists = [session.study.marked(everybody - {first[0]}), session.study.marked(everybody)]
    lies = session.lie(survivors=lambda name: lists[name in other or name == first[0]])
    replies, failures = session.step(lies)
    assert not failures
    confirmed = [
        {name: replies[name] for name in half & session.graph.witnesses} for half in (one, other)
    ]
    session.server.step = type(session.server.step).UNMASK
    header = {"study": session.study.hash, "session": session.server.session}
    for confirmations in (*confirmed, confirmed[0] | confirmed[1]):
        message = m.ConfirmationList(**header, confirmations=confirmations)
        raw = m.encode_to_client(message, None)
        _, failures = session.step(dict.fromkeys(session.clients, raw))
        assert failures.keys() == session.clients.keys()
    assert session.states()[ClientState.UNMASKED] == 0


def test_two_lists_of_participants_end_before_any_upload():
    session = Session("announce")
    one, _ = halves(session)
    gone = next(n for n in sorted(session.clients) if n not in session.graph.witnesses | one)
    everybody = session.study.marked(session.clients)
    fewer = session.study.marked(session.clients.keys() - {gone})

    def sealed(name):
        held = m.decode_to_client(session.outgoing[name], session.study).sealed
        return {k: v for k, v in held.items() if k != gone} if name in one else held

    def keys(name):
        listed = session.server._listed
        return keys_digest(
            fingerprints(listed[n] for n in sorted(listed) if n != gone or name not in one)
        )

    lies = session.lie(
        participants=lambda n: fewer if n in one else everybody, keys=keys, sealed=sealed
    )
    replies, failures = session.step(lies)
    assert not failures
    # whichever announcements it passes on, there is no quorum for either view
    for name in session.clients:
        view = m.decode_signed(replies[name], session.study, session.server.session)[1].view
        alike = {
            each: replies[each]
            for each in session.graph.witnesses
            if m.decode_signed(replies[each], session.study, session.server.session)[1].view == view
        }
        assert len(alike) < session.graph.quorum
        message = m.Size(
            study=session.study.hash,
            session=session.server.session,
            totals=[16],
            fingerprints=fingerprints(
                session.server._listed[n]
                for n in sorted(session.clients)
                if n != gone or name not in one
            ),
            announcements=alike,
        )
        with pytest.raises(BelowThreshold, match="quorum"):
            session.clients[name].receive(m.encode_to_client(message, None))
    assert session.states()[ClientState.UPLOADED] == 0


def test_announcements_of_sites_that_are_no_witnesses_count_for_nothing():
    session = Session("announce")
    replies, _ = session.step(session.outgoing)
    session.outgoing = session.server.advance(replies)
    honest = m.decode_to_client(session.outgoing[VICTIM], session.study)
    others = [name for name in session.clients if name not in session.graph.witnesses]
    swapped = dict(list(honest.announcements.items())[:-1]) | {others[0]: replies[others[0]]}
    lie = session.lie(announcements=lambda name: swapped)[VICTIM]
    assert session.step({VICTIM: lie})[1] == {VICTIM: "InconsistentView"}


def test_confirmations_of_sites_that_are_no_witnesses_count_for_nothing():
    session = Session("confirm")
    replies, _ = session.step(session.outgoing)
    session.outgoing = session.server.advance(replies)
    others = [name for name in session.clients if name not in session.graph.witnesses]
    honest = m.decode_to_client(session.outgoing[VICTIM], session.study).confirmations
    swapped = dict(list(honest.items())[:-1]) | {others[0]: replies[others[0]]}
    for confirmations in (swapped, dict(list(honest.items())[:-1])):
        lie = session.lie(confirmations=lambda name, said=confirmations: said)[VICTIM]
        assert VICTIM in session.step({VICTIM: lie})[1]
    assert session.clients[VICTIM].state == ClientState.CONFIRMED


def test_a_dealer_that_gives_sites_different_keys_of_the_order_spoils_nothing_silently():
    session = Session("share", code="binary")
    dealer = min(session.graph.dealers - {VICTIM})
    liar = session.clients[dealer]
    replies, _ = session.step(session.outgoing)
    _, message = m.decode_signed(replies[dealer], session.study, session.server.session, 10**6)
    # the dealer seals another piece for one site
    secrets = liar._received[dealer]
    parts = lengths(session.graph, dealer, VICTIM, 1)
    key, context = liar._channel(dealer, VICTIM)
    opened = unseal(key, context, message.sealed[VICTIM])
    assert opened[: parts[0]] == secrets.piece
    forged = seal(key, context, bytes(parts[0]) + opened[parts[0] :])
    message = msgspec.structs.replace(message, sealed=message.sealed | {VICTIM: forged})
    replies[dealer] = m.encode_signed(message, dealer, identity(dealer))
    session.outgoing = session.server.advance(replies)
    session.go_on()
    # the victim has another view of the order than all others, and is left out
    assert VICTIM not in session.server.aggregate.survivors
    assert "different participants" in str(session.server.refused[VICTIM])


# Both kinds of share, and what colluding sites can add.


def test_no_holder_gives_both_kinds_of_share_and_none_of_sites_that_are_not_its_own():
    session = Session("upload")
    gone = {"site-001", "site-022", VICTIM}
    session.outgoing = session.server.advance(
        {n: r for n, r in session.step(session.outgoing)[0].items() if n not in gone}
    )
    session.go_on("unmask")
    replies, _ = session.step(session.outgoing)
    for name, raw in replies.items():
        _, given = m.decode_signed(raw, session.study, session.server.session, 10**6)
        assert given.seed_shares.keys() == session.graph.owners[name] - gone
        assert given.key_shares.keys() == session.graph.owners[name] & gone


@pytest.mark.slow
def test_an_upload_looks_uniform_to_the_server_and_as_many_sites_as_are_tolerated():
    """The server has the victim's seed, the colluders' masks with it, and the mask keys of as many
    of its partners as it can declare vanished."""
    values, slots = [], []
    rng = np.random.default_rng(0)
    for seed in range(12):
        session = Session(seed=seed % 3)
        server, victim = session.server, session.clients[VICTIM]
        layout = server._layout
        view = server._view
        graph, holders = session.graph, sorted(session.graph.holders[VICTIM])
        most_gone = len(holders) - graph.enough_holders
        vanished = rng.choice(holders, most_gone, replace=False).tolist()
        honest = sorted(graph.partners(VICTIM) - set(vanished))
        colluders = rng.choice(honest, session.study.tolerated, replace=False).tolist()
        known = {name: victim._masks[name] for name in (*vanished, *colluders)}
        bare = layout.subtract(
            session.engine.upload_of(server, VICTIM), self_mask(victim._seed, view, layout)
        )
        bare = layout.subtract(bare, pairwise_mask(VICTIM, known, view, layout))
        values += bare[0].tolist()
        slots += bare[1].tolist()
        # the test is about the right thing: with all masks known the upload lies bare
        rest = {name: secret for name, secret in victim._masks.items() if name not in known}
        assert rest
        opened = layout.subtract(bare, pairwise_mask(VICTIM, rest, view, layout))
        sums = session.study.coding.encode(
            dict(
                zip(
                    victim.drawn.labels,
                    victim._contribution.own.holdings.prepared.hulls,
                    strict=True,
                )
            ),
            victim.totals[0],
            session.study.protocol.spare_sums,
        )
        assert opened[0].tolist() == sums
    for found, q in ((values, session.study.coding.field.q), (slots, SLOT_FIELD.q)):
        counts = np.bincount([v * 16 // q for v in found], minlength=16)
        assert stats.chisquare(counts).pvalue > 1e-4


def test_what_a_witness_holds_of_what_a_site_announces_tells_nothing():
    held = []
    for seed in range(3):
        session = Session(seed=seed)
        for witness in session.graph.witnesses:
            received = session.clients[witness]._received
            held += [
                int.from_bytes(received[name].count_shares, "big") / (2**61 - 1)
                for name in received
                if name != witness
            ]
    assert stats.kstest(held, "uniform").pvalue > 1e-4


def test_the_server_gets_another_graph_only_by_another_session():
    """A session's number is in every message, so the graph cannot be changed once sites have seen
    it; and each number that is tried beforehand costs a scrypt."""
    session = Session("share")
    other = msgspec.structs.replace(
        m.decode_to_client(session.outgoing[VICTIM], session.study), session=bytes(16)
    )
    assert session.step({VICTIM: m.encode_to_client(other, None)})[1] == {VICTIM: "BadMessage"}


# Answers.


def shown_to(session, name, asked, content=b"{}"):
    header = {"study": session.study.hash, "session": session.server.session}
    message = m.Publish(**header, content=content, asked=session.study.marked(asked))
    session.clients[name].receive(m.encode_to_client(message, None))
    return session.clients[name].answer(COUNTS, COUNTS.vector([[1, 2]]))


def test_answers_of_all_add_up_and_those_without_one_do_not():
    session = Session()
    session.engine.step("publish", session.server.publish(b"{}", COUNTS))
    replies = {n: c.answer(COUNTS, COUNTS.vector([[1, 2]])) for n, c in session.clients.items()}
    counts = Counts.of(session.server.answers(replies), session.server.evaluators)
    assert (counts.correct, counts.tested) == (SITES, 2 * SITES)
    session.server.publish(b"{}", COUNTS)
    del replies[VICTIM]
    assert session.server.answers(replies) is None


def test_a_site_that_is_asked_without_enough_of_its_circle_answers_noise():
    session = Session()
    few = sorted(session.graph.holders[VICTIM])[: session.graph.enough_holders - 1]
    asked = (session.clients.keys() - session.graph.partners(VICTIM)) | {*few, VICTIM}
    noise = Randomness(session.clients[VICTIM]._randomness.root).token("noise publish")
    reply = shown_to(session, VICTIM, asked)
    _, sent = m.decode_signed(reply, session.study, session.server.session)
    expected = COUNTS.add_mask(COUNTS.zeros(), noise)[0].tolist()
    assert COUNTS.unpack(sent.numbers)[0].tolist() == expected


def test_different_lists_of_who_is_asked_open_nothing():
    session = Session()
    names = sorted(session.clients)
    replies = {
        name: shown_to(session, name, names if name in names[:20] else names[1:]) for name in names
    }
    session.server.publish(b"{}", COUNTS)
    counts = Counts.of(session.server.answers(replies), names)
    assert (counts.correct, counts.tested) == (None, None)
