"""A study: the public, human-readable agreement that all participants hold in the same words."""

import math
import tomllib
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import msgspec

from fedhull.codes.coding import Coding, check_code_name, choose_coding
from fedhull.disc.quantize import Quantizer
from fedhull.errors import InvalidInput
from fedhull.protocol.keys import digest

SMALLEST_COHORT = 3
_BINS_ROUNDED_TO = 8

Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}\Z")]
PublicKey = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


class Part(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A table of the study file: unknown keys are refused."""


class Embedding(Part, frozen=True, kw_only=True):
    """Where points come from: the SHA-256 of the encoder file that all sites place cells with."""

    encoder: Sha256


class Geometry(Part, frozen=True, kw_only=True, dict=True):
    """Where the points lie and how wide a bin is."""

    epsilon: Positive
    radius: Positive
    curvature: Positive = 1.0

    @cached_property
    def quantizer(self) -> Quantizer:
        """The bins that all participants number alike."""
        return Quantizer(self.epsilon, self.radius, self.curvature)


class Labels(Part, frozen=True, kw_only=True):
    """How many classes a client may have, and how their labels are coded."""

    classes: Count
    code: str = "auto"


class Cohort(Part, frozen=True, kw_only=True):
    """How many must stay. A threshold of 0 stands for two thirds of the roster."""

    threshold: Annotated[int, msgspec.Meta(ge=0)] = 0
    allow_small_cohort: bool = False


class Rules(Cohort, frozen=True, kw_only=True):
    """How the protocol runs over hulls."""

    spare_sums: Annotated[int, msgspec.Meta(ge=2, le=1000)] = 4
    most_bins: Count = 20_000


class Learning(Part, frozen=True, kw_only=True):
    """What sites leave out of their hulls and keep for testing, and how the server learns.

    `classes` is the number of classes over all sites; 0 stands for as many as a site may have.
    `strength` is the paper's λ, for its SVMs; the default method chooses its own.
    """

    classes: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    method: Literal["lorentz", "poincare-svm", "euclidean-svm"] = "lorentz"
    grouping: Literal["matching", "kernighan-lin", "spectral"] = "matching"
    guard: Annotated[str, msgspec.Meta(pattern=r"^(none|edit|(edit\+)?trim:(0|0?\.[0-9]+))\Z")] = (
        "edit+trim:0.02"
    )
    strength: Positive = 0.1
    holdout: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.15
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)] = 0


class Agreement(Part, frozen=True, kw_only=True, dict=True):
    """What all participants of any study agree on; its hash is in every message.

    `clients` is the roster: names and Ed25519 identity keys, exchanged out of band. `coordinator`
    is the key that the server's messages are signed with; without it clients rely on the transport.
    """

    version: Annotated[int, msgspec.Meta(ge=1, le=1)] = 1
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    protocol: Cohort = Cohort()
    coordinator: PublicKey | None = None
    clients: dict[Name, PublicKey]

    def __post_init__(self) -> None:
        n = len(self.clients)
        if len(set(self.clients.values())) < n:
            raise InvalidInput("clients must have different identity keys, but two are the same")
        if n < 2 or (n < SMALLEST_COHORT and not self.protocol.allow_small_cohort):
            raise InvalidInput(
                f"clients must be at least {SMALLEST_COHORT}, got {n}: with fewer, the sum tells "
                f"one site what the other sent (two can be forced: allow_small_cohort = true)"
            )
        # with half of the clients or fewer, a server could unmask two different lists of survivors
        if not max(2, n // 2 + 1) <= self.threshold <= n:
            raise InvalidInput(
                f"threshold must be more than half and at most all of the {n} clients, got "
                f"{self.threshold}; leave it out for two thirds of them"
            )

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """The study in a TOML file; whatever is wrong with it is said in a sentence."""
        return cls.from_plain(parse_toml(text))

    @classmethod
    def from_plain(cls, content: dict[str, Any]) -> Self:
        """The study in the tables of a TOML file."""
        try:
            return msgspec.convert(content, cls)
        except msgspec.ValidationError as problem:
            raise InvalidInput(f"the study breaks a rule: {problem}") from None

    def to_toml(self) -> str:
        """The study as a TOML file, every setting spelled out, the roster at its end."""
        plain = {k: v for k, v in msgspec.to_builtins(self).items() if v is not None}
        tables = {key: value for key, value in plain.items() if isinstance(value, dict)}
        lines = [f"{key} = {_toml(value)}" for key, value in plain.items() if key not in tables]
        for table in sorted(tables, key="clients".__eq__):
            lines += ["", f"[{table}]"]
            lines += [f"{_toml_key(key)} = {_toml(value)}" for key, value in tables[table].items()]
        return "\n".join(lines) + "\n"

    @cached_property
    def hash(self) -> bytes:
        """SHA-256 over what the study says, not over how the file is laid out."""
        return digest(b"fedhull study", msgspec.json.encode(self, order="sorted"))

    @property
    def threshold(self) -> int:
        """How many clients must stay to the end: as set, or two thirds, at least 2."""
        return self.protocol.threshold or max(2, math.ceil(2 * len(self.clients) / 3))

    @cached_property
    def seats(self) -> dict[str, int]:
        """Every client's number, from 1: where Shamir's polynomials are evaluated."""
        return {name: seat for seat, name in enumerate(sorted(self.clients), 1)}

    def session_salt(self, session: bytes, context: bytes = b"") -> bytes:
        """What all keys of a session are bound to."""
        return digest(b"salt", self.hash, session, context)


class Study(Agreement, frozen=True, kw_only=True, dict=True):
    """A study that learns a classifier from hulls."""

    geometry: Geometry
    labels: Labels
    protocol: Rules = Rules()
    learning: Learning = Learning()
    embedding: Embedding | None = None

    def __post_init__(self) -> None:
        check_code_name(self.labels.code)
        assert self.quantizer.n_bins > 0  # made here, so that bad settings are refused here
        super().__post_init__()

    @property
    def quantizer(self) -> Quantizer:
        """The bins that all participants number alike."""
        return self.geometry.quantizer

    @property
    def n_classes(self) -> int:
        """How many classes there are over all sites."""
        return self.learning.classes or self.labels.classes

    @cached_property
    def coding(self) -> Coding:
        """The label code and field: `classes` labels for every client on the roster."""
        n_labels = self.labels.classes * len(self.clients)
        return choose_coding(n_labels, self.quantizer.n_bins, self.labels.code)

    @property
    def most_sums(self) -> int:
        """The largest number of power sums that clients can agree on."""
        return self.sums_for(announced_bins(self.protocol.most_bins) * len(self.clients))

    @property
    def spare_sums(self) -> int:
        """How many sums more than a decoder needs: as set, and so many that nonsense passes for a
        vector with a probability of about 2^−64 at most."""
        return max(self.protocol.spare_sums, math.ceil(64 / (self.coding.field.bits - 1)))

    def sums_for(self, most_nonempty: int) -> int:
        """How many power sums determine, and check, a vector with this many non-empty bins."""
        return 2 * most_nonempty + self.spare_sums


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a study file, unchecked."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise InvalidInput(f"the study is not valid TOML: {problem}") from None


def announced_bins(n_bins: int) -> int:
    """What a client tells its peers about how many bins it fills: rounded up, to say less."""
    return -(-n_bins // _BINS_ROUNDED_TO) * _BINS_ROUNDED_TO


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
