"""Numbers in slots: what is encoded, and added up, is decoded, or refused."""

import hypothesis.strategies as st
import pytest
from hypothesis import given
from strategies import examples

from fedhull.codes.power_sums import SLOT_FIELD, SlotCoding
from fedhull.errors import DecodingError

MOST = 12


@st.composite
def slots(draw, width, space, largest=MOST):
    names = draw(st.sets(st.integers(0, space - 1), max_size=largest))
    number = st.integers(0, 2**60 - 1)
    return {name: tuple(draw(number) for _ in range(width)) for name in sorted(names)}


def added(a, b):
    return [(x + y) % SLOT_FIELD.q for x, y in zip(a, b, strict=True)]


@given(st.integers(1, 4), st.sampled_from([20, 1000, 2**40]), st.data())
@examples(60)
def test_what_sites_put_into_slots_of_their_own_is_what_their_sum_gives(width, space, data):
    coding = SlotCoding(space, width)
    ours = data.draw(slots(width, space))
    first = dict(list(ours.items())[::2])
    second = {name: ours[name] for name in ours.keys() - first.keys()}
    total = added(coding.encode(first, MOST), coding.encode(second, MOST))
    assert coding.decode(total, MOST) == ours


@given(st.data())
@examples(60)
def test_damaged_sums_are_refused(data):
    coding = SlotCoding(2**40, 3)
    sums = coding.encode(data.draw(slots(3, 2**40)), MOST)
    place = data.draw(st.integers(0, len(sums) - 1))
    sums[place] = (sums[place] + data.draw(st.integers(1, SLOT_FIELD.q - 1))) % SLOT_FIELD.q
    with pytest.raises(DecodingError):
        coding.decode(sums, MOST)


def test_two_sites_in_one_slot_are_noticed():
    coding = SlotCoding(2**40, 1)
    total = added(coding.encode({5: [1]}, MOST), coding.encode({5: [2], 6: [3]}, MOST))
    with pytest.raises(DecodingError):
        coding.decode(total, MOST)
