"""How many bytes a client will send in a session, known before it starts."""

from typing import Any

from fedhull.codes.field import Field
from fedhull.protocol import messages as m
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.keys import Identity
from fedhull.protocol.masking import TALLY_FIELD, TALLY_SIZE
from fedhull.protocol.shares import SHARE_BYTES

_SEAL_BYTES = 16


def bytes_up(study: Agreement, client: str, n_sums: int, field: Field) -> int:
    """Bytes of all messages of a client, envelopes included, if everybody stays and an upload has
    `n_sums` elements of the field: the real messages, filled with zeros, are encoded and measured.
    """
    header: dict[str, Any] = {"study": bytes(32), "session": bytes(16)}
    secrets = bytes(len(m.Secrets(bytes(16), 0, bytes(SHARE_BYTES), bytes(SHARE_BYTES)).to_bytes()))
    sealed = secrets + bytes(_SEAL_BYTES)
    sent: list[m.FromClient] = [
        m.Advertise(**header, channel_key=bytes(32), mask_key=bytes(32), seed_commitment=bytes(32)),
        m.Share(**header, sealed={peer: sealed for peer in study.clients if peer != client}),
        m.Upload(
            **header,
            view=bytes(32),
            n_sums=n_sums,
            sums=bytes(field.packed_size(n_sums)),
        ),
        m.Confirm(**header, view=bytes(32), survivors=bytes(32)),
        m.Unmask(
            **header, seed_shares=dict.fromkeys(study.clients, bytes(SHARE_BYTES)), key_shares={}
        ),
        m.Tally(**header, counts=bytes(TALLY_FIELD.packed_size(TALLY_SIZE))),
    ]
    nobody = Identity.generate()
    return sum(len(m.encode_signed(message, client, nobody)) for message in sent)
