"""Both sides of a study, from their kits, whatever the engine."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from fedhull.disk import read_bytes, write_bytes
from fedhull.errors import (
    BadMessage,
    EngineFailure,
    FedhullError,
    OutOfTurn,
    ProtocolError,
    StillWaiting,
)
from fedhull.kits import consent, ledger
from fedhull.kits.audit import AuditLog
from fedhull.kits.files import write_checked
from fedhull.kits.journal import Journal
from fedhull.kits.kit import AUDIT, Kit
from fedhull.kits.results import (
    INTERNAL_ERROR,
    RESULT,
    STATUS,
    finish_site,
    note_objection,
    stamp_of,
    write_end,
    write_internal_error,
    write_results,
    write_status,
)
from fedhull.progress import Report
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.drive import PUBLISH, Answers, Engine
from fedhull.protocol.keys import Randomness
from fedhull.protocol.messages import Propose, Publish, Size, decode_to_client
from fedhull.protocol.server import ServerSession
from fedhull.rounds.run import SUM, VOTES, OpenSession, run_study
from fedhull.rounds.site import Site

T = TypeVar("T")


class SiteRun:
    """A site's session, from its kit. `prepare` and `answer` never raise: the coordinator learns
    the name of an error at most, the words stay in the site's files.

    Engines that start a new process for each message pass the last `journal`, and `keep` each new
    one.
    """

    def __init__(
        self,
        kit: Kit,
        run: str,
        journal: Journal | None = None,
        keep: Callable[[Journal], None] = lambda journal: None,
    ):
        self._kit = kit
        self.results = kit.results(run)
        self._site: Site | None = None
        self._holdings: Any = None
        self._journal = journal or Journal()
        self._keep = keep

    def prepare(self) -> None:
        """Do the slow work before the site reports ready, so that no reply's delay tells how much
        the site holds. Errors are told at the first message; a second call does nothing."""
        self._guarded(lambda: None if self.over else self._ready())

    def answer(self, step: str, message: bytes) -> tuple[bytes | None, str | None]:
        """(reply or None, None), or (None, name of an error)."""
        answered, error = self._guarded(lambda: self._answer(step, message))
        return (None, error) if answered is None else answered

    @property
    def over(self) -> bool:
        """True once the site has received its last publication, whatever that was."""
        published = self._journal.published
        return published >= self._kit.task.sums or (self.results / RESULT).exists()

    @property
    def stopped(self) -> bool:
        """True if the site could not use what was published and has left the study."""
        return self._site is not None and self._site.stopped

    def end(self) -> None:
        """Note that no further message will come."""
        sentence = (
            f"the server ended the session before it had a result: too few sites were left, or "
            f"another process used the kit of {self._kit.name}; ask the coordinator"
        )
        if (self.results / consent.RECEIPT).exists():
            sentence += (
                ". This site has uploaded: if there is a result, 'fedhull client KIT --fetch' "
                "brings it"
            )
        else:
            (self.results / consent.HOLDINGS).unlink(missing_ok=True)
        if not (self.results / STATUS).exists():
            write_end(self.results, EngineFailure.__name__, sentence)

    def _guarded(self, work: Callable[[], T]) -> tuple[T | None, str | None]:
        """(result, None), or (None, name of an error) with the words written down."""
        try:
            return work(), None
        except FedhullError as problem:
            write_status(self.results, type(problem).__name__, f"{problem}")
            return None, type(problem).__name__
        except Exception:
            write_internal_error(self.results)
            return None, INTERNAL_ERROR

    def _answer(self, step: str, message: bytes) -> tuple[bytes | None, str | None]:
        self._audit.record("received", step, message, peer="coordinator")
        if self.over:
            return None, OutOfTurn.__name__
        site = self._ready()
        if site.stopped:
            return None, OutOfTurn.__name__
        # the name of a step is not signed; the message says what it is
        kind = _kind(message, self._kit.study)
        if kind in (Propose, Publish):
            self._check_due(site, message)
            return self._look(site, step, message, kind is Publish)
        reply, is_upload = site.receive(message), kind is Size
        if is_upload:
            self._note_upload(site)
        self._journal.note(message, upload=is_upload)
        self._keep(self._journal)
        return self._sent("upload" if is_upload else step, reply), None

    def _sent(self, step: str, reply: bytes | None) -> bytes | None:
        if reply is not None:
            self._audit.record("sent", step, reply, peer="coordinator")
        return reply

    @cached_property
    def _audit(self) -> AuditLog:
        return AuditLog(self.results / AUDIT, self._kit.study.hash)

    def _ready(self) -> Site:
        if self._site is None:
            self._site = self._start()
        return self._site

    def _start(self) -> Site:
        kit, journal = self._kit, self._journal
        assert kit.name is not None
        self._holdings = consent.use(kit, self.results)
        self._consent = consent.read(self.results / consent.CONSENT)
        self._note_consent()
        # the journal may be an old copy
        if self._audit.uploads > journal.uploads:
            raise OutOfTurn(ledger.twice(self._audit.path))
        if ledger.rounds_of(self._consent.session) > journal.uploads:
            raise OutOfTurn(ledger.twice(ledger.ledger_file()))
        site = kit.task.site(
            kit.name, kit.identity, self._holdings, Randomness(journal.root), journal.checkpoint
        )
        try:
            for message in journal.accepted:
                site.receive(message)
        except Exception:
            # said in full the first time; the coordinator must see no difference
            raise OutOfTurn(
                "the session cannot be resumed from its journal; start a new one with --again"
            ) from None
        # the last process may have been stopped between two rounds
        self._close_round(site)
        return site

    def _note_consent(self) -> None:
        study, agreed = self._kit.study, self._consent
        self._audit.record(
            "agreed",
            "consent",
            read_bytes(self.results / consent.CONSENT),
            peer=agreed.by,
            user=agreed.user,
            host=agreed.host,
            purpose=study.purpose,
            contact=study.contact,
            valid_until=str(study.valid_until or ""),
        )

    def _note_upload(self, site: Site) -> None:
        """Write, before an upload leaves, the receipt that later reads the publication, and the
        ledger."""
        receipt = self.results / consent.RECEIPT
        try:
            if site.receipt is not None:
                write_checked(receipt, site.receipt)
            upload = self._consent.upload(self._kit, site.rounds_done + 1)
            ledger.record(upload, agreed=self._consent.after)
        except BaseException:
            # back to where the journal is
            self._site = None
            receipt.unlink(missing_ok=True)
            raise

    def _check_due(self, site: Site, message: bytes) -> None:
        """Refuse what is shown out of turn, by facts that everybody knows and before looking at
        it."""
        study, journal = self._kit.study, self._journal
        if journal.uploads != site.rounds_done + 1 or not journal.accepted:
            raise OutOfTurn("a site that has not uploaded is shown nothing")
        first, this = (decode_to_client(raw, study) for raw in (journal.accepted[0], message))
        if first.session != this.session:
            raise BadMessage("a message belongs to another session")

    def _look(
        self, site: Site, step: str, message: bytes, publication: bool
    ) -> tuple[bytes | None, str | None]:
        """Answer what is proposed or published, once. The answer must not depend on what the site
        makes of it: that would tell which hulls are its own."""
        self._journal.note(message, publication=publication)
        self._keep(self._journal)
        reply, error = self._guarded(lambda: site.receive(message))
        if error is not None:
            return None, OutOfTurn.__name__
        # errors from here on are the site's own affair
        self._guarded(lambda: self._use(site, last_words=len(reply or b"")))
        return self._sent(PUBLISH if publication else step, reply), None

    def _use(self, site: Site, last_words: int) -> None:
        self._close_round(site)
        if site.veto is not None and not site.done:
            note_objection(self.results, site.veto)
        if site.complaint is not None and not (site.stopped or site.done):
            note_objection(self.results, site.complaint)
        elif site.complaint is not None:
            raise site.complaint
        elif site.done:
            up, down = self._audit.total("sent") + last_words, self._audit.total("received")
            finish_site(self._kit, self.results, site, self._holdings, up, down)

    def _close_round(self, site: Site) -> None:
        if site.checkpoint is not None:
            self._journal.close_round(site.checkpoint)
            self._keep(self._journal)


def _kind(message: bytes, study: Agreement) -> type | None:
    """Type of a message, if the coordinator has signed it."""
    try:
        return type(decode_to_client(message, study))
    except ProtocolError:
        return None


def coordinate(
    kit: Kit,
    run: str,
    engine: Engine,
    timeout: float,
    report: Report,
    open_session: OpenSession = ServerSession,
) -> Any:
    """Run the study of the coordinator's kit over an engine and write the results; `open_session`
    is as in `run_study`."""
    from fedhull.report.pages import coordinator_page  # slow to import

    kit.check_valid()
    results = kit.results(run)
    saved: list[str] = []

    def keep(name: str, content: bytes) -> None:
        if name in (SUM, VOTES):
            write_checked(results / name, content)
        else:
            write_bytes(results / name, content, mode=0o600)
        saved.append(name)

    try:
        audited = _Audited(engine, AuditLog(results / AUDIT, kit.study.hash))
        coordinator = kit.task.coordinator()
        outcome = run_study(coordinator, audited, kit.identity, timeout, report, open_session, keep)
        files = outcome.files(stamp_of(kit))
        write_results(results, files, outcome.to_json(), lambda: coordinator_page(outcome))
    except StillWaiting:
        raise
    except FedhullError as problem:
        problem.args = (f"{problem}{_way_out(results, saved, kit.task.choices)}",)
        write_status(results, type(problem).__name__, f"{problem}")
        raise
    except Exception:
        write_internal_error(results, _way_out(results, saved, kit.task.choices))
        raise
    return outcome


def _way_out(results: Path, saved: Sequence[str], choices: Sequence[str]) -> str:
    """The coordinator's way out when the sum is there but nothing could be learned from it."""
    if not saved or saved[-1] not in (SUM, VOTES):
        return ""
    options = ", ".join(f"--{name}" for name in choices)
    settings = f" with other settings ({options})" if choices else ""
    return (
        f". The opened sum is kept in {results / SUM}: 'fedhull learn {results}'{settings} trains "
        f"from it without a new session"
    )


class _Audited:
    """An engine whose messages are logged."""

    def __init__(self, engine: Engine, log: AuditLog):
        self._engine = engine
        self._log = log

    def step(self, kind: str, messages: Mapping[str, bytes], timeout: float) -> Answers:
        """Log, pass on, log."""
        for name, message in messages.items():
            self._log.record("sent", kind, message, peer=name)
        replies, failures = self._engine.step(kind, messages, timeout)
        for name, reply in replies.items():
            self._log.record("received", kind, reply, peer=name)
        return replies, failures
