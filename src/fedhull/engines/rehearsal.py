"""A whole study in this process, with fresh identities: what demo and simulation stand on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedhull.engines.memory import MemoryEngine
from fedhull.federation.coordinator import Outcome, Report, run_study
from fedhull.federation.holdings import Holdings
from fedhull.federation.site import Site
from fedhull.protocol.keys import Identity
from fedhull.protocol.server import ServerSession
from fedhull.protocol.study import Geometry, Labels, Learning, Rules, Study


@dataclass(frozen=True)
class Rehearsal:
    """What came of it: the study, its sites, and what the coordinator has."""

    study: Study
    sites: dict[str, Site]
    outcome: Outcome

    @property
    def decoded_exactly(self) -> bool:
        """Whether the server's hulls are the survivors' hulls, each under the label it was sent."""
        sent = {
            label: sorted(bins)
            for site in map(self.sites.__getitem__, self.outcome.aggregate.survivors)
            for label, bins in zip(site.session.label_of_class, site.holdings.hulls, strict=True)
        }
        return self.outcome.aggregate.hulls == sent


def rehearse(
    holdings: Mapping[str, Holdings],
    geometry: Geometry,
    learning: Learning = Learning(),  # noqa: B008  (frozen)
    label_code: str = "auto",
    vanish: Mapping[str, Sequence[str]] | None = None,
    name: str = "rehearsal",
    report: Report = lambda progress: None,
) -> Rehearsal:
    """Run a study over {site: what it holds}, every message included."""
    identities = {site: Identity.generate() for site in holdings}
    coordinator = Identity.generate()
    study = Study(
        name=name,
        geometry=geometry,
        labels=Labels(classes=max(len(h.classes) for h in holdings.values()), code=label_code),
        protocol=Rules(allow_small_cohort=True, most_bins=1_000_000),
        learning=learning,
        coordinator=coordinator.public,
        clients={site: identity.public for site, identity in identities.items()},
    )
    sites = {site: Site(study, site, identities[site], holdings[site]) for site in holdings}
    engine = MemoryEngine(sites.values(), vanish)
    return Rehearsal(
        study, sites, run_study(ServerSession(study, coordinator), engine, report=report)
    )
