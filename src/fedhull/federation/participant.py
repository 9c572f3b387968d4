"""What both sides leave in their kits, whatever the engine: answers, results, a last word."""

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fedhull.embed.autoencoder import AutoencoderEmbedder
from fedhull.errors import EngineFailure, FedhullError, InvalidInput, StillWaiting
from fedhull.federation.audit import AuditLog
from fedhull.federation.consent import use_consent, use_encoder_consent
from fedhull.federation.coordinator import Outcome, Report, run_study
from fedhull.federation.encoder_site import EncoderSite, read_start
from fedhull.federation.encoder_study import EncoderOutcome, run_encoder_study
from fedhull.federation.engine import Engine
from fedhull.federation.frame import encoder_hash
from fedhull.federation.journal import Journal
from fedhull.federation.kit import (
    AUDIT,
    ENCODER,
    ENCODER_REPORT,
    MODEL,
    RESULT,
    START,
    STATUS,
    Kit,
    read_bytes,
    write_bytes,
    write_json,
)
from fedhull.federation.report import coordinator_page, site_page, write_report
from fedhull.federation.site import Site
from fedhull.learn.model import save_model
from fedhull.protocol.encoder_study import EncoderStudy
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
        self._site: Site | EncoderSite | None = None
        self._journal = journal or Journal()
        self._keep = keep

    def answer(self, step: str, message: bytes) -> tuple[bytes | None, str | None]:
        """(reply, None) or (None, name of an error)."""
        try:
            self._audit.record("received", step, message, peer="coordinator")
            if self._site is None:
                self._site = self._start()
            reply = self._site.receive(message)
            checkpoint = self._site.checkpoint if isinstance(self._site, EncoderSite) else None
            self._journal.note(message, checkpoint)
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

    def _start(self) -> Site | EncoderSite:
        kit, study, journal = self._kit, self._kit.study, self._journal
        assert kit.name is not None
        randomness = Randomness(journal.root)
        site: Site | EncoderSite
        if isinstance(study, EncoderStudy):
            start, cells = start_of(kit, study), use_encoder_consent(kit, self.results)
            site = EncoderSite(
                study, kit.name, kit.identity, start, cells, randomness, journal.checkpoint
            )
        else:
            holdings = use_consent(kit, self.results)
            site = Site(study, kit.name, kit.identity, holdings, randomness)
        for message in journal.accepted:
            site.receive(message)
        return site

    def _finish(self, site: Site | EncoderSite, last_words: int) -> None:
        if isinstance(site, EncoderSite):
            write_bytes(self.results / ENCODER, site.encoder.to_bytes())
            write_json(self.results / RESULT, self._encoder_result(site))
        else:
            save_model(site.model, self.results / MODEL, encoder_hash(site.study))
            # it says which hulls are this site's
            write_json(self.results / RESULT, self._model_result(site, last_words), mode=0o600)
            write_report(self.results)
        write_status(self.results, None, "the study is complete")

    def _encoder_result(self, site: EncoderSite) -> dict[str, Any]:
        return {
            "study": self._kit.study.name,
            "study_hash": self._kit.study.hash.hex(),
            "site": site.name,
            "encoder": site.encoder.hash,
            "rounds": site.rounds_done,
            "cells": len(site.cells),
        }

    def _model_result(self, site: Site, last_words: int) -> dict[str, Any]:
        up, down = self._audit.total("sent") + last_words, self._audit.total("received")
        return {
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


def coordinate(
    kit: Kit,
    run: str,
    engine: Engine,
    timeout: float,
    report: Report,
    session: ServerSession | None = None,
) -> Outcome | EncoderOutcome:
    """Run the study of the coordinator's kit over an engine, and write what comes of it; `session`
    is one that was begun earlier."""
    results = kit.results(run)
    try:
        audited = _Audited(engine, AuditLog(results / AUDIT, kit.study.hash))
        outcome: Outcome | EncoderOutcome
        if isinstance(kit.study, EncoderStudy):
            start = start_of(kit, kit.study)
            outcome = run_encoder_study(kit.study, start, audited, kit.identity, timeout, report)
        else:
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


def save_outcome(outcome: Outcome | EncoderOutcome, results: Path) -> None:
    """The coordinator's files at the end of a study."""
    if isinstance(outcome, EncoderOutcome):
        write_bytes(results / ENCODER, outcome.encoder.to_bytes())
        write_json(results / RESULT, outcome.to_json())
        write_bytes(results / ENCODER_REPORT, outcome.to_markdown().encode())
    else:
        save_model(outcome.model, results / MODEL, encoder_hash(outcome.study))
        report = page_to_json(coordinator_page(outcome))
        write_json(results / RESULT, outcome.to_json() | {"report": report})
        write_report(results)
    write_status(results, None, "the study is complete")


def start_of(kit: Kit, study: EncoderStudy) -> AutoencoderEmbedder:
    """The encoder in a kit that its study starts from."""
    if not (kit.folder / START).is_file():
        raise InvalidInput(
            f"{kit.folder / START} is missing: the encoder that the study starts from, which "
            f"'fedhull provision' puts into every kit"
        )
    return read_start(study, read_bytes(kit.folder / START))


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
