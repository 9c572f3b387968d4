"""A round: one masked sum, with both of its sides and what it discloses.

A study is a list of rounds. The site's side announces, encodes and takes; the coordinator's decodes
and concludes; everybody lays out and checks, from public data only. Between two rounds there is
nothing but what was published (`Known`), what a site remembers for itself (`Own`) and what the
coordinator opened (`Opened`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import msgspec

from fedhull.errors import BadMessage, InvalidInput, UnknownLabelSum
from fedhull.protocol.keys import Randomness, digest
from fedhull.protocol.summation import Layout, Totals, Vector
from fedhull.rounds.counts import Counts
from fedhull.rounds.disclosure import Disclosure, Plan


class News(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """News published after a round; unknown fields are refused."""


@dataclass(frozen=True)
class Known:
    """Publications so far, in order: raw bytes, and decoded news."""

    raw: tuple[bytes, ...] = ()
    news: tuple[Any, ...] = ()

    @property
    def basis(self) -> bytes:
        """The digest of what was published last; empty before the first round."""
        return digest(self.raw[-1]) if self.raw else b""

    def all_of(self, kind: type) -> list[Any]:
        """All news of a kind, in order."""
        return [each for each in self.news if isinstance(each, kind)]

    def last_of(self, kind: type) -> Any:
        """The latest news of a kind; None if there are none."""
        return next(iter(reversed(self.all_of(kind))), None)

    def plus(self, raw: bytes, news: Any) -> "Known":
        """The same and one more."""
        return Known((*self.raw, raw), (*self.news, news))


@dataclass(frozen=True, repr=False)
class Passed:
    """A round that is over, as a site remembers it: the `totals` that all announced, the `size` of
    the site's upload in numbers, what it had `drawn` for it, what it keeps in `memory`, and its
    objection, if it has one."""

    name: str
    published: bytes
    totals: Totals = ()
    size: int = 0
    drawn: Any = None
    memory: Any = None
    objection: str = ""


@dataclass(repr=False)
class Own:
    """A site's side of a study: what it holds, its randomness, and the rounds that are over. Of the
    round under way, the `totals` that all announced and what the site has `drawn` for it."""

    holdings: Any
    randomness: Randomness
    passed: list[Passed] = field(default_factory=list)
    totals: Totals = ()
    drawn: Any = None
    # what is costly and was worked out once, by name
    cache: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """The result of `make`, computed at the first call under this name."""
        if name not in self.cache:
            self.cache[name] = make()
        return self.cache[name]

    @property
    def objection(self) -> str:
        """The site's objection to what only it was told; empty if none."""
        return next((each.objection for each in self.passed if each.objection), "")

    def last(self, name: str) -> Passed | None:
        """The latest round of this name that is over."""
        return next((each for each in reversed(self.passed) if each.name == name), None)

    def noise_key(self, purpose: str, shown: bytes = b"") -> bytes:
        """The seed of the site's noise: the same if it goes on after a stop, and another for
        anything else that it is shown, so that no noise is ever on two sums."""
        return self.randomness.token(f"noise in {purpose} {digest(shown).hex()}")


class Sum(NamedTuple):
    """An unmasked sum: the vector, who is in it, and what all participants had announced."""

    vector: Vector
    totals: Totals
    survivors: list[str]
    participants: int


@dataclass(frozen=True, repr=False)
class Opened:
    """A sum that the coordinator has opened: the `total` that was decoded, the vector that it was
    decoded from, `packed`, who is in it, and what all had announced."""

    total: Any
    packed: bytes
    survivors: list[str]
    totals: Totals
    participants: int


class Proposal(NamedTuple):
    """Candidates that sites judge, in numbers laid out like this, before anything is published;
    `draft` is what the coordinator knows of them."""

    content: bytes
    layout: Layout
    draft: Any = None


class Votes(msgspec.Struct, frozen=True):
    """The sum of all judges' judgements of a proposal; None if some, the `silent`, did not
    answer."""

    judged: list[list[int]] | None
    judges: list[str]
    silent: list[str] = []

    def to_bytes(self) -> bytes:
        """The votes for a private file."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def from_bytes(cls, raw: bytes) -> "Votes":
        """The inverse of `to_bytes`."""
        try:
            return msgspec.msgpack.decode(raw, type=cls)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise InvalidInput("what was kept of the ballot is damaged") from None


class Conclusion(NamedTuple):
    """The coordinator's end of a round: the news for all, what it keeps for itself, whether sites
    are asked how well the news does, and the seconds that each part of the work took."""

    news: Any
    finding: Any = None
    ask: bool = False
    seconds: Mapping[str, float] = MappingProxyType({})


class Taken(NamedTuple):
    """A site's reading of the news: its memory, its answer if it is asked how well the news does,
    and its objection to what only this site was told."""

    memory: Any = None
    counts: tuple[int, int] = (0, 0)
    objection: str = ""


class Round(ABC):
    """One masked sum of a study."""

    # the round's name; what it is for, in a word; what is published
    name: ClassVar[str]
    purpose: ClassVar[str]
    News: ClassVar[Any]
    # what a site draws for its upload, and what it remembers afterwards
    Drawn: ClassVar[Any] = None
    Memory: ClassVar[Any] = None

    study: Any

    @property
    def ordered(self) -> bool:
        """True if sites go by an order of theirs that the coordinator does not know."""
        return False

    def binding(self, known: Known) -> bytes:
        """Whatever else all sites must agree on before anybody uploads."""
        return b""

    # everybody's side: public data only

    def most(self, known: Known) -> Totals:
        """The upper bound on each announced number; there may be none."""
        return ()

    @abstractmethod
    def layout(self, known: Known, totals: Totals, participants: int) -> Layout:
        """The shape of the vector."""

    def check(self, known: Known, news: Any, totals: Totals) -> None:  # noqa: B027
        """Raise BadMessage for news that anybody can tell are wrong."""

    def read(self, known: Known, published: bytes) -> Any:
        """The news in what was published; BadMessage if there are none."""
        try:
            return msgspec.msgpack.decode(published, type=self.News)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise BadMessage(f"what the server published is not of round {self.name}") from None

    def write(self, news: Any) -> bytes:
        """The inverse of `read`."""
        return msgspec.msgpack.encode(news)

    @abstractmethod
    def discloses(self, held: Any = None) -> list[Disclosure]:
        """Disclosures of this round: for any site, or for one that holds this."""

    def plan(self, holdings: Any, corners: int = 0) -> Plan:
        """The numbers and bytes of this round, if all sites hold this; None stands for any site,
        whose hulls have this many corners."""
        return Plan({}, [])

    def planned(self, numbers: dict[str, Any], size: int, *words: str) -> Plan:
        """The plan of a round in which a site sends this many bytes."""
        return Plan(
            numbers, [*words, f"Round {self.name}: {size:,} bytes with all messages."], size
        )

    # the site's side

    def announce(self, known: Known, own: Own) -> Totals:
        """Numbers of which only the totals over all sites are opened."""
        return ()

    def draw(self, known: Known, own: Own, place: int, randomness: Randomness) -> Any:
        """The site's draw for this round, given its place in the order of sites, if any."""
        return None

    @abstractmethod
    def encode(self, known: Known, own: Own, totals: Totals, participants: int) -> Vector:
        """The site's vector, unmasked."""

    def take(self, known: Known, own: Own, news: Any) -> Taken:
        """The site's reading of news that have passed `check`."""
        return Taken()

    # the coordinator's side

    @abstractmethod
    def decode(self, known: Known, summed: Sum) -> Any:
        """The total in a sum; InvalidInput if no sites can have such a sum."""

    @abstractmethod
    def conclude(self, known: Known, opened: Sequence[Opened]) -> Conclusion:
        """The coordinator's conclusion from all rounds so far, the latest last."""


class Final(Round):
    """A round that a study can end with: it says what both sides have at the end."""

    # whether the coordinator may conclude again from the sum that it kept, and with which settings
    can_learn_again: ClassVar[bool] = False
    choices: ClassVar[tuple[str, ...]] = ()
    has_ballot: ClassVar[bool] = False

    def propose(self, known: Known, opened: Sequence[Opened]) -> Proposal | None:
        """Candidates to be judged before the conclusion, if there is a ballot."""
        return None

    def choose(self, proposal: Proposal, votes: Votes | None) -> Conclusion:
        """The conclusion that the sites' judgements of a proposal speak for."""
        raise NotImplementedError

    @abstractmethod
    def outcome(self, coordinator: Any, record: "Record", counts: Counts) -> Any:
        """The coordinator's result."""

    @abstractmethod
    def site_outcome(self, site: Any) -> Any:
        """A site's result."""

    def ballot_layout(self, known: Known, proposed: bytes) -> Layout:
        """The numbers in which sites judge a proposal: the same for all who are shown the same."""
        return Layout(())

    def judge(self, known: Known, own: Own, proposed: bytes) -> Vector:
        """The site's judgement; BadMessage if the proposal is of no use."""
        raise BadMessage("the server asks for a judgement that the study does not provide for")

    def take_late(self, known: Known, own: Own, published: bytes) -> Taken:
        """Read the last publication at a site that missed the end of its session: it knows no
        totals, and maybe not all that was published before."""
        return self.take(known, own, self.read(known, published))


@dataclass
class Record:
    """Costs of a run, and the sites that did not stay: {site: why}."""

    failures: dict[str, str] = field(default_factory=dict)
    bytes_up: dict[str, int] = field(default_factory=dict)
    bytes_down: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


Rounds = Sequence[Round]


def final_of(rounds: Rounds) -> Final:
    """The last round, which says what comes of a study."""
    last = rounds[-1]
    assert isinstance(last, Final)
    return last


def disclosures(rounds: Rounds, held: Any = None) -> list[Disclosure]:
    """Disclosures of all rounds of a study: for any site, or for one that holds this. Rounds that
    are alike give them once."""
    rows = [row for round in rounds for row in round.discloses(held)]
    return list(dict.fromkeys(rows))


# The protocol's view of a round.


@dataclass(frozen=True)
class RoundSummation:
    """A round's vectors as all participants know them (`protocol.summation.Summation`)."""

    round: Round
    known: Known = Known()

    @property
    def number(self) -> int:
        """The number of the round in its study, from 1."""
        return len(self.known.raw) + 1

    @property
    def context(self) -> bytes:
        """The round, and all that was published before it: a session in which sites were shown
        different things is never unmasked."""
        parts = self.round.name.encode(), self.round.binding(self.known)
        return digest(*parts, self.number.to_bytes(8, "big"), *self.known.raw)

    @property
    def most(self) -> Totals:
        """The upper bound on each announced number."""
        return self.round.most(self.known)

    @property
    def ordered(self) -> bool:
        """True if sites go by an order of theirs."""
        return self.round.ordered

    def layout(self, totals: Totals, participants: int) -> Layout:
        """The shape of the vector."""
        return self.round.layout(self.known, totals, participants)

    def open(
        self, vector: Vector, totals: Totals, survivors: list[str], participants: int
    ) -> Opened:
        """The total, if sites can have such a sum."""
        try:
            summed = Sum(vector, totals, survivors, participants)
            total = self.round.decode(self.known, summed)
        except InvalidInput as problem:
            raise UnknownLabelSum(
                f"the sum is not one of round {self.round.name}, so some site has sent something "
                f"else: {problem}"
            ) from None
        packed = self.layout(totals, participants).pack(vector)
        return Opened(total, packed, survivors, totals, participants)


@dataclass(frozen=True)
class RoundContribution:
    """A site's part in a round (`protocol.summation.Contribution`)."""

    summation: RoundSummation
    own: Own

    @property
    def announced(self) -> Totals:
        """Numbers of which only totals are opened."""
        return self.summation.round.announce(self.summation.known, self.own)

    def draw(self, place: int, randomness: Randomness) -> Any:
        """The site's draw for this round."""
        return self.summation.round.draw(self.summation.known, self.own, place, randomness)

    def vector(self, drawn: Any, totals: Totals, participants: int) -> Vector:
        """The unmasked vector."""
        self.own.drawn, self.own.totals = drawn, totals
        return self.summation.round.encode(self.summation.known, self.own, totals, participants)
