"""A result that comes late: to a site that had uploaded and then missed the end of its session."""

from pathlib import Path

from fedhull.errors import BadMessage, FedhullError, InvalidInput
from fedhull.kits import consent
from fedhull.kits.audit import AuditLog
from fedhull.kits.checked import read_checked
from fedhull.kits.kit import AUDIT, RESULTS, Kit
from fedhull.kits.results import (
    STATUS,
    TRACEBACK,
    finish_site,
    read_status,
    write_internal_error,
)
from fedhull.protocol.drive import PUBLISH
from fedhull.study.coordinator import PUBLICATION


def waiting_run(kit: Kit) -> Path:
    """The folder of the session that has uploaded and has no result yet."""
    receipts = list((kit.folder / RESULTS).glob(f"*/{consent.RECEIPT}"))
    if not receipts:
        raise InvalidInput(
            f"no session in {kit.folder} waits for a result: none has uploaded, or its result is "
            f"in {kit.folder / RESULTS} already"
        )
    return max(receipts, key=lambda path: path.stat().st_mtime_ns).parent


def published_run(kit: Kit, run: str | None = None) -> Path:
    """The folder of the coordinator's newest complete run, or of the run that is named."""
    found = {
        path.parent.name: path
        for path in (kit.folder / RESULTS).glob(f"*/{PUBLICATION}")
        if (path.parent / STATUS).is_file() and read_status(path.parent)[0] is None
    }
    if run is not None and run not in found:
        raise InvalidInput(
            f"--run must name a complete run in {kit.folder / RESULTS}, got {run!r}; there "
            f"{'is' if len(found) == 1 else 'are'} {', '.join(sorted(found)) or 'none'}"
        )
    if not found:
        raise InvalidInput(
            f"nothing can be handed out: no run in {kit.folder / RESULTS} is complete and has a "
            f"{PUBLICATION}"
        )
    newest = max(found, key=lambda name: found[name].stat().st_mtime_ns)
    return found[run or newest].parent


def take_late(kit: Kit, publication: bytes) -> Path:
    """What comes of a publication at a site that had uploaded; the folder with its results. The
    coordinator hears nothing of it."""
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
            f"this site can make nothing of what was published; see {results / TRACEBACK}, which "
            f"stays on this machine"
        ) from None
    log = AuditLog(results / AUDIT, kit.study.hash)
    log.record("received", PUBLISH, publication, peer="coordinator")
    finish_site(kit, results, site, holdings, log.total("sent"), log.total("received"))
    return results
