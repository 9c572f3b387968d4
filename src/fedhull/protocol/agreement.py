"""The agreement: what all participants of any study hold in the same words, and its hash."""

import math
import tomllib
from collections.abc import Callable, Iterable
from datetime import date
from functools import cached_property, lru_cache, partial
from typing import Annotated, Any, Literal, Self

import msgspec

from fedhull.errors import BadMessage, InvalidInput
from fedhull.protocol.degree import Degree, circle, fewest_sites, jury
from fedhull.protocol.keys import VERSION, digest

SMALLEST_COHORT = 3
# With more sites than that, masks are shared with some only, unless the study says otherwise.
LARGEST_COMPLETE = 250
# Enough for a roster of thousands, and little enough to be read in a moment.
LONGEST_STUDY, _LONGEST_LINE, _MOST_DOTS = 1_000_000, 4_000, 64

Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}\Z")]
PublicKey = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
# Fields for people; a study without them has the hash that it had before they existed.
ABOUT = ("purpose", "contact", "valid_until")
# Tables that came later; the same goes for them.
_LATER = ("privacy",)


class Part(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A table of the study file: unknown keys are refused."""


class Cohort(Part, frozen=True, kw_only=True):
    """The threshold, and the graph of masks.

    A threshold of 0 stands for two thirds of the roster, at least 3. A sparse `graph` of masks is
    made to withstand shares of the sites that collude with the coordinator (`collusion`) and that
    drop out (`dropout`).
    """

    threshold: Annotated[int, msgspec.Meta(ge=0)] = 0
    allow_small_cohort: bool = False
    graph: Literal["auto", "complete", "sparse"] = "auto"
    collusion: Annotated[float, msgspec.Meta(gt=0, le=0.3)] = 0.1
    dropout: Annotated[float, msgspec.Meta(gt=0, le=0.3)] = 0.1


class Agreement(Part, frozen=True, kw_only=True, dict=True):
    """The part of a study file that all kinds share; its hash is in every message.

    `purpose` says what the study is for, `contact` whom to ask about it, and `valid_until` the last
    day on which anybody takes part. `clients` is the roster: names and Ed25519 identity keys,
    exchanged out of band. `coordinator` is the key that the server's messages are signed with;
    without it clients rely on the transport.
    """

    version: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = VERSION
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    purpose: Annotated[str, msgspec.Meta(max_length=2_000)] = ""
    contact: Annotated[str, msgspec.Meta(max_length=200)] = ""
    valid_until: date | None = None
    protocol: Cohort = Cohort()
    coordinator: PublicKey | None = None
    clients: dict[Name, PublicKey]

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise InvalidInput(
                f"this study is of version {self.version}, but this fedhull speaks version "
                f"{VERSION} of the protocol; ask the coordinator for kits made with the same "
                f"fedhull as yours"
            )
        n = len(self.clients)
        if len(set(self.clients.values())) < n:
            raise InvalidInput(
                f"clients must have different identity keys, but {_sharing(self.clients)} have the "
                f"same; ask them for the public lines that 'fedhull keygen' printed"
            )
        if n < 2 or (n < SMALLEST_COHORT and not self.protocol.allow_small_cohort):
            raise InvalidInput(
                f"clients must be at least {SMALLEST_COHORT}, got {n}: with fewer, the sum shows "
                f"one site what the other sent (two can be forced: allow_small_cohort = true)"
            )
        # with half of the clients or fewer, a server could unmask two different lists of survivors
        if not max(2, n // 2 + 1) <= self.threshold <= n:
            raise InvalidInput(
                f"threshold must be more than half and at most all of the {n} clients, got "
                f"{self.threshold}; leave it out for two thirds of them"
            )
        if self.is_sparse and (self.circle is None or self.jury is None):
            fewest = fewest_sites(self.protocol.collusion, self.protocol.dropout)
            raise InvalidInput(
                f"{n} sites are too few for a sparse graph of masks, which takes at least "
                f'{fewest}; leave graph out, or set it to "complete"'
            )

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """The study in a TOML file; errors are sentences."""
        return cls.from_plain(parse_toml(text))

    @classmethod
    def from_plain(cls, content: dict[str, Any]) -> Self:
        """The study in the tables of a TOML file."""
        try:
            return msgspec.convert(content, cls)
        except msgspec.ValidationError as problem:
            from fedhull.protocol.refusal import broken_rule  # for broken studies only

            raise InvalidInput(
                f"the study breaks a rule: {broken_rule(problem, content, cls)}"
            ) from None

    def to_toml(self) -> str:
        """The study as a TOML file, every setting spelled out, the roster at its end."""
        try:
            plain = {k: v for k, v in msgspec.to_builtins(self).items() if v not in (None, "")}
        except TypeError:
            raise InvalidInput(
                "a study that was given an object instead of a name cannot be written to a file; "
                "register the object under a name (docs/extending.md)"
            ) from None
        tables = {key: value for key, value in plain.items() if isinstance(value, dict)}
        lines = [f"{key} = {_toml(value)}" for key, value in plain.items() if key not in tables]
        for table in sorted(tables, key="clients".__eq__):
            lines += ["", f"[{table}]"]
            lines += [f"{_toml_key(key)} = {_toml(value)}" for key, value in tables[table].items()]
        return "\n".join(lines) + "\n"

    @cached_property
    def hash(self) -> bytes:
        """SHA-256 over what the study says, not over how the file is laid out."""
        # in a rehearsal a part may be an object instead of a name: then what it says of itself
        return digest(b"fedhull study", msgspec.json.encode(_plain(self), order="sorted"))

    @property
    def threshold(self) -> int:
        """Minimum number of clients that stay to the end: as set, or two thirds, at least 3."""
        n = len(self.clients)
        return self.protocol.threshold or max(min(n, 3), math.ceil(2 * n / 3))

    @property
    def tolerated(self) -> int:
        """Maximum size of a coalition with the coordinator that cannot learn a single other site's
        data: below 2t − n, or it could get both kinds of share of a site; at most t − 2, or an
        honest site could stand alone in the sum; and no more than a sparse graph is made for."""
        n = len(self.clients)
        most = min(2 * self.threshold - n - 1, self.threshold - 2)
        return max(0, min(most, int(self.protocol.collusion * n)) if self.is_sparse else most)

    @property
    def is_sparse(self) -> bool:
        """True if sites share masks with some of the others only."""
        asked = self.protocol.graph
        return asked == "sparse" or (asked == "auto" and len(self.clients) > LARGEST_COMPLETE)

    @property
    def circle(self) -> Degree | None:
        """Holders of shares of a site's secrets, if the graph is sparse."""
        rates = self.protocol
        size = len(self.clients), rates.collusion, rates.dropout
        return circle(*size) if self.is_sparse else None

    @property
    def jury(self) -> Degree | None:
        """Witnesses of what a session has shown to all, if the graph is sparse."""
        rates = self.protocol
        size = len(self.clients), rates.collusion, rates.dropout
        return jury(*size) if self.is_sparse else None

    @cached_property
    def seats(self) -> dict[str, int]:
        """Every client's number, from 1: where Shamir's polynomials are evaluated."""
        return {name: seat for seat, name in enumerate(sorted(self.clients), 1)}

    def marked(self, names: Iterable[str]) -> bytes:
        """Some of the clients as bits, one for each seat."""
        bits = bytearray(-(-len(self.seats) // 8))
        for name in names:
            seat = self.seats[name] - 1
            bits[seat // 8] |= 1 << seat % 8
        return bytes(bits)

    def named(self, bits: bytes) -> frozenset[str]:
        """The inverse of `marked`; BadMessage unless it marks clients."""
        return self._named(bits)

    def ranked(self, bits: bytes) -> dict[str, int]:
        """The same clients, each with its place, from 0, among them."""
        return self._ranked(bits)

    # In a rehearsal all sites are told the same few lists.

    @cached_property
    def _ranked(self) -> Callable[[bytes], dict[str, int]]:
        return lru_cache(maxsize=8)(partial(_ranked, tuple(self.seats)))

    @cached_property
    def _named(self) -> Callable[[bytes], frozenset[str]]:
        return lru_cache(maxsize=8)(lambda bits: frozenset(self._ranked(bits)))

    def check_valid(self, today: date) -> None:
        """Raise InvalidInput if the study is over."""
        if self.valid_until is not None and today > self.valid_until:
            raise InvalidInput(
                f"the study {self.name!r} was valid until {self.valid_until}, and today is "
                f"{today}; nothing is sent. Ask {self.contact or 'the coordinator'} for a new study"
            )

    def session_salt(self, session: bytes, context: bytes = b"") -> bytes:
        """The salt that binds all keys of a session to it."""
        return digest(b"salt", self.hash, session, context)


def _ranked(names: tuple[str, ...], bits: bytes) -> dict[str, int]:
    whole = int.from_bytes(bits, "little")
    if len(bits) != -(-len(names) // 8) or whole.bit_length() > len(names):
        raise BadMessage("a list of sites is not of this study's roster")
    lowest_first = f"{whole:b}"[::-1]
    marked = (name for name, bit in zip(names, lowest_first, strict=False) if bit == "1")
    return {name: rank for rank, name in enumerate(marked)}


def about_words(study: Agreement) -> list[str]:
    """Purpose, contact and last day, as far as the study states them, as sentences."""
    facts = {
        "Purpose": study.purpose,
        "Contact": study.contact,
        "Valid until": str(study.valid_until or ""),
    }
    return [f"{what}: {words.rstrip('.')}." for what, words in facts.items() if words]


def collusion_words(study: Agreement) -> str:
    """The coalition that the study tolerates, as a sentence."""
    c = study.tolerated
    if c == 0:
        return (
            "If a single site works together with the coordinator, the two can learn what another "
            "site has sent."
        ) + _no_share_of_sites(study)
    sites = "one site works" if c == 1 else f"up to {c} sites work"
    if study.is_sparse:
        return (
            f"Even if {sites} together with the coordinator, the chance that they can tell what "
            f"any single other site has sent is below one in 2^40. It may be larger if more sites "
            f"do so, or if the coordinator tries out more than 2^35 numbers for the session, to "
            f"find one that makes sites share masks with those it likes."
        )
    return (
        f"Even if {sites} together with the coordinator, they cannot tell what any single other "
        f"site has sent; with more, they can."
    )


def _no_share_of_sites(study: Agreement) -> str:
    share = study.protocol.collusion
    if not study.is_sparse or share * len(study.clients) >= 1:
        return ""
    return f" (A collusion of {share:g} of {len(study.clients)} sites is less than one site.)"


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a study file, unchecked."""
    if len(text) > LONGEST_STUDY:
        raise InvalidInput(
            f"the study has {len(text):,} characters, but a study file has at most "
            f"{LONGEST_STUDY:,}; take out sites or comments"
        )
    for number, line in enumerate(text.splitlines(), 1):
        # time and memory of a parser can grow with the square of the dots in a key
        if len(line) > _LONGEST_LINE or line.count(".") > _MOST_DOTS:
            raise InvalidInput(
                f"line {number} of the study is too long: a line has at most {_LONGEST_LINE:,} "
                f"characters and {_MOST_DOTS} dots"
            )
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InvalidInput("the study is not valid TOML: it is nested too deeply") from None
    except ValueError as problem:  # TOMLDecodeError, and whole numbers of thousands of digits
        raise InvalidInput(f"the study is not valid TOML: {problem}") from None


def _plain(study: Agreement) -> Any:
    plain = msgspec.to_builtins(study, enc_hook=repr)
    return {key: value for key, value in plain.items() if value or key not in (*ABOUT, *_LATER)}


def _sharing(clients: dict[str, str]) -> str:
    """The sites that have the first key that stands twice on a roster."""
    keys = list(clients.values())
    twice = next(key for key in keys if keys.count(key) > 1)
    return " and ".join(name for name, key in clients.items() if key == twice)


def check_name(name: str) -> str:
    """A name that may stand on a roster."""
    try:
        return msgspec.convert(name, Name)
    except msgspec.ValidationError:
        raise InvalidInput(
            f"a site's name must be lower-case letters, digits, '.', '_' or '-', got {name!r}"
        ) from None


def _toml_key(key: str) -> str:
    return _toml(key) if "." in key else key


def _toml(value: Any) -> str:
    # TOML's strings, numbers and booleans are written as JSON's
    return msgspec.json.encode(value).decode()
