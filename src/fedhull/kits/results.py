"""What a run leaves in a participant's kit: files, result, page, and a last word."""

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
from fedhull.kits.journal import JOURNAL
from fedhull.kits.kit import STUDY, Kit, read_attached, read_task
from fedhull.report.page_file import AnyPage, page_from_json, page_to_json
from fedhull.study.kinds import study_from_toml
from fedhull.study.site import Site
from fedhull.study.stamp import Stamp

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
    """Write all that comes of a study that has reached its end, and the page last: one that cannot
    be built costs nothing but itself. A site's result and page are `private`, for its owner's eyes;
    the page shows the site's `holdings`."""
    mode = 0o600 if private else 0o644
    for name, content in files.items():
        write_bytes(results / name, content)
    write_json(results / RESULT, result, mode)
    sentence = "the study is complete"
    try:
        made = page()
        text = _rendered(made, holdings)
        write_json(results / RESULT, result | {"report": page_to_json(made)}, mode)
        write_text(results / REPORT, text, mode)
    except Exception as problem:
        write_text(results / TRACEBACK, traceback.format_exc(), mode=0o600)
        sentence += (
            f", but its page could not be built ({type(problem).__name__}; see {TRACEBACK} beside "
            f"it): the model and all numbers are there; update or remove the package that adds "
            f"this summary or a section, and try 'fedhull report {results}'"
        )
    write_status(results, None, sentence)


def finish_site(
    kit: Kit, results: Path, site: Site, holdings: Any, sent: int, received: int
) -> None:
    """All that comes of a study at a site, whose messages have so many bytes; what was kept for it
    is deleted."""
    from fedhull.report.pages import site_page  # slow to import, and needed once, at the end

    given = consent.read(results / consent.CONSENT)

    def page() -> AnyPage:
        made = site_page(site, sent, received, len(given.after))
        return msgspec.structs.replace(made, agreed_by=given.signature)

    files, result = site.files(stamp_of(kit)), site.result()
    write_results(results, files, result, page, private=True, holdings=holdings)
    for name in (JOURNAL, consent.RECEIPT, consent.HOLDINGS):
        (results / name).unlink(missing_ok=True)


def stamp_of(kit: Kit) -> Stamp:
    """What stands on files that are written now, with the study's encoder if it has one."""
    today = datetime.now(UTC).date().isoformat()
    try:
        return Stamp(today, __version__, read_attached(kit.folder, kit.study))
    except InvalidInput:
        # no result is lost because a file was moved since the session began
        return Stamp(today, __version__)


def write_report(result: Path, out: Path | None = None) -> Path:
    """The page of a result file, or of the folder that holds one, beside it or at `out`."""
    if result.is_dir():
        result = result / RESULT
    text = read_text(result)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(f"{result} is not JSON; name a result file of fedhull") from None
    page = page_from_json(content.get("report") if isinstance(content, dict) else None, str(result))
    out = out or result.with_name(REPORT)
    write_text(out, _rendered(page, _holdings_of(result.parent)), _mode(page))
    return out


def write_status(results: Path, error: str | None, sentence: str) -> None:
    """The last word on a run: the name of an error, or None, and a sentence."""
    write_json(results / STATUS, {"error": error, "sentence": sentence})


def note_objection(results: Path, problem: Exception) -> None:
    """What a site has found wrong with what was published between two sums, or proposed. It goes on
    as if nothing were, so that nobody can tell which site objects, and has its say at the end."""
    write_text(results / OBJECTION, f"{problem}\n", mode=0o600)


def read_objection(results: Path) -> str | None:
    """The objection, if there is one."""
    path = results / OBJECTION
    return read_text(path).strip() if path.is_file() else None


def write_end(results: Path, error: str, sentence: str) -> None:
    """The last word on a run that came to no result; if the site has objected to something, that
    is why."""
    objection = read_objection(results)
    if objection is None:
        write_status(results, error, sentence)
    else:
        write_status(
            results,
            BadMessage.__name__,
            f"{objection}. This site has not said so but spoiled the sum; tell the other sites",
        )


def write_internal_error(results: Path, way_out: str = "") -> None:
    """The last word on a run that failed where it should not: what happened stays on this
    machine."""
    path = results / TRACEBACK
    write_text(path, traceback.format_exc(), mode=0o600)
    write_status(
        results,
        INTERNAL_ERROR,
        f"something failed that should not; see {path}, which stays on this machine{way_out}",
    )


def page_missing(results: Path) -> str | None:
    """The sentence about a page that could not be built, if that is so."""
    return None if (results / REPORT).is_file() else read_status(results)[1]


def read_status(results: Path) -> tuple[str | None, str]:
    """The name of the error that ended a run, if one did, and the sentence about it."""
    path = results / STATUS
    try:
        status = msgspec.json.decode(read_bytes(path), type=_Status)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # ValueError: not UTF-8
        raise InvalidInput(
            f"{path} is damaged; {results / RESULT} is there if the study has come to an end"
        ) from None
    return status.error, status.sentence


def _rendered(page: AnyPage, holdings: Any) -> str:
    from fedhull.report.html import render  # slow to import, and needed once, at the end
    from fedhull.report.pages import with_own_points

    return render(with_own_points(page, holdings))


def _mode(page: AnyPage) -> int:
    return 0o600 if page.private else 0o644


def _holdings_of(folder: Path) -> Any:
    """What the site of a run holds, read from its data again, as long as its consent names a file
    that is there; otherwise nothing."""
    if not (folder / consent.CONSENT).is_file():
        return None
    kit = folder.parents[1]
    try:
        study = study_from_toml(read_text(kit / STUDY))
        return read_task(kit, study).read(consent.read(folder / consent.CONSENT).source)
    except FedhullError:
        return None
