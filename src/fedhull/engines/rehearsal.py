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
    """What came of it: the study, its participants, and the server's aggregate."""

    study: Study
    clients: dict[str, ClientSession]
    server: ServerSession
    engine: MemoryEngine
    aggregate: Aggregate

    @property
    def bytes_up(self) -> dict[str, int]:
        """Bytes that each client has sent, envelopes and all."""
        return self.engine.bytes_up

    def publish(self, result: bytes) -> None:
        """Send the result to everybody who uploaded."""
        self.engine.step("publish", self.server.publish(result))

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
    return Rehearsal(study, clients, server, engine, result)
