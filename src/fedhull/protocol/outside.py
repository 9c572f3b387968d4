"""A session seen from outside, for whoever measures it while many sites share a process."""

from typing import Any

from fedhull.protocol import degree, graph
from fedhull.protocol import messages as m
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.keys import verify

_OF_THE_GRAPH = (graph._sparse, degree.circle, degree.jury, degree.few)


def witnesses_of(study: Agreement, invitation: bytes) -> frozenset[str]:
    """The witnesses of the session that a coordinator's first message opens."""
    session = m.decode_to_client(invitation, study).session
    return graph.graph_of(study, session, ordered=False).witnesses


def forget_shared(study: Agreement, request: bytes) -> None:
    """Forget what other sites of this process have worked out and the one that gets this request
    would have to: which signatures are right and, from the list of keys, the graph."""
    message = m.decode_to_client(request, study)
    verify.cache_clear()
    if isinstance(message, m.KeyList):
        for known in _OF_THE_GRAPH:
            known.cache_clear()


def vector_size(study: Agreement, request: bytes, reply: bytes) -> int:
    """Bytes of a site's reply that are its masked vector or numbers; the others are protocol."""
    session = m.decode_to_client(request, study).session
    said: Any = m.decode_signed(reply, study, session, len(reply))[1]
    if isinstance(said, m.Upload):
        return len(said.vector)
    return len(said.numbers) if isinstance(said, m.Answer) else 0
