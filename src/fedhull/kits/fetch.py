"""Late results, for sites that uploaded and then missed the end of their session."""

from pathlib import Path

from fedhull.errors import BadMessage, FedhullError, InvalidInput
from fedhull.kits import consent
from fedhull.kits.audit import AuditLog
from fedhull.kits.files import read_checked
from fedhull.kits.kit import AUDIT, RESULTS, Kit
from fedhull.kits.results import STATUS, TRACEBACK, finish_site, read_status, write_internal_error
from fedhull.protocol.drive import PUBLISH
from fedhull.rounds.run import PUBLICATION


def waiting_run(kit: Kit) -> Path:
    """Folder of the session that has uploaded and has no result yet."""
    receipts = list((kit.folder / RESULTS).glob(f"*/{consent.RECEIPT}"))
    if not receipts:
        raise InvalidInput(
            f"no session in {kit.folder} is waiting for a result: none has uploaded, or its result "
            f"is already in {kit.folder / RESULTS}"
        )
    return max(receipts, key=lambda path: path.stat().st_mtime_ns).parent


def published_run(kit: Kit, run: str | None = None) -> Path:
    """Folder of the coordinator's newest complete run, or of the named one."""
    runs = {
        path.parent.name: path
        for path in (kit.folder / RESULTS).glob(f"*/{PUBLICATION}")
        if (path.parent / STATUS).is_file() and read_status(path.parent)[0] is None
    }
    if run is not None and run not in runs:
        raise InvalidInput(
            f"--run must name a complete run in {kit.folder / RESULTS}, got {run!r}; there "
            f"{'is' if len(runs) == 1 else 'are'} {', '.join(sorted(runs)) or 'none'}"
        )
    if not runs:
        raise InvalidInput(
            f"nothing can be handed out: no run in {kit.folder / RESULTS} is complete and has a "
            f"{PUBLICATION}"
        )
    newest = max(runs, key=lambda name: runs[name].stat().st_mtime_ns)
    return runs[run or newest].parent


def take_late(kit: Kit, publication: bytes) -> Path:
    """Use a publication at a site that had uploaded; the folder with its results. The coordinator
    is not told."""
    assert kit.name is not None
    results = waiting_run(kit)
    holdings = consent.covered(kit, results)
    receipt = read_checked(results / consent.RECEIPT)
    try:
        site = kit.task.late(kit.name, kit.identity, holdings, receipt, publication)
    except FedhullError:
        raise
    except Exception:
        write_internal_error(results)
        raise BadMessage(
            f"this site cannot use what was published; see {results / TRACEBACK}, which stays on "
            f"this machine"
        ) from None
    log = AuditLog(results / AUDIT, kit.study.hash)
    log.record("received", PUBLISH, publication, peer="coordinator")
    finish_site(kit, results, site, holdings, log.total("sent"), log.total("received"))
    return results
