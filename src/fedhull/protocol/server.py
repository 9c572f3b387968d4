"""The server's side of a session: a state machine that learns the sum over the clients, no more."""

import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fedhull.codes.power_sums import recover
from fedhull.errors import (
    BadMessage,
    BadShares,
    BelowThreshold,
    InconsistentView,
    OutOfTurn,
    ProtocolError,
)
from fedhull.protocol import messages as m
from fedhull.protocol.client import session_salt
from fedhull.protocol.keys import ExchangeKey, digest
from fedhull.protocol.masking import pairwise_mask, self_mask
from fedhull.protocol.shares import restore
from fedhull.protocol.study import Study


class Step(StrEnum):
    """What the server is waiting for."""

    ADVERTISE = "advertise"
    SHARE = "share"
    UPLOAD = "upload"
    CONFIRM = "confirm"
    UNMASK = "unmask"
    DONE = "done"


@dataclass(frozen=True)
class Aggregate:
    """What the server learns: the sum of the survivors' label vectors, and the hulls in it."""

    vector: dict[int, int]
    hulls: dict[int, list[int]]
    survivors: list[str]


class ServerSession:
    """One session at the server. `start` and `advance` return what to send to whom.

    A client whose reply is missing or refused takes no further part; `refused` says why. When too
    few are left, BelowThreshold ends the session and nothing has been learned.
    """

    def __init__(self, study: Study):
        self.study = study
        self.step = Step.ADVERTISE
        self.refused: dict[str, ProtocolError] = {}
        self.aggregate: Aggregate | None = None
        self._session = secrets.token_bytes(16)
        self._advertised: dict[str, m.Advertise] = {}
        self._uploads: dict[str, m.Upload] = {}
        self._participants: set[str] = set()

    def __repr__(self) -> str:
        return f"ServerSession(study={self.study.name!r}, step={self.step.value!r})"

    def start(self) -> dict[str, bytes]:
        """The invitations."""
        return self._to_all(self.study.clients, m.Invite(**self._header))

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
                self.refused[name] = problem
        return handle(self, accepted)

    def publish(self, result: bytes) -> dict[str, bytes]:
        """The result, for everybody who uploaded."""
        if self.step != Step.DONE:
            raise OutOfTurn("there is nothing to publish before the session is over")
        return self._to_all(self._uploads, m.Publish(**self._header, result=result))

    def _accept(self, name: str, raw: bytes, expected: type) -> Any:
        sender, message = m.decode_signed(raw, self.study, self._session)
        if sender != name:
            raise BadMessage(f"a message from {name!r} is signed by {sender!r}")
        if not isinstance(message, expected):
            raise OutOfTurn(f"{name!r} sent something else than this step asks for")
        return message

    def _after_advertise(self, replies: dict[str, tuple[m.Advertise, bytes]]) -> dict[str, bytes]:
        self._check_enough(replies)
        self._advertised = {name: message for name, (message, _) in replies.items()}
        self.step = Step.SHARE
        listed = {name: raw for name, (_, raw) in replies.items()}
        return self._to_all(replies, m.KeyList(**self._header, advertisements=listed))

    def _after_share(self, replies: dict[str, tuple[m.Share, bytes]]) -> dict[str, bytes]:
        for name, (message, _) in list(replies.items()):
            if message.sealed.keys() != self._advertised.keys() - {name}:
                self.refused[name] = BadMessage(f"{name!r} has not sealed a message for each peer")
                del replies[name]
        self._check_enough(replies)
        self._participants = set(replies)
        self.step = Step.UPLOAD
        return {
            name: m.encode(
                m.SealedList(
                    **self._header,
                    sealed={
                        peer: message.sealed[name]
                        for peer, (message, _) in replies.items()
                        if peer != name
                    },
                )
            )
            for name in replies
        }

    def _after_upload(self, replies: dict[str, tuple[m.Upload, bytes]]) -> dict[str, bytes]:
        uploads = {name: message for name, (message, _) in replies.items()}
        # all honest clients have the same view; those who have another cannot be summed with them
        views = Counter((u.view, u.n_sums) for u in uploads.values())
        common = views.most_common(1)[0][0] if views else None
        for name, upload in list(uploads.items()):
            try:
                self._check_upload(name, upload, common)
            except ProtocolError as problem:
                self.refused[name] = problem
                del uploads[name]
        self._check_enough(uploads)
        self._uploads = uploads
        self.step = Step.CONFIRM
        return self._to_all(uploads, m.SurvivorList(**self._header, survivors=sorted(uploads)))

    def _check_upload(self, name: str, upload: m.Upload, common: object) -> None:
        if name not in self._participants:
            raise OutOfTurn(f"{name!r} uploaded without having shared")
        if (upload.view, upload.n_sums) != common:
            raise InconsistentView(f"{name!r} has seen other participants than most")
        if upload.n_sums > self.study.most_sums:
            raise BadMessage(f"{name!r} sends more sums than the study allows")
        if len(upload.sums) != self.study.coding.field.packed_size(upload.n_sums):
            raise BadMessage(f"the upload of {name!r} does not have the length it announces")

    def _after_confirm(self, replies: dict[str, tuple[m.Confirm, bytes]]) -> dict[str, bytes]:
        survivors = sorted(self._uploads)
        confirmed = {
            name: raw
            for name, (message, raw) in replies.items()
            if name in self._uploads
            and message.survivors == survivors
            and message.view == self._uploads[name].view
        }
        for name in replies.keys() - confirmed.keys():
            self.refused[name] = InconsistentView(f"{name!r} has not confirmed the survivors")
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
                self.refused[name] = BadMessage(f"{name!r} has not given the shares asked for")
        self._check_enough(shares)
        vector = self._unmasked_vector(shares, vanished)
        self.aggregate = Aggregate(
            vector, self.study.coding.hulls(vector), survivors=sorted(self._uploads)
        )
        self.step = Step.DONE
        return {}

    def _unmasked_vector(self, shares: dict[str, m.Unmask], vanished: set[str]) -> dict[int, int]:
        field, salt = self.study.coding.field, session_salt(self.study, self._session)
        n_sums = next(iter(self._uploads.values())).n_sums
        total = field.zeros(n_sums)
        for name, upload in self._uploads.items():
            seed = self._restore({h: s.seed_shares[name] for h, s in shares.items()}, name)
            if digest(b"seed", seed) != self._advertised[name].seed_commitment:
                raise BadShares(f"the shares of {name!r}'s seed do not fit its commitment")
            total = field.add(total, field.unpack(upload.sums, n_sums))
            total = field.subtract(total, self_mask(seed, salt, n_sums, field))
        survivors = {name: self._advertised[name].mask_key for name in self._uploads}
        for name in sorted(vanished):
            key = ExchangeKey(
                self._restore({h: s.key_shares[name] for h, s in shares.items()}, name)
            )
            if key.public != self._advertised[name].mask_key:
                raise BadShares(f"the shares of {name!r}'s mask key do not fit its public key")
            # what the vanished client would have added is missing from the sum
            total = field.add(total, pairwise_mask(name, key, survivors, salt, n_sums, field))
        most = (n_sums - self.study.protocol.spare_sums) // 2
        return recover(field.to_ints(total), self.study.quantizer.n_bins, most, field)

    def _restore(self, shares: Mapping[str, bytes], owner: str) -> bytes:
        chosen = sorted(shares)[: self.study.threshold]
        secret = restore(
            {self.study.seat(holder): int.from_bytes(shares[holder], "big") for holder in chosen}
        )
        if secret.bit_length() > 256:
            raise BadShares(f"the shares of a secret of {owner!r} do not fit together")
        return secret.to_bytes(32, "big")

    @property
    def _header(self) -> dict[str, Any]:
        return {"study": self.study.hash, "session": self._session}

    def _to_all(self, names: Any, message: m.Message) -> dict[str, bytes]:
        return dict.fromkeys(names, m.encode(message))

    def _check_enough(self, present: Any) -> None:
        if len(present) < self.study.threshold:
            why = "".join(f"; {name}: {problem}" for name, problem in self.refused.items())
            raise BelowThreshold(
                f"only {len(present)} of {len(self.study.clients)} clients completed the step "
                f"'{self.step.value}', the threshold is {self.study.threshold}{why}"
            )


_HANDLERS: dict[Step, tuple[type, Any]] = {
    Step.ADVERTISE: (m.Advertise, ServerSession._after_advertise),
    Step.SHARE: (m.Share, ServerSession._after_share),
    Step.UPLOAD: (m.Upload, ServerSession._after_upload),
    Step.CONFIRM: (m.Confirm, ServerSession._after_confirm),
    Step.UNMASK: (m.Unmask, ServerSession._after_unmask),
}
