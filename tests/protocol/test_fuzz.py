"""Every decoder, fed with noise and with damaged messages: the named error or a valid message."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parties import make_parties, make_study
from strategies import examples

from fedhull.errors import BadMessage, FedhullError, InvalidInput
from fedhull.protocol import messages as m
from fedhull.protocol.keys import VERSION
from fedhull.study.study import Study

STUDY = make_study(3)


def real_messages():
    """One of each message, as a session makes them."""
    server, engine, _, _ = make_parties(3)
    outgoing, found = server.start(), []
    while outgoing:
        found.append(outgoing["site-a"])
        replies = engine.step(server.step.value, outgoing)[0]
        found.append(replies["site-a"])
        outgoing = server.advance(replies)
    found.append(server.publish(b"result")["site-a"])
    return found


MESSAGES = real_messages()


@st.composite
def damaged(draw):
    raw = bytearray(draw(st.sampled_from(MESSAGES)))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(raw)))
        how = draw(st.sampled_from(["insert", "delete", "change"]))
        new = draw(st.binary(min_size=1, max_size=4))
        raw[place : place + (0 if how == "insert" else 4)] = b"" if how == "delete" else new
    return bytes(raw)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.binary()
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)  # fmt: skip

noise = st.one_of(
    st.binary(max_size=300),
    damaged(),
    values.map(msgspec.msgpack.encode),
    st.dictionaries(
        st.sampled_from(["kind", "version", "study", "session", "sealed", "sums", "survivors"]),
        st.one_of(
            values, st.just(STUDY.hash), st.just("upload"), st.just("key-list"), st.just(VERSION)
        ),
    ).map(msgspec.msgpack.encode),
)


@given(noise)
@examples(1500)
def test_no_decoder_fails_in_any_other_way(raw):
    for decode in (
        lambda: m.decode_to_client(raw, STUDY),
        lambda: m.decode_signed(raw, STUDY, bytes(16)),
    ):
        with suppress(FedhullError):
            decode()


@given(noise)
@examples(300)
def test_a_client_survives_any_message(raw):
    _, _, clients, _ = make_parties(3)
    client = clients["site-a"]
    try:
        client.receive(raw)
    except FedhullError:
        assert client.state == "ready"


@given(st.text() | st.sampled_from(STUDY.to_toml().splitlines()).map(
    lambda line: STUDY.to_toml().replace(line, line[::-1])
))  # fmt: skip
@examples(300)
def test_any_text_is_a_study_or_a_named_error(text):
    with suppress(InvalidInput):
        Study.from_toml(text)


def test_deeply_nested_input_is_refused():
    with pytest.raises(BadMessage):
        m.decode_to_client(b"\x91" * 100_000 + b"\xc0", STUDY)


def test_an_unknown_field_is_refused():
    plain = msgspec.msgpack.decode(MESSAGES[0])
    with pytest.raises(BadMessage):
        m.decode_to_client(msgspec.msgpack.encode({**plain, "extra": 1}), make_study(3))


def test_another_version_is_refused():
    plain = msgspec.msgpack.decode(MESSAGES[0])
    with pytest.raises(BadMessage):
        m.decode_to_client(msgspec.msgpack.encode({**plain, "version": 1}), make_study(3))
