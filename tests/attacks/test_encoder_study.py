"""A coordinator and a site that lie in an encoder study: no site's update stands out."""

import msgspec
import numpy as np
import pytest
from encoders import encoder_in_memory, make_encoder_kits
from hypothesis import given
from hypothesis import strategies as st

from fedhull.codes.mean import LARGEST, MEAN_FIELD, MOST_WEIGHT, decode_weighted
from fedhull.errors import BadMessage, BelowThreshold, DecodingError
from fedhull.kits.kit import Kit
from fedhull.protocol import messages as m
from fedhull.protocol.memory import MemoryEngine

pytest.importorskip("jax", reason="the embed extra is not installed")
NAMES = ["lab-a", "lab-b", "lab-c", "lab-d"]


class Lying(MemoryEngine):
    """A coordinator that changes what it publishes after the first round, site by site."""

    def __init__(self, sites, change, identity, study):
        super().__init__(sites)
        self.change, self.identity, self.study = change, identity, study
        self.rounds, self.uploads, self.seen = 0, [], []

    def step(self, kind, messages, timeout=0.0):
        self.rounds += kind == "advertise"
        if kind == "publish" and self.rounds == 1:
            messages = {name: self._changed(name, raw) for name, raw in messages.items()}
        replies, failures = super().step(kind, messages, timeout)
        if kind == "upload":
            self.uploads.append(sorted(replies))
        self.seen.append((self.rounds, kind, dict(replies), dict(failures)))
        return replies, failures

    def _changed(self, name, raw):
        message = m.decode_to_client(raw, self.study)
        content = self.change(name, message.content)
        return m.encode_to_client(msgspec.structs.replace(message, content=content), self.identity)


def run(tmp_path, change):
    kits, data = make_encoder_kits(tmp_path, NAMES)
    server = Kit.open(kits / "server")
    engine = None

    def make(sites):
        nonlocal engine
        engine = Lying(sites, change, server.identity, server.study)
        return engine

    try:
        outcome = encoder_in_memory(kits, data, make)
    except BelowThreshold:
        outcome = None
    return engine, outcome


def nudged(content):
    weights = np.frombuffer(content, dtype="<f4").copy()
    weights[0] += 0.25
    return weights.tobytes()


def test_a_site_that_starts_a_round_from_other_weights_uploads_nothing(tmp_path):
    engine, outcome = run(
        tmp_path, lambda name, content: nudged(content) if name == "lab-a" else content
    )
    assert engine.uploads[0] == NAMES
    # its update would stand out in the sum; what its peers seal for it does not even open
    assert len(engine.uploads) == 1 or "lab-a" not in engine.uploads[1]
    assert outcome is None or "lab-a" not in outcome.rounds[-1].survivors


def test_whatever_is_published_between_two_rounds_the_answer_says_nothing(tmp_path):
    engine, outcome = run(tmp_path, lambda name, content: content[:-4])
    assert outcome is None
    (published,) = [
        (replies, failures) for _, kind, replies, failures in engine.seen if kind == "publish"
    ]
    assert published == ({}, {})
    assert all(isinstance(site.complaint, BadMessage) for site in engine.clients.values())
    assert len(engine.uploads) == 1


@given(st.integers(2, 6), st.data())
def test_a_sum_that_no_sites_can_make_is_refused(n, data):
    # a weight that n sites cannot have, or numbers beyond what that weight allows
    weight = data.draw(st.integers(n * MOST_WEIGHT + 1, n * MOST_WEIGHT * 4))
    with pytest.raises(DecodingError):
        decode_weighted(MEAN_FIELD.vector([0, 0, weight]), n)
    few = data.draw(st.integers(n, n * MOST_WEIGHT))
    beyond = int(few * LARGEST * 2**22) + 2**30
    with pytest.raises(DecodingError):
        decode_weighted(MEAN_FIELD.vector([beyond, 0, few]), n)
