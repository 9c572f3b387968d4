"""What both sides leave in their kits, whatever the engine: answers, results, a last word."""

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

from fedhull.errors import EngineFailure, FedhullError, StillWaiting
from fedhull.federation.audit import AuditLog
from fedhull.federation.consent import use_consent
from fedhull.federation.coordinator import Outcome, Report, run_study
from fedhull.federation.engine import Engine
from fedhull.federation.journal import Journal
from fedhull.federation.kit import AUDIT, MODEL, RESULT, STATUS, Kit, write_json
from fedhull.federation.report import coordinator_page, site_page, write_report
from fedhull.federation.site import Site
from fedhull.learn.model import save_model
from fedhull.protocol.keys import Randomness
from fedhull.protocol.server import ServerSession
from fedhull.report.content import page_to_json

INTERNAL_ERROR = "InternalError"


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
        self._journal = journal or Journal()
        self._keep = keep

    def answer(self, step: str, message: bytes) -> tuple[bytes | None, str | None]:
        """(reply, None) or (None, name of an error)."""
        try:
            self._audit.record("received", step, message, peer="coordinator")
            if self._site is None:
                self._site = self._start()
            reply = self._site.receive(message)
            self._journal.accepted.append(message)
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
            (self.results / "traceback.txt").write_text(traceback.format_exc())
            write_status(
                self.results,
                INTERNAL_ERROR,
                f"something failed that should not; see {self.results / 'traceback.txt'}, which "
                f"stays on this machine",
            )
            return None, INTERNAL_ERROR

    def end(self) -> None:
        """No further message will come."""
        if not (self.results / STATUS).exists():
            write_status(
                self.results,
                EngineFailure.__name__,
                "the server ended the session before it had a model, most likely because too few "
                "sites were left; ask the coordinator",
            )

    def _start(self) -> Site:
        kit = self._kit
        assert kit.name is not None
        holdings = use_consent(kit, self.results)
        randomness = Randomness(self._journal.root)
        site = Site(kit.study, kit.name, kit.identity, holdings, randomness)
        for message in self._journal.accepted:
            site.receive(message)
        return site

    def _finish(self, site: Site, last_words: int) -> None:
        up, down = self._audit.total("sent") + last_words, self._audit.total("received")
        save_model(site.model, self.results / MODEL)
        result = {
            "study": self._kit.study.name,
            "study_hash": self._kit.study.hash.hex(),
            "site": site.name,
            "classes": {str(number): name for number, name in sorted(site.names.items())},
            "correct": site.correct,
            "tested": site.tested,
            "accuracy": 100.0 * site.correct / site.tested if site.tested else None,
            "points_sent": site.holdings.points_sent,
            "points_held": site.holdings.points_held,
            "points_guarded": site.holdings.points_guarded,
            "report": page_to_json(site_page(site, up, down)),
        }
        write_json(self.results / RESULT, result, mode=0o600)  # it says which hulls are this site's
        write_report(self.results)
        write_status(self.results, None, "the study is complete")


def coordinate(
    kit: Kit,
    run: str,
    engine: Engine,
    timeout: float,
    report: Report,
    session: ServerSession | None = None,
) -> Outcome:
    """Run the study of the coordinator's kit over an engine, and write what comes of it."""
    results = kit.results(run)
    try:
        audited = _Audited(engine, AuditLog(results / AUDIT, kit.study.hash))
        session = session or ServerSession(kit.study, kit.identity)
        outcome = run_study(session, audited, timeout, report)
        save_outcome(outcome, results)
    except StillWaiting:
        raise
    except FedhullError as problem:
        write_status(results, type(problem).__name__, f"{problem}")
        raise
    except Exception:
        (results / "traceback.txt").write_text(traceback.format_exc())
        write_status(
            results,
            INTERNAL_ERROR,
            f"something failed that should not; see {results}",
        )
        raise
    return outcome


def save_outcome(outcome: Outcome, results: Path) -> None:
    """The coordinator's files at the end of a study."""
    save_model(outcome.model, results / MODEL)
    report = page_to_json(coordinator_page(outcome))
    write_json(results / RESULT, outcome.to_json() | {"report": report})
    write_report(results)
    write_status(results, None, "the study is complete")


def write_status(results: Path, error: str | None, sentence: str) -> None:
    """The last word on a run: the name of an error, or None, and a sentence."""
    write_json(results / STATUS, {"error": error, "sentence": sentence})


class _Audited:
    """An engine whose messages are noted in the audit log."""

    def __init__(self, engine: Engine, log: AuditLog):
        self._engine = engine
        self._log = log

    def step(
        self, kind: str, messages: Mapping[str, bytes], timeout: float
    ) -> tuple[dict[str, bytes], dict[str, str]]:
        """Note, pass on, note."""
        for name, message in messages.items():
            self._log.record("sent", kind, message, peer=name)
        replies, failures = self._engine.step(kind, messages, timeout)
        for name, reply in replies.items():
            self._log.record("received", kind, reply, peer=name)
        return replies, failures
