"""`fedhull status`: where a participant's study stands."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from fedhull.cli.console import JsonFlag, note, out, print_json
from fedhull.cli.engine import KitArgument, KitEngineOption, MailOption, open_kit
from fedhull.engines.base import Options, runner_for
from fedhull.engines.certificates import read_certificate
from fedhull.kits.consent import CONSENT, RECEIPT, read
from fedhull.kits.kit import RESULTS, Kit
from fedhull.kits.results import STATUS, read_status
from fedhull.text import readable_time

_INTERNAL = {".secret", ".bin"}


def status(
    kit: KitArgument,
    engine: KitEngineOption = None,
    mail: MailOption = None,
    identity: Annotated[
        Path | None, typer.Option(help="Your key, if it is not in the kit.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Show where a study stands: its step, who has to act next and how, results."""
    opened = open_kit(kit, identity)
    runner = runner_for(opened, engine)
    turn = runner.turn(opened, Options(mail=mail))
    certificates = [read_certificate(opened.folder, name) for name in runner.certificates(opened)]
    waiting = opened.folder / CONSENT
    study = opened.study
    found: dict[str, Any] = {
        "study": study.name,
        "study_hash": study.hash.hex(),
        "purpose": study.purpose,
        "contact": study.contact,
        "valid_until": None if study.valid_until is None else str(study.valid_until),
        "role": "coordinator" if opened.name is None else "site",
        "site": opened.name,
        "sites": sorted(study.clients),
        "threshold": study.threshold,
        "engine": runner.name,
        "running": opened.busy,
        "consent_given_at": read(waiting).given_at if waiting.is_file() else None,
        "step": None if turn is None else turn.step,
        "missing": [] if turn is None else turn.missing,
        "next": runner.next_step(opened, turn, Options(mail=mail)),
        "runs": [_run(folder) for folder in _runs(opened)],
        "certificates": [each.to_json() for each in certificates],
        "warnings": [said for each in certificates if (said := each.warning()) is not None],
    }
    if json:
        print_json(found)
        return
    words = [*_words(found), *(f"Certificate {each.describe()}" for each in certificates)]
    out.print("\n".join(words), soft_wrap=True)
    for warning in found["warnings"]:
        note(f"Warning: {warning}")


def _runs(kit: Kit) -> list[Path]:
    """The folders of all runs, the oldest first."""
    folders = [path for path in (kit.folder / RESULTS).glob("*") if path.is_dir()]
    return sorted(folders, key=lambda path: path.stat().st_mtime_ns)


def _run(folder: Path) -> dict[str, Any]:
    """What a run has come to, and the files of it that are for people."""
    error, sentence, state = None, "no end yet", "open"
    if (folder / STATUS).is_file():
        error, sentence = read_status(folder)
        state = "complete" if error is None else "failed"
    elif (folder / RECEIPT).is_file():
        sentence = "uploaded; no result yet"
    changed = datetime.fromtimestamp(folder.stat().st_mtime, UTC)
    return {
        "run": folder.name,
        "folder": str(folder),
        "state": state,
        "error": error,
        "sentence": sentence,
        "changed_at": changed.isoformat(timespec="seconds"),
        "files": sorted(
            path.name
            for path in folder.iterdir()
            if path.is_file() and path.suffix not in _INTERNAL and not path.name.startswith(".")
        ),
    }


def _words(found: dict[str, Any]) -> list[str]:
    who = "the coordinator" if found["site"] is None else f"site {found['site']}"
    words = [
        f"Study '{found['study']}', hash {found['study_hash']}",
        *(
            f"{key.replace('_', ' ').capitalize()}: {found[key]}"
            for key in ("purpose", "contact", "valid_until")
            if found[key]
        ),
        f"Kit of {who}, for the engine {found['engine']}; {len(found['sites'])} sites, of which "
        f"{found['threshold']} must stay to the end",
        f"Process: {'running' if found['running'] else 'none is running'}",
    ]
    if found["consent_given_at"] is not None:
        words.append(f"Consent: given at {readable_time(found['consent_given_at'])}, not used yet")
    words.append(f"Step: {found['step'] or 'no session is open'}")
    if found["missing"]:
        words.append(f"Missing: {', '.join(found['missing'])}")
    words.append(f"Next: {found['next']}")
    for run in found["runs"]:
        error = "" if run["error"] is None else f"{run['error']}: "
        words.append(f"Run {run['run']}: {run['state']}; {error}{run['sentence']}")
        words.append(f"  {run['folder']}: {', '.join(run['files'])}")
    return words
