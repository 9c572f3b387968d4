"""What both sides of a study do from their kits, whatever the engine: answer, coordinate, log."""

from collections.abc import Callable, Mapping
from typing import Any

from fedhull.errors import EngineFailure, FedhullError, OutOfTurn, StillWaiting
from fedhull.kits import consent
from fedhull.kits.audit import AuditLog
from fedhull.kits.journal import Journal
from fedhull.kits.kit import AUDIT, Kit
from fedhull.kits.results import (
    INTERNAL_ERROR,
    RESULT,
    STATUS,
    write_internal_error,
    write_results,
    write_status,
)
from fedhull.progress import Report
from fedhull.protocol.drive import Answers, Engine
from fedhull.protocol.keys import Randomness
from fedhull.protocol.server import ServerSession
from fedhull.report.pages import coordinator_page, site_page
from fedhull.study.coordinator import OpenSession, run_study
from fedhull.study.site import Site


class SiteRun:
    """One session of a site, from its kit. `answer` never raises: the server hears the name of an
    error at most, the site's own files hold the words.

    Engines that start a new process for each message give the `journal` of the last one, and `keep`
    the one they get after each message.
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
        self._audit = AuditLog(self.results / AUDIT, kit.study.hash)
        self._site: Site | None = None
        self._holdings: Any = None
        self._journal = journal or Journal()
        self._keep = keep

    def prepare(self) -> None:
        """Do what takes long before the first message is there."""
        if self._site is None and not (self.results / RESULT).exists():
            self._site = self._start()

    def answer(self, step: str, message: bytes) -> tuple[bytes | None, str | None]:
        """(reply, None) or (None, name of an error)."""
        try:
            self._audit.record("received", step, message, peer="coordinator")
            if (self.results / RESULT).exists():
                # its last word stands, whatever the server says afterwards
                return None, OutOfTurn.__name__
            if self._site is None:
                self._site = self._start()
            reply = self._site.receive(message)
            self._journal.note(message, self._site.checkpoint)
            self._keep(self._journal)
            if self._site.done:
                self._finish(self._site, last_words=len(reply or b""))
            if reply is not None:
                self._audit.record("sent", step, reply, peer="coordinator")
            return reply, None
        except FedhullError as problem:
            write_status(self.results, type(problem).__name__, f"{problem}")
            return None, type(problem).__name__
        except Exception:
            write_internal_error(self.results)
            return None, INTERNAL_ERROR

    def end(self) -> None:
        """No further message will come."""
        self._forget_holdings()
        if not (self.results / STATUS).exists():
            write_status(
                self.results,
                EngineFailure.__name__,
                f"the server ended the session before it had a result: too few sites were left, or "
                f"another process has taken part with the kit of {self._kit.name}; ask the "
                f"coordinator",
            )

    def _start(self) -> Site:
        kit, journal = self._kit, self._journal
        assert kit.name is not None
        self._holdings = consent.use(kit, self.results)
        site = kit.task.site(
            kit.name, kit.identity, self._holdings, Randomness(journal.root), journal.checkpoint
        )
        for message in journal.accepted:
            site.receive(message)
        return site

    def _finish(self, site: Site, last_words: int) -> None:
        up, down = self._audit.total("sent") + last_words, self._audit.total("received")
        page = site_page(site, up, down)
        write_results(self.results, site.files(), site.result(), page, self._holdings)
        self._forget_holdings()

    def _forget_holdings(self) -> None:
        (self.results / consent.HOLDINGS).unlink(missing_ok=True)


def coordinate(
    kit: Kit,
    run: str,
    engine: Engine,
    timeout: float,
    report: Report,
    open_session: OpenSession = ServerSession,
) -> Any:
    """Run the study of the coordinator's kit over an engine, and write what comes of it;
    `open_session` is as in `run_study`."""
    results = kit.results(run)
    try:
        audited = _Audited(engine, AuditLog(results / AUDIT, kit.study.hash))
        coordinator = kit.task.coordinator()
        outcome = run_study(coordinator, audited, kit.identity, timeout, report, open_session)
        page = coordinator_page(outcome)
        write_results(results, outcome.files(), outcome.to_json(), page, holdings=None)
    except StillWaiting:
        raise
    except FedhullError as problem:
        write_status(results, type(problem).__name__, f"{problem}")
        raise
    except Exception:
        write_internal_error(results)
        raise
    return outcome


class _Audited:
    """An engine whose messages are noted in the audit log."""

    def __init__(self, engine: Engine, log: AuditLog):
        self._engine = engine
        self._log = log

    def step(self, kind: str, messages: Mapping[str, bytes], timeout: float) -> Answers:
        """Note, pass on, note."""
        for name, message in messages.items():
            self._log.record("sent", kind, message, peer=name)
        replies, failures = self._engine.step(kind, messages, timeout)
        for name, reply in replies.items():
            self._log.record("received", kind, reply, peer=name)
        return replies, failures
