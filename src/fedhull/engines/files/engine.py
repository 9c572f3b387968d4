"""Messages of a study as files: write requests, read replies, go on when all are there."""

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from fedhull.engines.files.mail import Mail, unwrap, wrap
from fedhull.errors import FedhullError, InvalidInput, StillWaiting
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.drive import PROPOSE, PUBLISH, STEPS, Answers
from fedhull.protocol.keys import Identity
from fedhull.protocol.server import ServerSession
from fedhull.protocol.summation import Summation

Say = Callable[[str], None]
_GIVEN_UP = "; the ballot is then given up, and the default model published"


class Steps(msgspec.Struct, forbid_unknown_fields=True):
    """The server's journal: the number of each sum's session, and the replies that each step of all
    sums has gone on with. None of it is secret to the server."""

    sessions: list[bytes] = []
    taken: list[dict[str, bytes]] = []
    failed: list[dict[str, str]] = []

    def to_bytes(self) -> bytes:
        """For a private file."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def from_bytes(cls, raw: bytes, path: Path) -> "Steps":
        """The inverse of `to_bytes`; `path` is where it was found."""
        try:
            steps = msgspec.msgpack.decode(raw, type=cls)
        except (msgspec.MsgspecError, ValueError, RecursionError):  # ValueError: not UTF-8
            steps = None
        if steps is None or not steps.whole:
            raise InvalidInput(f"{path} is damaged; begin a new session with --again")
        return steps

    @property
    def whole(self) -> bool:
        """Whether its parts fit together."""
        # one sum may have had a step more: candidates were proposed
        sums_begun = -(-(len(self.taken) - 1) // len(STEPS))
        return (
            len(self.taken) == len(self.failed)
            and len(self.sessions) >= sums_begun
            and all(len(session) == 16 for session in self.sessions)
        )


class FilesEngine:
    """Writes requests, reads replies; a step that is not complete raises StillWaiting.

    `steps` holds what earlier calls have gone on with; `save` is called with it when it has grown.
    With `go_on`, one step goes on without those who have not replied. `late` are those who were in
    one of several sums but not in the last; `to_carry` is what this call has published for sites
    that did not answer it.
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
        self._told: set[str] = set()
        self.session: ServerSession | None = None

    def open_session(
        self, study: Agreement, summation: Summation, identity: Identity | None, invited: list[str]
    ) -> ServerSession:
        """A session with the number that this engine's journal has for it; the replies are its."""
        known, position = self._steps.sessions, summation.number - 1
        if position == len(known):
            known.append(secrets.token_bytes(16))
            self._save(self._steps)
        self.session = ServerSession(study, summation, identity, known[position], invited)
        return self.session

    def step(self, kind: str, messages: Mapping[str, bytes], timeout: float = 0.0) -> Answers:
        """What this step has gone on with, if it has; else what has arrived, if that is all."""
        assert self.session is not None
        position, number = self._position, self.session.number
        self._position += 1
        if kind == PUBLISH:
            # those who were in an earlier sum only are late for what comes of the last
            self.late = (self.late | self._told) - messages.keys()
            self._told = set(messages)
        if position < len(self._steps.taken):
            return self._steps.taken[position], self._steps.failed[position]
        for name, message in messages.items():
            wrap(self._mail.path(name, kind, "request", number), message)
        replies: dict[str, bytes] = {}
        failures: dict[str, str] = {}
        for name in messages:
            if kind == PUBLISH and not self.session.expects(name):
                continue  # gets the model, and is asked for nothing
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
        self._go_on = False  # one decision, one step
        return replies, failures

    def _waiting(
        self, kind: str, number: int, replied: int, missing: list[str], enough: bool
    ) -> StillWaiting:
        """What those who have not replied are waited for with."""
        mail = self._mail
        step, request = mail.describe(kind, number), mail.path("SITE", kind, "request", number)
        lost = _GIVEN_UP if kind == PROPOSE else ""
        instead = (
            f"; or go on without them: --go-on{lost}"
            if enough
            else f"; at least {self._threshold} sites have to reply"
        )
        return StillWaiting(
            f"{step} has {replied} of {replied + len(missing)} replies; carry {request} to each "
            f"SITE of {', '.join(missing)} and the reply back, then run this again{instead}",
            step,
            missing,
            [
                mail.to_carry(name, kind, what, number)
                for name in missing
                for what in ("request", "reply")
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
