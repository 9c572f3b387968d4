"""How many bytes a client will send in a session, known before it starts."""

from typing import Any

from fedhull.protocol import messages as m
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.keys import Identity
from fedhull.protocol.layout import Layout
from fedhull.protocol.shares import COUNT_BYTES, SHARE_BYTES


def bytes_up(
    study: Agreement, client: str, upload: Layout, *answers: Layout, numbers: int = 1
) -> int:
    """Bytes of all messages of a client in a session, envelopes included, if everybody stays,
    vectors are laid out like this and so many numbers are announced: the real messages, filled with
    zeros, are encoded and measured."""
    header: dict[str, Any] = {"study": bytes(32), "session": bytes(16)}
    sealed = bytes(m.sealed_bytes(numbers))
    sent: list[m.FromClient] = [
        m.Advertise(**header, channel_key=bytes(32), mask_key=bytes(32), seed_commitment=bytes(32)),
        m.Share(**header, sealed={peer: sealed for peer in study.clients if peer != client}),
        m.Announce(**header, view=bytes(32), shares=bytes(numbers * COUNT_BYTES)),
        m.Upload(**header, view=bytes(32), vector=bytes(upload.packed_size)),
        m.Confirm(**header, view=bytes(32), survivors=bytes(32)),
        m.Unmask(
            **header, seed_shares=dict.fromkeys(study.clients, bytes(SHARE_BYTES)), key_shares={}
        ),
        *(m.Answer(**header, numbers=bytes(answer.packed_size)) for answer in answers),
    ]
    nobody = Identity.generate()
    return sum(len(m.encode_signed(message, client, nobody)) for message in sent)
