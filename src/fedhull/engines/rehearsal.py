"""A whole session in this process, with fresh identities: what demo and simulation stand on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedhull.engines.engine import aggregate
from fedhull.engines.memory import MemoryEngine
from fedhull.protocol.client import ClientSession
from fedhull.protocol.keys import Identity
from fedhull.protocol.server import Aggregate, ServerSession
from fedhull.protocol.study import Geometry, Labels, Rules, Study


@dataclass(frozen=True)
class Rehearsal:
    """What came of it: the study, its clients, the server's aggregate, and bytes up per client."""

    study: Study
    clients: dict[str, ClientSession]
    server: ServerSession
    aggregate: Aggregate
    bytes_up: dict[str, int]

    def decoded_exactly(self, hulls: Mapping[str, Sequence[Sequence[int]]]) -> bool:
        """Whether the server's hulls are the survivors' hulls, each under the label it was sent."""
        sent = {
            label: sorted(int(j) for j in bins)
            for name in self.aggregate.survivors
            for label, bins in zip(self.clients[name].label_of_class, hulls[name], strict=True)
        }
        return self.aggregate.hulls == sent


def rehearse(
    hulls: Mapping[str, Sequence[Sequence[int]]],
    geometry: Geometry,
    label_code: str = "auto",
    vanish: Mapping[str, Sequence[str]] | None = None,
    name: str = "rehearsal",
    most_bins: int = 1_000_000,
) -> Rehearsal:
    """Run the protocol over {client: bins of each class's hull}, all messages included."""
    identities = {client: Identity.generate() for client in hulls}
    study = Study(
        name=name,
        geometry=geometry,
        labels=Labels(classes=max(map(len, hulls.values())), code=label_code),
        protocol=Rules(allow_small_cohort=True, most_bins=most_bins),
        clients={client: identity.public for client, identity in identities.items()},
    )
    clients = {
        client: ClientSession(study, client, identities[client], hulls[client]) for client in hulls
    }
    server, engine = ServerSession(study), MemoryEngine(clients.values(), vanish)
    result = aggregate(server, engine)
    return Rehearsal(study, clients, server, result, engine.bytes_up)
