"""Studies and their participants for the protocol tests."""

import hashlib
import random
from functools import cache

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fedhull.learn.sketch import LENGTH
from fedhull.protocol.client import ClientSession
from fedhull.protocol.drive import MemoryEngine
from fedhull.protocol.keys import Identity, Randomness
from fedhull.protocol.messages import decode_signed
from fedhull.protocol.server import ServerSession
from fedhull.rounds.holdings import ClassHoldings
from fedhull.rounds.hulls import HullSums, PreparedHulls, check_hulls
from fedhull.rounds.round import Own, RoundContribution, RoundSummation
from fedhull.study.study import Geometry, Labels, Learning, Rules, Study


@cache
def identity(name: str) -> Identity:
    """The same for a name in every process, so that tests can be dealt out to several."""
    seed = hashlib.sha256(name.encode()).digest()
    return Identity(Ed25519PrivateKey.from_private_bytes(seed))


def make_study(n: int, classes=2, code="auto", epsilon=0.5, **rules) -> Study:
    names = [f"site-{chr(ord('a') + i)}" if n <= 26 else f"site-{i:03}" for i in range(n)]
    return Study(
        name="test",
        geometry=Geometry(epsilon=epsilon, radius=0.9),
        labels=Labels(classes=classes, code=code),
        protocol=Rules(**rules),
        # with one class at each site, the sites' classes differ
        learning=Learning(classes=2 if classes == 1 else 0, ballot=False),
        clients={name: identity(name).public for name in names},
    )


def random_hulls(study: Study, seed: int, largest: int = 6) -> dict[str, list[list[int]]]:
    rng = random.Random(seed)
    bins = range(1, min(study.quantizer.n_bins, 40) + 1)  # few bins, so that labels meet
    return {
        name: [
            rng.sample(bins, rng.randint(1, largest))
            for _ in range(rng.randint(1, study.labels.classes))
        ]
        for name in study.clients
    }


def make_clients(study: Study, hulls: dict[str, list[list[int]]]) -> dict[str, ClientSession]:
    return {name: make_client(study, name, hulls[name]) for name in study.clients}


def make_client(study: Study, name: str, hulls, randomness=None) -> ClientSession:
    return ClientSession(study, name, identity(name), contribution(study, hulls), randomness)


def summation(study: Study) -> RoundSummation:
    return RoundSummation(HullSums(study))


def contribution(study: Study, hulls, rows=None) -> RoundContribution:
    """Hulls of five cells each, of which nobody has to tell which class they are."""
    rows = [[5] + [0] * LENGTH for _ in hulls] if rows is None else rows
    checked = check_hulls(study, hulls)
    prepared = PreparedHulls(hulls=checked, rows=rows, points_sent=sum(map(len, checked)))
    held = ClassHoldings(classes=list(range(len(hulls))), prepared=prepared)
    return RoundContribution(summation(study), Own(held, Randomness()))


def make_server(study: Study, identity=None, session=None, invited=None) -> ServerSession:
    return ServerSession(study, summation(study), identity, session, invited)


def make_parties(n: int, seed: int = 0, vanish=None, **options):
    """(server, engine, clients, hulls) of a fresh session."""
    study = make_study(n, **options)
    hulls = random_hulls(study, seed)
    clients = make_clients(study, hulls)
    return make_server(study), Listening(clients.values(), vanish), clients, hulls


class Listening(MemoryEngine):
    """A memory engine that keeps all replies {(step, client): reply}."""

    def __init__(self, clients, vanish=None):
        super().__init__(clients, vanish)
        self.heard = {}

    def step(self, kind, messages, timeout=0.0):
        replies, failures = super().step(kind, messages, timeout)
        self.heard |= {(kind, name): raw for name, raw in replies.items()}
        return replies, failures

    def upload_of(self, server, name):
        """A client's masked vector."""
        raw = self.heard["upload", name]
        _, message = decode_signed(raw, server.study, server.session, len(raw))
        return server._layout.unpack(message.vector)


def expected_hulls(clients, hulls, survivors) -> dict[int, list[int]]:
    """What the server must decode: every survivor's hulls under the labels it drew."""
    expected = {
        label: sorted(bins)
        for name in survivors
        for label, bins in zip(clients[name].drawn.labels, hulls[name], strict=True)
    }
    return dict(sorted(expected.items()))
