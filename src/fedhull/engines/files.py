"""Studies by files: a folder of messages that people carry or sync, one step for each call.

    mail/SITE/1-advertise.request      from the coordinator, for SITE
    mail/SITE/1-advertise.reply        from SITE

Every file names its length and hash, so that one that is half copied is seen to be; requests are
signed by the coordinator, replies by the site. Nothing in the folder is ever changed: a file that
arrives twice is the same file, one that arrives late is not read any more.
"""

import hashlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from fedhull.errors import FedhullError, InvalidInput, ProtocolError, StillWaiting
from fedhull.federation.coordinator import PUBLISH
from fedhull.federation.journal import Journal
from fedhull.federation.kit import AUDIT, CONSENT, MODEL, RESULTS, Kit, write_bytes
from fedhull.federation.participant import SiteRun, coordinate
from fedhull.protocol.encoder_study import EncoderStudy
from fedhull.protocol.messages import decode_to_client
from fedhull.protocol.server import ServerSession, Step
from fedhull.protocol.study import Agreement

RUN = "files"
STEPS = [step.value for step in Step if step is not Step.DONE] + [PUBLISH]
_MAGIC = b"fedhull file 1\n"
_SERVER_JOURNAL, _SITE_JOURNAL = "session.bin", "session.secret"

Say = Callable[[str], None]


class Steps(msgspec.Struct, forbid_unknown_fields=True):
    """The server's journal: the session's number, and the replies that each step has gone on with.
    None of it is secret to the server."""

    session: bytes
    taken: list[dict[str, bytes]] = []
    failed: list[dict[str, str]] = []


class FilesEngine:
    """Writes requests, reads replies; a step that is not complete raises StillWaiting.

    `steps` holds what earlier calls have gone on with; `save` is called when it has grown. With
    `go_on`, one step goes on without those who have not replied.
    """

    def __init__(
        self,
        mail: Path,
        session: ServerSession,
        steps: Steps,
        save: Callable[[], None] = lambda: None,
        go_on: bool = False,
        say: Say = lambda sentence: None,
    ):
        self._mail, self._session, self._steps = mail, session, steps
        self._save, self._go_on, self._say = save, go_on, say
        self._turn = 0

    def step(
        self, kind: str, messages: Mapping[str, bytes], timeout: float = 0.0
    ) -> tuple[dict[str, bytes], dict[str, str]]:
        """What this step has gone on with, if it has; else what has arrived, if that is all."""
        turn = self._turn
        self._turn += 1
        if turn < len(self._steps.taken):
            return self._steps.taken[turn], self._steps.failed[turn]
        for name, message in messages.items():
            _write(_path(self._mail, name, kind, "request"), message)
        replies: dict[str, bytes] = {}
        failures: dict[str, str] = {}
        for name in messages:
            if kind == PUBLISH and not self._session.expects(name):
                continue  # gets the model, and is asked for nothing
            try:
                replies[name] = self._read(name, kind)
            except StillWaiting:
                failures[name] = "vanished"
            except FedhullError as problem:
                failures[name] = type(problem).__name__
                self._say(f"{name}: {problem}")
        enough = len(replies) >= self._session.study.threshold or kind == PUBLISH
        if failures and not (self._go_on and enough):
            raise StillWaiting(
                f"step '{kind}' ({turn + 1} of {len(STEPS)}) has {len(replies)} of "
                f"{len(replies) + len(failures)} replies; carry the requests in {self._mail} to "
                f"the sites and their replies back, then call again. Missing: "
                f"{', '.join(sorted(failures))} (--go-on goes on without them, if at least "
                f"{self._session.study.threshold} have replied)"
            )
        if failures:
            self._say(f"{kind}: going on without {', '.join(sorted(failures))}")
        self._steps.taken.append(replies)
        self._steps.failed.append(failures)
        self._save()
        self._go_on = False  # one decision, one step
        return replies, failures

    def _read(self, name: str, kind: str) -> bytes:
        path = _path(self._mail, name, kind, "reply")
        if not path.is_file():
            raise StillWaiting("no reply yet")
        raw = _unwrap(path)
        self._session.check(name, raw)
        return raw


def serve_files(kit: Kit, mail: Path, go_on: bool, again: bool, say: Say) -> Path:
    """The coordinator's next step; StillWaiting until the study is complete."""
    check_one_session(kit.study)
    if again:
        _put_aside(kit, mail)
    results = kit.results(RUN)
    path = results / _SERVER_JOURNAL
    session = ServerSession(kit.study, kit.identity)
    if path.exists():
        steps = msgspec.msgpack.decode(path.read_bytes(), type=Steps)
        session = ServerSession(kit.study, kit.identity, steps.session)
    else:
        steps = Steps(session.session)

    def save() -> None:
        write_bytes(path, msgspec.msgpack.encode(steps), mode=0o600)

    save()
    engine = FilesEngine(mail, session, steps, save, go_on, say)
    coordinate(kit, RUN, engine, 0.0, lambda progress: None, session)
    return results


def answer_files(kit: Kit, mail: Path, say: Say) -> Path:
    """A site's next step; StillWaiting until the model is there."""
    check_one_session(kit.study)
    assert kit.name is not None
    results = kit.results(RUN)
    path = results / _SITE_JOURNAL
    journal = Journal.from_bytes(path.read_bytes()) if path.exists() else Journal()
    turn = len(journal.accepted)
    if (results / MODEL).exists():
        _check_no_new_session(kit, mail, results)
        return results
    kind = STEPS[turn]
    request = _path(mail, kit.name, kind, "request")
    final = _path(mail, kit.name, PUBLISH, "request")
    if turn >= STEPS.index("confirm") and _of_session(final, kit.study, journal):
        kind, request = PUBLISH, final  # the others have gone on without us; the model is for all
    if not _of_session(request, kit.study, journal):
        raise StillWaiting(f"no request for step '{kind}' has arrived at {request} yet")
    site = SiteRun(kit, RUN, journal, lambda j: write_bytes(path, j.to_bytes(), mode=0o600))
    reply, error = site.answer(kind, _unwrap(request))
    if error is not None:
        return results
    if reply is not None:
        _write(_path(mail, kit.name, kind, "reply"), reply)
        say(f"{kind}: wrote {len(reply):,} bytes to {_path(mail, kit.name, kind, 'reply')}")
    if kind == PUBLISH:
        path.unlink(missing_ok=True)
        return results
    raise StillWaiting("carry the reply to the coordinator, and call again when a request is back")


def check_one_session(study: Agreement) -> None:
    """Refuse studies that are too long for people who carry files."""
    if isinstance(study, EncoderStudy):
        raise InvalidInput(
            f"an encoder study cannot be run by files: its {study.encoder.rounds} rounds have "
            f"{len(STEPS)} steps each, and somebody would have to carry all of them; use the "
            f"engine nvflare"
        )


def _of_session(request: Path, study: Agreement, journal: Journal) -> bool:
    """Whether a request has arrived. One of an earlier session may still lie there: it does not
    count. One that cannot be read at all is for the session to refuse."""
    if not request.is_file():
        return False
    if not journal.accepted:
        return True
    try:
        sessions = {
            decode_to_client(raw, study).session for raw in (journal.accepted[0], _unwrap(request))
        }
    except ProtocolError:
        return True
    return len(sessions) == 1


def _check_no_new_session(kit: Kit, mail: Path, results: Path) -> None:
    """A finished site does not overlook that the coordinator has begun again."""
    assert kit.name is not None
    invite = _path(mail, kit.name, STEPS[0], "request")
    if invite.is_file():
        seen = (results / AUDIT).read_text()
        if hashlib.sha256(_unwrap(invite)).hexdigest() not in seen:
            raise InvalidInput(
                "this site's session is complete, and the coordinator has opened a new one; if you "
                "agree to a second session over the same data, use --again"
            )


def session_open(kit: Kit) -> bool:
    """Whether a session by files has begun at this site, so that nothing has to be asked."""
    return (kit.folder / RESULTS / RUN / CONSENT).exists()


def start_again(kit: Kit) -> None:
    """Put an earlier session aside; its secrets are deleted."""
    old = kit.folder / RESULTS / RUN
    if old.exists():
        (old / _SITE_JOURNAL).unlink(missing_ok=True)
        number = len(list(old.parent.glob(f"{RUN}-*"))) + 1
        old.rename(old.with_name(f"{RUN}-{number}"))


def _put_aside(kit: Kit, mail: Path) -> None:
    start_again(kit)
    for name in kit.study.clients:
        shutil.rmtree(mail / name, ignore_errors=True)


def _path(mail: Path, name: str, kind: str, what: str) -> Path:
    return mail / name / f"{STEPS.index(kind) + 1}-{kind}.{what}"


def _write(path: Path, message: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    head = _MAGIC + len(message).to_bytes(8, "big") + hashlib.sha256(message).digest()
    write_bytes(path, head + message)


def _unwrap(path: Path) -> bytes:
    raw = path.read_bytes()
    start = len(_MAGIC) + 40
    message = raw[start:]
    length, checksum = raw[len(_MAGIC) : len(_MAGIC) + 8], raw[len(_MAGIC) + 8 : start]
    if (
        not raw.startswith(_MAGIC)
        or int.from_bytes(length, "big") != len(message)
        or hashlib.sha256(message).digest() != checksum
    ):
        raise InvalidInput(f"{path} is damaged or not all of it has arrived; copy it again")
    return message
