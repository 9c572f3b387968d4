"""`fedhull status`: the state of a participant's study."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fedhull.cli.console import JsonFlag, out, print_json
from fedhull.cli.engine import KitArgument, KitEngineOption, MailOption, open_kit, warn
from fedhull.cli.options import IdentityOption
from fedhull.engines.base import Options, runner_for
from fedhull.engines.certificates import read_certificate
from fedhull.engines.following import runs_of
from fedhull.kits.consent import CONSENT, RECEIPT, read
from fedhull.kits.results import STATUS, read_status
from fedhull.text import readable_time

_INTERNAL = {".secret", ".bin"}


def status(
    kit: KitArgument,
    engine: KitEngineOption = None,
    mail: MailOption = None,
    identity: IdentityOption = None,
    json: JsonFlag = False,
) -> None:
    """Show a study's current step, next action and results."""
    opened = open_kit(kit, identity)
    runner = runner_for(opened, engine)
    turn = runner.turn(opened, Options(mail=mail))
    certificates = [read_certificate(opened.folder, name) for name in runner.certificates(opened)]
    consent = opened.folder / CONSENT
    study = opened.study
    state: dict[str, Any] = {
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
        "consent_given_at": read(consent).given_at if consent.is_file() else None,
        "step": None if turn is None else turn.step,
        "missing": [] if turn is None else turn.missing,
        "next": runner.next_step(opened, turn, Options(mail=mail)),
        "runs": [_run(folder) for folder in runs_of(opened)],
        "certificates": [each.to_json() for each in certificates],
        "warnings": [text for each in certificates if (text := each.warning()) is not None],
    }
    if json:
        print_json(state)
        return
    words = [*_words(state), *(f"Certificate {each.describe()}" for each in certificates)]
    out.print("\n".join(words), soft_wrap=True)
    warn(state["warnings"])


def _run(folder: Path) -> dict[str, Any]:
    """A run's state and its files for people."""
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


def _words(state: dict[str, Any]) -> list[str]:
    who = "the coordinator" if state["site"] is None else f"site {state['site']}"
    words = [
        f"Study '{state['study']}', hash {state['study_hash']}",
        *(
            f"{key.replace('_', ' ').capitalize()}: {state[key]}"
            for key in ("purpose", "contact", "valid_until")
            if state[key]
        ),
        f"Kit of {who}, for the engine {state['engine']}; {len(state['sites'])} sites, of which "
        f"{state['threshold']} must stay to the end",
        f"Process: {'running' if state['running'] else 'none is running'}",
    ]
    if state["consent_given_at"] is not None:
        words.append(f"Consent: given at {readable_time(state['consent_given_at'])}, not used yet")
    words.append(f"Step: {state['step'] or 'no session is open'}")
    if state["missing"]:
        words.append(f"Missing: {', '.join(state['missing'])}")
    words.append(f"Next: {state['next']}")
    for run in state["runs"]:
        error = "" if run["error"] is None else f"{run['error']}: "
        words.append(f"Run {run['run']}: {run['state']}; {error}{run['sentence']}")
        words.append(f"  {run['folder']}: {', '.join(run['files'])}")
    return words
