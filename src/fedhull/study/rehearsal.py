"""A whole study in this process, with fresh identities: what demo and simulation stand on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from fedhull.progress import Report, ignore
from fedhull.protocol.drive import Engine, MemoryEngine
from fedhull.protocol.keys import Identity
from fedhull.rounds.run import run_study
from fedhull.study.kinds import AnyStudy, task_of
from fedhull.study.task import Holdings


@dataclass(frozen=True, repr=False)
class Rehearsal:
    """A rehearsal's study, its sites, and the coordinator's outcome."""

    study: Any
    sites: dict[str, Any]
    outcome: Any

    def __repr__(self) -> str:
        return f"Rehearsal({self.outcome!r})"


def rehearse(
    study: AnyStudy,
    holdings: Mapping[str, Holdings],
    attached: bytes | None = None,
    vanish: Mapping[str, Sequence[str]] | None = None,
    report: Report = ignore,
    engine: Callable[..., Engine] = MemoryEngine,
) -> Rehearsal:
    """Run a study over {site: what it holds}, every message included.

    The sites and the coordinator get fresh keys; what the study says about either is replaced.
    `attached` is the content of the file that the study names, if it names one. `vanish`
    says who disappears just before the message of which step; `engine` makes what moves the
    messages, of the sites and of that.
    """
    identities = {site: Identity.generate() for site in holdings}
    coordinator = Identity.generate()
    study = msgspec.structs.replace(
        study,
        coordinator=coordinator.public,
        clients={site: identity.public for site, identity in identities.items()},
    )
    task = task_of(study, attached)
    sites = {site: task.site(site, identities[site], held) for site, held in holdings.items()}
    moving = engine(sites.values(), vanish)
    return Rehearsal(
        study, sites, run_study(task.coordinator(), moving, coordinator, report=report)
    )
