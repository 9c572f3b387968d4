"""A result that comes late: to a site that had uploaded and then missed the end of its session."""

from pathlib import Path

from fedhull.errors import BadMessage, FedhullError, InvalidInput
from fedhull.kits import consent
from fedhull.kits.audit import AuditLog
from fedhull.kits.checked import read_checked
from fedhull.kits.kit import AUDIT, RESULTS, Kit
from fedhull.kits.results import TRACEBACK, finish_site, write_internal_error
from fedhull.protocol.drive import PUBLISH


def waiting_run(kit: Kit) -> Path:
    """The folder of the session that has uploaded and has no result yet."""
    receipts = list((kit.folder / RESULTS).glob(f"*/{consent.RECEIPT}"))
    if not receipts:
        raise InvalidInput(
            f"no session in {kit.folder} waits for a result: none has uploaded, or its result is "
            f"in {kit.folder / RESULTS} already"
        )
    return max(receipts, key=lambda path: path.stat().st_mtime_ns).parent


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
    finish_site(results, site, holdings, log.total("sent"), log.total("received"))
    return results
