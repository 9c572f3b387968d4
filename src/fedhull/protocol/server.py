"""The server's side of a session: a state machine that learns the sum over the clients, no more."""

import secrets
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from itertools import combinations, islice
from typing import Any

import numpy as np

from fedhull.errors import (
    BadIdentity,
    BadMessage,
    BadShares,
    BelowThreshold,
    InconsistentView,
    InvalidInput,
    OutOfTurn,
    ProtocolError,
)
from fedhull.protocol import messages as m
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.client import survivor_digest
from fedhull.protocol.keys import ExchangeKey, Identity, digest
from fedhull.protocol.masking import TALLY_FIELD, TALLY_SIZE, pairwise_mask, self_mask
from fedhull.protocol.shares import restore
from fedhull.protocol.summation import Summation, largest_upload

# How many sets of t shares are tried before wrong ones among them end the session.
_MOST_RESTORATIONS = 500


class Step(StrEnum):
    """What the server is waiting for."""

    ADVERTISE = "advertise"
    SHARE = "share"
    UPLOAD = "upload"
    CONFIRM = "confirm"
    UNMASK = "unmask"
    DONE = "done"


class ServerSession:
    """One session at the server. `start` and `advance` return what to send to whom.

    A client whose reply is missing or refused takes no further part; `refused` says why. When too
    few are left, BelowThreshold ends the session and nothing has been learned.

    `summation` says what is summed; `aggregate` is what it makes of the sum in the end. `identity`
    signs what the server says, if the study names the coordinator's key. With the `session` of an
    earlier object and the same replies, a session takes the same course. `invited` are those who
    are asked at all; the others have as good as vanished, and count for the threshold.
    """

    def __init__(
        self,
        study: Agreement,
        summation: Summation,
        identity: Identity | None = None,
        session: bytes | None = None,
        invited: Collection[str] | None = None,
    ):
        if study.coordinator != (identity and identity.public):
            raise BadIdentity("the coordinator's key is not the one that the study names")
        self.study = study
        self.step = Step.ADVERTISE
        self.refused: dict[str, ProtocolError] = {}
        self.aggregate: Any = None
        self._identity = identity
        self._session = session or secrets.token_bytes(16)
        self._summation = summation
        self._asked: set[str] = set(study.clients if invited is None else invited)
        self._advertised: dict[str, m.Advertise] = {}
        self._participants: set[str] = set()
        self._uploads: dict[str, np.ndarray] = {}
        self._unmaskers: list[str] = []
        self._view = b""

    def __repr__(self) -> str:
        return f"ServerSession(study={self.study.name!r}, step={self.step.value!r})"

    def start(self) -> dict[str, bytes]:
        """The invitations."""
        return self._to_all(
            sorted(self._asked), m.Invite(**self._header, number=self._summation.number)
        )

    def advance(self, replies: Mapping[str, bytes]) -> dict[str, bytes]:
        """Take the replies of this step, keyed by the sender that the transport vouches for, and
        return the next messages; none when the aggregate is there."""
        if self.step == Step.DONE:
            raise OutOfTurn("the session is over; a new attempt is a new session")
        expected, handle = _HANDLERS[self.step]
        accepted: dict[str, tuple[Any, bytes]] = {}
        for name, raw in replies.items():
            try:
                accepted[name] = self._accept(name, raw, expected), raw
            except ProtocolError as problem:
                self._refuse(name, problem)
        outgoing: dict[str, bytes] = handle(self, accepted)
        self._asked = set(outgoing)
        return outgoing

    def publish(self, result: bytes, ask: bool = True) -> dict[str, bytes]:
        """The result, for everybody who uploaded. Those who were there to the end are asked how
        well it does, if anybody is."""
        if self.step != Step.DONE:
            raise OutOfTurn("there is nothing to publish before the session is over")
        self._unmaskers = self._unmaskers if ask else []
        self._asked = set(self._unmaskers)
        message = m.Publish(**self._header, result=result, evaluators=self._unmaskers)
        return self._to_all(self._uploads, message)

    def tally(self, replies: Mapping[str, bytes]) -> tuple[int, int] | None:
        """(correct, all) over the held-out points of everybody who was asked; None if one of them
        has not answered, for then the masks do not cancel."""
        total = TALLY_FIELD.zeros(TALLY_SIZE)
        for name in self._unmaskers:
            try:
                message = self._accept(name, replies.get(name, b""), m.Tally)
                total = TALLY_FIELD.add(total, TALLY_FIELD.unpack(message.counts, TALLY_SIZE))
            except (ProtocolError, InvalidInput):
                return None
        correct, everything = TALLY_FIELD.to_ints(total)
        return (correct, everything) if correct <= everything else None

    @property
    def session(self) -> bytes:
        """The session's number, which every message carries."""
        return self._session

    def expects(self, name: str) -> bool:
        """Whether a reply of this client is asked for in this step."""
        return name in self._asked

    def check(self, name: str, raw: bytes) -> None:
        """Raise what `advance` would refuse this reply for. A transport that anybody can write to
        asks this first, so that a forged reply does not stand for its supposed author."""
        expected = _HANDLERS[self.step][0] if self.step in _HANDLERS else m.Tally
        self._accept(name, raw, expected)

    @property
    def evaluators(self) -> list[str]:
        """Who is asked how well the result does."""
        return self._unmaskers

    def _accept(self, name: str, raw: bytes, expected: type) -> Any:
        if name not in self._asked:
            raise OutOfTurn(f"{name!r} was not asked in this step")
        sender, message = m.decode_signed(
            raw,
            self.study,
            self._session,
            largest_upload(self._summation) if expected is m.Upload else 0,
        )
        if sender != name:
            raise BadMessage(f"a message from {name!r} is signed by {sender!r}")
        if not isinstance(message, expected):
            raise OutOfTurn(f"{name!r} sent something other than this step asks for")
        if isinstance(message, m.Advertise):
            for public in (message.channel_key, message.mask_key):
                ExchangeKey().derive(public, b"", b"")
        return message

    def _refuse(self, name: str, problem: ProtocolError) -> None:
        # without its traceback, which would keep the message alive
        self.refused[name] = problem.with_traceback(None)

    def _after_advertise(self, replies: dict[str, tuple[m.Advertise, bytes]]) -> dict[str, bytes]:
        self._check_enough(replies)
        self._advertised = {name: message for name, (message, _) in replies.items()}
        self.step = Step.SHARE
        listed = {name: raw for name, (_, raw) in replies.items()}
        return self._to_all(replies, m.KeyList(**self._header, advertisements=listed))

    def _after_share(self, replies: dict[str, tuple[m.Share, bytes]]) -> dict[str, bytes]:
        for name, (message, _) in list(replies.items()):
            if message.sealed.keys() != self._advertised.keys() - {name}:
                self._refuse(name, BadMessage(f"{name!r} has not sealed one message for each peer"))
                del replies[name]
        self._check_enough(replies)
        self._participants = set(replies)
        self.step = Step.UPLOAD
        return {
            name: m.encode_to_client(
                m.SealedList(
                    **self._header,
                    sealed={
                        peer: message.sealed[name]
                        for peer, (message, _) in replies.items()
                        if peer != name
                    },
                ),
                self._identity,
            )
            for name in replies
        }

    def _after_upload(self, replies: dict[str, tuple[m.Upload, bytes]]) -> dict[str, bytes]:
        # all honest clients have the same view; those who have another cannot be summed with them
        views = Counter((message.view, message.n_sums) for message, _ in replies.values())
        common = views.most_common(1)[0][0] if views else None
        for name, (message, _) in replies.items():
            try:
                self._uploads[name] = self._checked_sums(name, message, common)
            except ProtocolError as problem:
                self._refuse(name, problem)
        self._check_enough(self._uploads)
        assert common is not None
        self._view = common[0]
        self.step = Step.CONFIRM
        survivors = sorted(self._uploads)
        return self._to_all(survivors, m.SurvivorList(**self._header, survivors=survivors))

    def _checked_sums(
        self, name: str, upload: m.Upload, common: tuple[bytes, int] | None
    ) -> np.ndarray:
        if (upload.view, upload.n_sums) != common:
            raise InconsistentView(f"{name!r} has seen different participants than most")
        least, most = self._summation.lengths
        if not least <= upload.n_sums <= most:
            raise BadMessage(f"{name!r} sends more or fewer sums than the study allows")
        try:
            return self._summation.field.unpack(upload.sums, upload.n_sums)
        except InvalidInput as problem:
            raise BadMessage(f"the upload of {name!r} is malformed: {problem}") from None

    def _after_confirm(self, replies: dict[str, tuple[m.Confirm, bytes]]) -> dict[str, bytes]:
        agreed = self._view, survivor_digest(list(self._uploads))
        confirmed = {}
        for name, (message, raw) in replies.items():
            if (message.view, message.survivors) == agreed:
                confirmed[name] = raw
            else:
                self._refuse(name, InconsistentView(f"{name!r} has not confirmed the survivors"))
        self._check_enough(confirmed)
        self.step = Step.UNMASK
        return self._to_all(confirmed, m.ConfirmationList(**self._header, confirmations=confirmed))

    def _after_unmask(self, replies: dict[str, tuple[m.Unmask, bytes]]) -> dict[str, bytes]:
        vanished = self._participants - self._uploads.keys()
        shares = {}
        for name, (message, _) in replies.items():
            if set(message.seed_shares) == set(self._uploads) and (
                set(message.key_shares) == vanished
            ):
                shares[name] = message
            else:
                self._refuse(name, BadMessage(f"{name!r} has not given the shares asked for"))
        self._check_enough(shares)
        total = self._unmasked_total(shares, vanished)
        survivors = sorted(self._uploads)
        self.aggregate = self._summation.open(total, survivors, len(self._participants))
        self._unmaskers = sorted(shares)
        self.step = Step.DONE
        return {}

    def _unmasked_total(self, shares: dict[str, m.Unmask], vanished: set[str]) -> np.ndarray:
        field = self._summation.field
        salt = self.study.session_salt(self._session, self._summation.context)
        n_sums = len(next(iter(self._uploads.values())))
        total = field.zeros(n_sums)
        for name, upload in self._uploads.items():
            commitment = self._advertised[name].seed_commitment
            seed = self._restore(
                {holder: given.seed_shares[name] for holder, given in shares.items()},
                lambda secret, c=commitment: digest(b"seed", secret) == c,  # type: ignore[misc]
                f"{name!r}'s seed do not fit its commitment",
            )
            total = field.add(total, upload)
            total = field.subtract(total, self_mask(seed, salt, n_sums, field))
        survivors = {name: self._advertised[name].mask_key for name in self._uploads}
        for name in sorted(vanished):
            public = self._advertised[name].mask_key
            secret = self._restore(
                {holder: given.key_shares[name] for holder, given in shares.items()},
                lambda secret, p=public: ExchangeKey(secret).public == p,  # type: ignore[misc]
                f"{name!r}'s mask key do not fit its public key",
            )
            # what the vanished client would have added is missing from the sum
            missing = pairwise_mask(name, ExchangeKey(secret), survivors, salt, n_sums, field)
            total = field.add(total, missing)
        return total

    def _restore(
        self, shares: Mapping[str, bytes], fits: Callable[[bytes], bool], what: str
    ) -> bytes:
        """The secret behind the shares; wrong ones are got round if there are others to take."""
        choices = combinations(sorted(shares), self.study.threshold)
        for holders in islice(choices, _MOST_RESTORATIONS):
            secret = restore(
                {self.study.seats[h]: int.from_bytes(shares[h], "big") for h in holders}
            )
            if secret.bit_length() <= 256 and fits(secret.to_bytes(32, "big")):
                return secret.to_bytes(32, "big")
        raise BadShares(f"the shares of {what}")

    @property
    def _header(self) -> dict[str, Any]:
        return {"study": self.study.hash, "session": self._session}

    def _to_all(self, names: Any, message: m.ToClient) -> dict[str, bytes]:
        return dict.fromkeys(names, m.encode_to_client(message, self._identity))

    def _check_enough(self, present: Any) -> None:
        if len(present) < self.study.threshold:
            why = "".join(f"; {name}: {problem}" for name, problem in self.refused.items())
            raise BelowThreshold(
                f"only {len(present)} of {len(self.study.clients)} sites completed the step "
                f"'{self.step.value}', but the threshold is {self.study.threshold}{why}"
            )


_HANDLERS: dict[Step, tuple[type, Any]] = {
    Step.ADVERTISE: (m.Advertise, ServerSession._after_advertise),
    Step.SHARE: (m.Share, ServerSession._after_share),
    Step.UPLOAD: (m.Upload, ServerSession._after_upload),
    Step.CONFIRM: (m.Confirm, ServerSession._after_confirm),
    Step.UNMASK: (m.Unmask, ServerSession._after_unmask),
}
