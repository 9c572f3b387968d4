"""`fedhull server` and `fedhull client` over files: one step for each call."""

import hashlib
import shutil
from contextlib import suppress
from pathlib import Path

from fedhull.disk import read_bytes, read_text, write_bytes
from fedhull.engines.base import Options, Runner, Say
from fedhull.engines.files.engine import FilesEngine, Steps
from fedhull.engines.files.mail import path_of, unwrap, wrap
from fedhull.errors import BadMessage, InvalidInput, ProtocolError, StillWaiting
from fedhull.kits.audit import AuditLog
from fedhull.kits.consent import CONSENT, HOLDINGS, RECEIPT
from fedhull.kits.fetch import take_late
from fedhull.kits.journal import JOURNAL, Journal
from fedhull.kits.kit import AUDIT, RESULTS, Kit
from fedhull.kits.participant import SiteRun, coordinate
from fedhull.kits.provision import Kits
from fedhull.kits.results import RESULT, read_objection
from fedhull.progress import ignore
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.drive import PUBLISH, STEPS
from fedhull.protocol.messages import decode_to_client
from fedhull.study.coordinator import PUBLICATION
from fedhull.study.task import Task

RUN = "files"
_SERVER_JOURNAL = "session.bin"
# So many sums somebody can be asked to carry.
_MOST_SUMS = 3


class FilesRunner(Runner):
    """Messages are files in a folder, KIT/mail or --mail."""

    name = RUN
    has_authority = False

    def check(self, task: Task) -> None:
        """Refuse studies that are too long for people who carry files."""
        if task.sums > _MOST_SUMS:
            raise InvalidInput(
                f"this study cannot run over files: its {task.sums} rounds have {len(STEPS)} "
                f"steps each, and somebody would have to carry all of them; use the engine nvflare"
            )

    def provision(self, kits: Kits, host: str, port: int) -> None:
        """Kits need nothing more."""
        self.check(kits.task)

    def serve(self, kit: Kit, options: Options, say: Say) -> Path:
        """The coordinator's next step; StillWaiting until the study is complete."""
        self.check(kit.task)
        mail = _mail_of(kit, options)
        if options.again:
            self.start_again(kit)
            for name in kit.study.clients:
                shutil.rmtree(mail / name, ignore_errors=True)
        results = kit.results(RUN)
        path = results / _SERVER_JOURNAL
        steps = Steps.from_bytes(read_bytes(path), path) if path.exists() else None

        def save(grown: Steps) -> None:
            write_bytes(path, grown.to_bytes(), mode=0o600)

        engine = FilesEngine(mail, steps, save, options.go_on, say, kit.task.sums)
        coordinate(kit, RUN, engine, 0.0, ignore, engine.open_session)
        _publish_to_late(kit, engine.late, mail, results)
        return results

    def join(self, kit: Kit, options: Options, say: Say) -> Path:
        """A site's next step; StillWaiting until there is a model."""
        self.check(kit.task)
        assert kit.name is not None
        mail = _mail_of(kit, options)
        results = kit.results(RUN)
        path = results / JOURNAL
        if (results / RESULT).exists():
            _check_no_new_session(kit, mail, results)
            return results
        journal = Journal.from_bytes(read_bytes(path)) if path.exists() else Journal()
        sums = kit.task.sums
        if journal.published >= sums or (not path.exists() and (results / RECEIPT).exists()):
            # the site was stopped over its last message, which it does not answer twice
            return take_late(kit, self.fetch(kit, options, say))
        if 0 < journal.uploads <= journal.published:
            # the study may have ended without this site, which was in an earlier sum; what another
            # session has published is of no use to it
            with suppress(StillWaiting, BadMessage):
                return take_late(kit, self.fetch(kit, options, say))
        site = SiteRun(kit, RUN, journal, lambda j: write_bytes(path, j.to_bytes(), mode=0o600))
        if journal.published:
            site.prepare()  # a site that was stopped between two sums goes on to the next
        while True:
            kind, number = _next_step(kit, mail, journal)
            reply, error = site.answer(
                kind, unwrap(path_of(mail, kit.name, kind, "request", number))
            )
            if site.over:
                path.unlink(missing_ok=True)
            if error is not None:
                return results
            if reply is not None:
                answer = path_of(mail, kit.name, kind, "reply", number)
                wrap(answer, reply)
                say(f"{kind}: wrote {len(reply):,} bytes to {answer}")
            if kind != PUBLISH:
                raise StillWaiting(
                    "carry the reply to the coordinator, and run this again when a request comes "
                    "back"
                )
            if site.over or site.stopped:
                return results
            if objection := read_objection(results):
                say(f"{objection}. The coordinator is not told; this site spoils the next sum.")

    def fetch(self, kit: Kit, options: Options, say: Say) -> bytes:
        """The request of the last step, which is for all."""
        assert kit.name is not None
        final = path_of(_mail_of(kit, options), kit.name, PUBLISH, "request", kit.task.sums)
        if not final.is_file():
            raise StillWaiting(f"nothing has been published yet: {final} has not arrived")
        return unwrap(final)

    def session_open(self, kit: Kit) -> bool:
        """Whether a session over files has begun at this site."""
        return (kit.folder / RESULTS / RUN / CONSENT).exists()

    def start_again(self, kit: Kit) -> None:
        """Put an earlier session aside; its secrets, and what it kept of the cells, are deleted."""
        old = kit.folder / RESULTS / RUN
        if old.exists():
            (old / JOURNAL).unlink(missing_ok=True)
            (old / HOLDINGS).unlink(missing_ok=True)
            (old / RECEIPT).unlink(missing_ok=True)
            number = len(list(old.parent.glob(f"{RUN}-*"))) + 1
            old.rename(old.with_name(f"{RUN}-{number}"))

    def after_join(self, kit: Kit) -> None:
        """A consent waits for the request that it is for."""


def _mail_of(kit: Kit, options: Options) -> Path:
    return options.mail or kit.folder / "mail"


def _next_step(kit: Kit, mail: Path, journal: Journal) -> tuple[str, int]:
    """The step whose request a site answers next, and the sum that it is of; StillWaiting if there
    is none."""
    assert kit.name is not None
    position, number = len(journal.accepted), journal.published + 1
    kind = STEPS[min(position, len(STEPS) - 1)]
    request = path_of(mail, kit.name, kind, "request", number)
    published = path_of(mail, kit.name, PUBLISH, "request", number)
    if position >= STEPS.index("confirm") and _of_session(published, kit.study, journal):
        # the others have gone on without us; what is published is for all
        kind, request = PUBLISH, published
    if not _of_session(request, kit.study, journal):
        raise StillWaiting(f"no request for step '{kind}' has arrived at {request} yet")
    return kind, number


def _publish_to_late(kit: Kit, late: set[str], mail: Path, results: Path) -> None:
    """What was published last, for sites that were in an earlier sum only."""
    message, log = read_bytes(results / PUBLICATION), AuditLog(results / AUDIT, kit.study.hash)
    for name in sorted(late):
        log.record("sent", PUBLISH, message, peer=name)
        wrap(path_of(mail, name, PUBLISH, "request", kit.task.sums), message)


def _of_session(request: Path, study: Agreement, journal: Journal) -> bool:
    """Whether a request has arrived. One of an earlier session may still lie there: it does not
    count. One that cannot be read at all is for the session to refuse."""
    if not request.is_file():
        return False
    if not journal.accepted:
        return True
    try:
        sessions = {
            decode_to_client(raw, study).session for raw in (journal.accepted[0], unwrap(request))
        }
    except ProtocolError:
        return True
    return len(sessions) == 1


def _check_no_new_session(kit: Kit, mail: Path, results: Path) -> None:
    """A finished site does not overlook that the coordinator has begun again."""
    assert kit.name is not None
    invite = path_of(mail, kit.name, STEPS[0], "request")
    if invite.is_file():
        seen = read_text(results / AUDIT)
        if hashlib.sha256(unwrap(invite)).hexdigest() not in seen:
            raise InvalidInput(
                "this site's session is complete, and the coordinator has opened a new one; if you "
                "agree to a second session over the same data, use --again"
            )


RUNNER = FilesRunner()
