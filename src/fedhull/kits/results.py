"""A run's files: outcome, result, page, and last word."""

import json
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from fedhull import __version__
from fedhull.disk import read_bytes, read_text, write_bytes, write_json, write_text
from fedhull.errors import BadMessage, FedhullError, InvalidInput
from fedhull.kits import consent
from fedhull.kits.files import decoded
from fedhull.kits.journal import JOURNAL
from fedhull.kits.kit import STUDY, Kit, read_attached, read_task
from fedhull.report.page import AnyPage, page_from_json, page_to_json
from fedhull.rounds.outcome import Stamp
from fedhull.rounds.site import Site
from fedhull.study.kinds import study_from_toml

RESULT, REPORT, STATUS = "result.json", "report.html", "status.json"
TRACEBACK, OBJECTION = "traceback.txt", "objection.txt"
INTERNAL_ERROR = "InternalError"


class _Status(msgspec.Struct):
    error: str | None
    sentence: str


def write_results(
    results: Path,
    files: dict[str, bytes],
    result: dict[str, Any],
    page: Callable[[], AnyPage],
    private: bool = False,
    holdings: Any = None,
) -> None:
    """Write a finished study's files, the page last: a failure to build it costs nothing else. A
    site's result and page are `private`; its page shows its own `holdings`."""
    mode = 0o600 if private else 0o644
    for name, content in files.items():
        write_bytes(results / name, content)
    write_json(results / RESULT, result, mode)
    sentence = "the study is complete"
    try:
        built = page()
        text = _rendered(built, holdings)
        write_json(results / RESULT, result | {"report": page_to_json(built)}, mode)
        write_text(results / REPORT, text, mode)
    except Exception as problem:
        write_text(results / TRACEBACK, traceback.format_exc(), mode=0o600)
        sentence += (
            f", but its page could not be built ({type(problem).__name__}; see {TRACEBACK} beside "
            f"it): the model and all numbers are there; update or remove the package that adds "
            f"this summary or section, then try 'fedhull report {results}'"
        )
    write_status(results, None, sentence)


def finish_site(
    kit: Kit, results: Path, site: Site, holdings: Any, sent: int, received: int
) -> None:
    """Write a site's results, with the bytes `sent` and `received`, and delete what the session
    needed."""
    from fedhull.report.pages import site_page  # slow to import

    agreed = consent.read(results / consent.CONSENT)

    def page() -> AnyPage:
        own = site_page(site, sent, received, len(agreed.after))
        return msgspec.structs.replace(own, agreed_by=agreed.signature)

    files, result = site.files(stamp_of(kit)), site.result()
    write_results(results, files, result, page, private=True, holdings=holdings)
    for name in (JOURNAL, consent.RECEIPT, consent.HOLDINGS):
        (results / name).unlink(missing_ok=True)


def stamp_of(kit: Kit) -> Stamp:
    """The stamp on files written now, with the study's encoder if it has one."""
    today = datetime.now(UTC).date().isoformat()
    try:
        return Stamp(today, __version__, read_attached(kit.folder, kit.study))
    except InvalidInput:
        # a file moved since the session began must not cost the result
        return Stamp(today, __version__)


def write_report(result: Path, out: Path | None = None) -> Path:
    """Write the page of a result file, or of the folder that holds one, beside it or to `out`."""
    if result.is_dir():
        result = result / RESULT
    text = read_text(result)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(f"{result} is not JSON; name a result file of fedhull") from None
    page = page_from_json(content.get("report") if isinstance(content, dict) else None, str(result))
    out = out or result.with_name(REPORT)
    write_text(out, _rendered(page, _holdings_of(result.parent)), 0o600 if page.private else 0o644)
    return out


def write_status(results: Path, error: str | None, sentence: str) -> None:
    """Write a run's last word: the name of an error, or None, and a sentence."""
    write_json(results / STATUS, {"error": error, "sentence": sentence})


def note_objection(results: Path, problem: Exception) -> None:
    """Note a site's objection to what was published between rounds, or proposed. To stay
    unrecognised, the site carries on, and objects in public only at the end."""
    write_text(results / OBJECTION, f"{problem}\n", mode=0o600)


def read_objection(results: Path) -> str | None:
    """Read the objection, if there is one."""
    path = results / OBJECTION
    return read_text(path).strip() if path.is_file() else None


def write_end(results: Path, error: str, sentence: str) -> None:
    """Write the last word on a run without a result; a site's objection takes precedence."""
    if objection := read_objection(results):
        error = BadMessage.__name__
        sentence = f"{objection}. This site spoiled the round without saying so; tell the others"
    write_status(results, error, sentence)


def write_internal_error(results: Path, way_out: str = "") -> None:
    """Write the last word on a bug; the traceback stays on this machine."""
    path = results / TRACEBACK
    write_text(path, traceback.format_exc(), mode=0o600)
    sentence = f"something failed that should not; see {path}, which stays on this machine{way_out}"
    write_status(results, INTERNAL_ERROR, sentence)


def page_missing(results: Path) -> str | None:
    """The warning about a page that could not be built, if that happened."""
    return None if (results / REPORT).is_file() else read_status(results)[1]


def read_status(results: Path) -> tuple[str | None, str]:
    """Read a run's last word: (name of an error or None, sentence)."""
    path = results / STATUS
    complaint = f"{path} is damaged; {results / RESULT} is there if the study was completed"
    status = decoded(read_bytes(path), _Status, complaint)
    return status.error, status.sentence


def _rendered(page: AnyPage, holdings: Any) -> str:
    from fedhull.report.pages import with_own_points
    from fedhull.report.render import render  # slow to import

    return render(with_own_points(page, holdings))


def _holdings_of(folder: Path) -> Any:
    """A site's holdings, read again from its data file as long as that is there."""
    if not (folder / consent.CONSENT).is_file():
        return None
    kit = folder.parents[1]
    try:
        study = study_from_toml(read_text(kit / STUDY))
        return read_task(kit, study).read(consent.read(folder / consent.CONSENT).source)
    except FedhullError:
        return None
