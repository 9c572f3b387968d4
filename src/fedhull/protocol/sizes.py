"""How many bytes a client will send in a session, known before it starts."""

from typing import Any

from fedhull.protocol import messages as m
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.announced import COUNT_BYTES
from fedhull.protocol.dealing import sealed_bytes
from fedhull.protocol.graph import graph_of
from fedhull.protocol.keys import Identity
from fedhull.protocol.layout import Layout
from fedhull.protocol.shares import SHARE_BYTES


def bytes_up(
    study: Agreement,
    client: str,
    upload: Layout,
    *answers: Layout,
    numbers: int = 1,
    ordered: bool = False,
) -> int:
    """Bytes of all messages of a client in a session, envelopes included, if everybody stays,
    vectors are laid out like this and so many numbers are announced: the real messages, filled with
    zeros, are encoded and measured.

    In a sparse graph it is that of a client that is no witness and holds the shares of as many
    others as hold its own, which is so on average.
    """
    graph = graph_of(study, bytes(16), ordered)
    if study.is_sparse:
        client = next(name for name in (client, *study.seats) if name not in graph.witnesses)
    header: dict[str, Any] = {"study": bytes(32), "session": bytes(16)}
    peers = [name for name in graph.receivers(client) if name != client]
    sizes = sealed_bytes(graph, client, peers, numbers)
    sealed = {peer: bytes(size) for peer, size in sizes.items()}
    announced = numbers * COUNT_BYTES if client in graph.witnesses else 0
    sent: list[m.FromClient] = [
        m.Advertise(**header, channel_key=bytes(32), mask_key=bytes(32), seed_commitment=bytes(32)),
        m.Share(**header, sealed=sealed),
        m.Announce(**header, view=bytes(32), shares=bytes(announced)),
        m.Upload(**header, view=bytes(32), vector=bytes(upload.packed_size)),
        m.Confirm(**header, view=bytes(32), survivors=bytes(32)),
        m.Unmask(
            **header,
            seed_shares=dict.fromkeys(graph.holders[client], bytes(SHARE_BYTES)),
            key_shares={},
        ),
        *(m.Answer(**header, numbers=bytes(answer.packed_size)) for answer in answers),
    ]
    nobody = Identity.generate()
    return sum(len(m.encode_signed(message, client, nobody)) for message in sent)
