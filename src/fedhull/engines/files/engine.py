"""Messages as files: write requests, read replies, go on when all are there."""

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from fedhull.engines.files.mail import Mail, unwrap, wrap
from fedhull.engines.following import Say
from fedhull.errors import FedhullError, InvalidInput, StillWaiting
from fedhull.kits.files import decoded
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.drive import PROPOSE, PUBLISH, STEPS, Answers
from fedhull.protocol.keys import Identity
from fedhull.protocol.server import ServerSession
from fedhull.protocol.summation import Summation

_ENDS = ("request", "reply")
_GIVEN_UP = "; the ballot is then given up, and the default model published"


class Steps(msgspec.Struct, forbid_unknown_fields=True):
    """The coordinator's journal: the session number of each round, and the outcome of each step of
    all rounds. None of it is secret to the coordinator."""

    sessions: list[bytes] = []
    taken: list[dict[str, bytes]] = []
    failed: list[dict[str, str]] = []

    def to_bytes(self) -> bytes:
        """Encode for a private file."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def from_bytes(cls, raw: bytes, path: Path) -> "Steps":
        """Decode the content of the file at `path`."""
        complaint = f"{path} is damaged; begin a new session with --again"
        steps = decoded(raw, cls, complaint, msgspec.msgpack.decode)
        if not steps.whole:
            raise InvalidInput(complaint)
        return steps

    @property
    def whole(self) -> bool:
        """True if its parts fit together."""
        # a ballot adds one step to the last round
        rounds_begun = -(-(len(self.taken) - 1) // len(STEPS))
        return (
            len(self.taken) == len(self.failed)
            and len(self.sessions) >= rounds_begun
            and all(len(session) == 16 for session in self.sessions)
        )


class FilesEngine:
    """Writes requests and reads replies; an incomplete step raises StillWaiting.

    `steps` are the outcomes of earlier calls; `save` is called when they grow. With `go_on`, one
    step goes on without missing replies. `late` are the sites of earlier rounds that are not in the
    last one, `to_carry` the publications of this call for sites that did not answer it.
    """

    def __init__(
        self,
        mail: Mail,
        steps: Steps | None = None,
        save: Callable[[Steps], None] = lambda steps: None,
        go_on: bool = False,
        say: Say = lambda sentence: None,
    ):
        self._mail, self._steps = mail, steps or Steps()
        self._save, self._go_on, self._say = save, go_on, say
        self._position = 0
        self.late: set[str] = set()
        self.to_carry: list[Path] = []
        self._in_round: set[str] = set()
        self.session: ServerSession | None = None

    def open_session(
        self, study: Agreement, summation: Summation, identity: Identity | None, invited: list[str]
    ) -> ServerSession:
        """A session with the number that the journal has for this round."""
        known, position = self._steps.sessions, summation.number - 1
        if position == len(known):
            known.append(secrets.token_bytes(16))
            self._save(self._steps)
        self.session = ServerSession(study, summation, identity, known[position], invited)
        return self.session

    def step(self, kind: str, messages: Mapping[str, bytes], timeout: float = 0.0) -> Answers:
        """The outcome of this step in an earlier call, or else its replies if all are there."""
        assert self.session is not None
        position, number = self._position, self.session.number
        self._position += 1
        if kind == PUBLISH:
            self.late = (self.late | self._in_round) - messages.keys()
            self._in_round = set(messages)
        if position < len(self._steps.taken):
            return self._steps.taken[position], self._steps.failed[position]
        for name, message in messages.items():
            wrap(self._mail.path(name, kind, "request", number), message)
        replies: dict[str, bytes] = {}
        failures: dict[str, str] = {}
        for name in messages:
            if kind == PUBLISH and not self.session.expects(name):
                continue  # it gets the model and sends nothing
            try:
                replies[name] = self._read(self.session, name, kind)
            except StillWaiting:
                failures[name] = "vanished"
            except FedhullError as problem:
                failures[name] = type(problem).__name__
                self._say(f"{name}: {problem}")
        enough = len(replies) >= self._threshold or kind == PUBLISH
        if failures and not (self._go_on and enough):
            raise self._waiting(kind, number, len(replies), sorted(failures), enough)
        if kind == PUBLISH:
            silent = messages.keys() - replies.keys()
            self.to_carry = [self._mail.path(name, kind, "request", number) for name in silent]
        if failures:
            lost = _GIVEN_UP if kind == PROPOSE else ""
            self._say(f"{kind}: going on without {', '.join(sorted(failures))}{lost}")
        self._steps.taken.append(replies)
        self._steps.failed.append(failures)
        self._save(self._steps)
        self._go_on = False  # for one step only
        return replies, failures

    def _waiting(
        self, kind: str, number: int, replied: int, missing: list[str], enough: bool
    ) -> StillWaiting:
        """The error that says whose replies are missing."""
        mail = self._mail
        step, request = mail.describe(kind, number), mail.path("SITE", kind, "request", number)
        instead = f"; at least {self._threshold} sites have to reply"
        if enough:
            instead = f"; or go on without them: --go-on{_GIVEN_UP if kind == PROPOSE else ''}"
        return StillWaiting(
            f"{step} has {replied} of {replied + len(missing)} replies; carry {request} to each "
            f"SITE of {', '.join(missing)} and the reply back, then run this again{instead}",
            step,
            missing,
            [
                mail.to_carry(name, kind, w, number)
                for name in missing
                for w in ("request", "reply")
            ],
        )

    @property
    def _threshold(self) -> int:
        assert self.session is not None
        return self.session.study.threshold

    def _read(self, session: ServerSession, name: str, kind: str) -> bytes:
        path = self._mail.path(name, kind, "reply", session.number)
        if not path.is_file():
            raise StillWaiting("no reply yet")
        raw = unwrap(path)
        session.check(name, raw)
        return raw
