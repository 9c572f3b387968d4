"""`fedhull server` and `fedhull client` over files: one step per call."""

import hashlib
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from fedhull.disk import read_bytes, read_text, write_bytes
from fedhull.engines.base import Options, Runner, Say
from fedhull.engines.certificates import VALID_DAYS
from fedhull.engines.connection import Contact
from fedhull.engines.files.engine import FilesEngine, Steps
from fedhull.engines.files.mail import Mail, mail_folder, note_folder, unwrap, wrap
from fedhull.engines.files.turn import (
    answered,
    next_after_end,
    next_of_coordinator,
    next_of_site,
    not_arrived,
    not_asked,
    not_published,
    turn_of_coordinator,
    turn_of_site,
)
from fedhull.engines.following import Turn
from fedhull.errors import BadMessage, InvalidInput, ProtocolError, ServerUnreachable, StillWaiting
from fedhull.kits.audit import AuditLog
from fedhull.kits.consent import CONSENT, HOLDINGS, RECEIPT
from fedhull.kits.fetch import take_late
from fedhull.kits.journal import JOURNAL, Journal
from fedhull.kits.kit import AUDIT, RESULTS, Kit
from fedhull.kits.participant import SiteRun, coordinate
from fedhull.kits.provision import Kits
from fedhull.kits.results import RESULT, STATUS, read_objection, read_status
from fedhull.progress import ignore
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.drive import PUBLISH, STEPS
from fedhull.protocol.messages import decode_to_client
from fedhull.rounds.run import PUBLICATION

RUN = "files"
_SERVER_JOURNAL = "session.bin"


class FilesRunner(Runner):
    """Messages are files in a folder, KIT/mail or --mail."""

    name = RUN
    has_authority = False
    keeps_consent = True

    def turn(self, kit: Kit, options: Options) -> Turn | None:
        """The step shown by the mail folder."""
        if (kit.folder / RESULTS / RUN / STATUS).exists():
            return None
        mail = _mail_of(kit, options)
        if kit.name is None:
            return turn_of_coordinator(mail, list(kit.study.clients))
        return turn_of_site(mail, kit.name)

    def next_step(self, kit: Kit, turn: Turn | None, options: Options) -> str:
        """The next move shown by the mail folder."""
        mail, results = _mail_of(kit, options), kit.folder / RESULTS / RUN
        if not (results / STATUS).exists():
            if kit.name is None:
                return next_of_coordinator(mail, kit, turn)
            return next_of_site(mail, kit, self.session_open(kit))
        return next_after_end(mail, kit, read_status(results)[0])

    def ping(self, kit: Kit, options: Options) -> Contact:
        """Write and read a file beside the site's replies; nothing tells who else sees the
        folder."""
        assert kit.name is not None
        mail = _mail_of(kit, options).folder
        own = mail / kit.name
        contact = Contact(
            str(mail),
            f"The mail folder of {kit.name} is usable: {mail}. Nobody was reached: those who carry "
            f"or sync it must bring its files to the coordinator",
        )
        contact.timed(
            lambda: _try_out(mail, kit.name or "", make=mail == kit.folder / "mail"),
            lambda _: f"files: {mail} is there, can be read and written, and is {_owner(mail)}'s",
        )
        if own.is_dir():
            requests = len(list(own.glob("*.request")))
            arrived = f"{requests} request{'' if requests == 1 else 's'}"
            contact.timed(
                lambda: _try_out(own, kit.name or "", make=False),
                lambda _: f"files: so is {own}, with {arrived} from the coordinator",
            )
        return contact

    def provision(self, kits: Kits, host: str, port: int, days: int = VALID_DAYS) -> None:
        """Add nothing: no certificates are needed."""

    def serve(self, kit: Kit, options: Options, say: Say) -> Path:
        """Take the coordinator's next step; StillWaiting until the study is complete."""
        note_folder(kit, options.mail)
        mail = _mail_of(kit, options)
        if options.again:
            self.start_again(kit)
            for name in kit.study.clients:
                _clear(mail.folder / name)
        results = kit.results(RUN)
        path = results / _SERVER_JOURNAL
        steps = Steps.from_bytes(read_bytes(path), path) if path.exists() else None

        def save(grown: Steps) -> None:
            write_bytes(path, grown.to_bytes(), mode=0o600)

        engine = FilesEngine(mail, steps, save, options.go_on, say)
        coordinate(kit, RUN, engine, 0.0, ignore, engine.open_session)
        left = [*engine.to_carry, *_publish_to_late(kit, engine.late, mail, results)]
        if left:
            names = ", ".join(sorted(path.parent.name for path in left))
            last = mail.path("SITE", PUBLISH, "request", kit.task.sums)
            say(f"Carry {last} to each SITE of {names}: it holds the {kit.task.product}.")
        return results

    def join(self, kit: Kit, options: Options, say: Say) -> Path:
        """Take a site's next step; StillWaiting until there is a result."""
        assert kit.name is not None
        note_folder(kit, options.mail)
        mail = _mail_of(kit, options)
        results = kit.results(RUN)
        path = results / JOURNAL
        if (results / RESULT).exists():
            _check_no_new_session(kit, mail, results)
            return results
        journal = Journal.from_bytes(read_bytes(path)) if path.exists() else Journal()
        sums = kit.task.sums
        if journal.published >= sums or (not path.exists() and (results / RECEIPT).exists()):
            # stopped over its last message, which it does not answer twice
            return take_late(kit, self.fetch(kit, options, say))
        if 0 < journal.uploads <= journal.published:
            # the study may have ended without this site, which was in an earlier round; another
            # session's publication is no use to it
            with suppress(StillWaiting, BadMessage):
                return take_late(kit, self.fetch(kit, options, say))
        site = SiteRun(kit, RUN, journal, lambda j: write_bytes(path, j.to_bytes(), mode=0o600))
        if journal.published:
            site.prepare()  # in case it was stopped between two rounds
        while True:
            kind, number = _next_step(kit, mail, journal)
            reply, error = site.answer(kind, unwrap(mail.path(kit.name, kind, "request", number)))
            if site.over:
                path.unlink(missing_ok=True)
            if error is not None:
                return results
            if reply is not None:
                answer = mail.path(kit.name, kind, "reply", number)
                wrap(answer, reply)
                say(f"{kind}: wrote {len(reply):,} bytes to {answer}")
            if kind != PUBLISH:
                raise answered(mail, kit.name, kind, number)
            if site.over or site.stopped:
                return results
            if objection := read_objection(results):
                say(f"{objection}. The coordinator is not told; this site spoils the next round.")

    def fetch(self, kit: Kit, options: Options, say: Say) -> bytes:
        """Read the request of the last step, which is for all."""
        assert kit.name is not None
        mail = _mail_of(kit, options)
        final = mail.path(kit.name, PUBLISH, "request", kit.task.sums)
        if not final.is_file():
            raise not_published(mail, kit.name)
        return unwrap(final)

    def check_invited(self, kit: Kit, options: Options) -> None:
        """The coordinator's first request must be there."""
        assert kit.name is not None
        mail = _mail_of(kit, options)
        if not mail.path(kit.name, STEPS[0], "request").is_file():
            raise not_asked(mail, kit)

    def session_open(self, kit: Kit) -> bool:
        """True if a session over files has begun at this site."""
        return (kit.folder / RESULTS / RUN / CONSENT).exists()

    def start_again(self, kit: Kit) -> None:
        """Put an earlier session aside, and delete its secrets and cells."""
        old = kit.folder / RESULTS / RUN
        if old.exists():
            for name in (JOURNAL, HOLDINGS, RECEIPT):
                (old / name).unlink(missing_ok=True)
            number = len(list(old.parent.glob(f"{RUN}-*"))) + 1
            old.rename(old.with_name(f"{RUN}-{number}"))

    def after_join(self, kit: Kit) -> None:
        """Keep the consent: it waits for its request."""


def _mail_of(kit: Kit, options: Options) -> Mail:
    return Mail.of(mail_folder(kit, options.mail), kit.task)


def _clear(folder: Path) -> None:
    """Delete a site's messages of an earlier session and nothing else."""
    for what in ("request", "reply"):
        for path in folder.glob(f"*.{what}"):
            path.unlink()


def _owner(folder: Path) -> str:
    """Account that owns a folder."""
    try:
        return folder.owner()
    except (KeyError, OSError, NotImplementedError):  # an account without a name, or Windows
        return str(folder.stat().st_uid)


def _try_out(mail: Path, name: str, make: bool) -> None:
    try:
        if make:
            mail.mkdir(exist_ok=True)
        with TemporaryDirectory(dir=mail, prefix=f".{name}-") as folder:
            (Path(folder) / "ping").write_bytes(b"ping")
            (Path(folder) / "ping").read_bytes()
        list(mail.iterdir())
    except OSError as problem:
        raise ServerUnreachable(
            f"files: the folder {mail} cannot be used: {problem.strerror}; is it there, mounted, "
            f"and writable for you? --mail names another"
        ) from None


def _next_step(kit: Kit, mail: Mail, journal: Journal) -> tuple[str, int]:
    """The step, and its round, whose request a site answers next; StillWaiting if there is none."""
    assert kit.name is not None
    position, number = len(journal.accepted), journal.published + 1
    steps = mail.steps[number - 1]
    kind = steps[min(position, len(steps) - 1)]
    request = mail.path(kit.name, kind, "request", number)
    published = mail.path(kit.name, PUBLISH, "request", number)
    if position >= steps.index("confirm") and _of_session(published, kit.study, journal):
        # the others have gone on without us; what is published is for all
        kind, request = PUBLISH, published
    if not _of_session(request, kit.study, journal):
        first = position == 0 and number == 1
        raise not_asked(mail, kit) if first else not_arrived(mail, kit.name, kind, number)
    return kind, number


def _publish_to_late(kit: Kit, late: set[str], mail: Mail, results: Path) -> list[Path]:
    """Write the last publication for sites of earlier rounds; the files that are new."""
    message, log = read_bytes(results / PUBLICATION), AuditLog(results / AUDIT, kit.study.hash)
    paths = [mail.path(name, PUBLISH, "request", kit.task.sums) for name in sorted(late)]
    new = [path for path in paths if not path.is_file()]
    for path in paths:
        log.record("sent", PUBLISH, message, peer=path.parent.name)
        wrap(path, message)
    return new


def _of_session(request: Path, study: Agreement, journal: Journal) -> bool:
    """True if a request of this session has arrived; an earlier session's may still lie there. One
    that cannot be read is for the session to refuse."""
    if not request.is_file():
        return False
    if not journal.accepted:
        return True
    try:
        messages = journal.accepted[0], unwrap(request)
        sessions = {decode_to_client(raw, study).session for raw in messages}
    except ProtocolError:
        return True
    return len(sessions) == 1


def _check_no_new_session(kit: Kit, mail: Mail, results: Path) -> None:
    """Tell a finished site that the coordinator has begun again."""
    assert kit.name is not None
    invite = mail.path(kit.name, STEPS[0], "request")
    if not invite.is_file():
        return
    if hashlib.sha256(unwrap(invite)).hexdigest() not in read_text(results / AUDIT):
        raise InvalidInput(
            "this site's session is complete, and the coordinator has opened a new one; if you "
            "agree to a second session over the same data, use --again"
        )


RUNNER = FilesRunner()
