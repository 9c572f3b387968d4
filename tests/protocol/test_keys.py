"""Keys, seals and shares: known vectors of their standards, and nothing that talks."""

import pickle

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from hypothesis import given
from hypothesis import strategies as st
from oracles import restore
from parties import make_clients, make_study, random_hulls

from fedhull.codes.field import Field
from fedhull.errors import BadIdentity, BadMessage
from fedhull.protocol.keys import (
    ExchangeKey,
    Identity,
    digest,
    seal,
    stretch,
    unseal,
    verify,
)
from fedhull.protocol.shares import PRIME, evaluate, split, wrong_holders
from fedhull.protocol.summation import Layout


def test_exchange_is_that_of_rfc_7748():
    # section 6.1: Bob's keys, Alice's public key, and what the two agree on
    bob = ExchangeKey(
        bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
    )
    alice = bytes.fromhex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
    agreed = bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
    assert bob.public.hex() == "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
    assert bob.agree(alice) == agreed


def test_mask_is_the_chacha20_keystream_of_rfc_8439():
    # RFC 8439, A.1, test vector 1: key 0, nonce 0, counter 0
    stream = bytes.fromhex(
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
    )
    # with q of 61 bits an element takes 8 bytes, its top 3 bits cut off; none is rejected here
    field = Field(2**61 - 1)
    expected = [int.from_bytes(stream[i : i + 8], "little") & (2**61 - 1) for i in range(0, 64, 8)]
    layout = Layout(((field, 5), (field, 3)))
    masked = layout.add_mask(layout.zeros(), bytes(32))
    # one stream for all parts
    assert layout.to_ints(masked) == [expected[:5], expected[5:]]


def test_both_ends_derive_the_same_key_and_nobody_else():
    a, b, c = ExchangeKey(), ExchangeKey(), ExchangeKey()
    salt, purpose = b"salt", b"purpose"
    agreed = a.agree(b.public)
    assert agreed == b.agree(a.public) != c.agree(a.public)
    key = stretch(agreed, salt, purpose)
    assert key not in (stretch(agreed, b"other", purpose), stretch(agreed, salt, b"other"))


def test_a_low_order_exchange_key_is_refused():
    with pytest.raises(BadMessage, match="exchange key is not valid"):
        ExchangeKey().agree(bytes(32))


@given(st.binary(), st.binary())
def test_seals_open_only_in_their_context_and_unchanged(message, context):
    key = digest(b"key")
    sealed = seal(key, context, message)
    assert unseal(key, context, sealed) == message
    for wrong in [(key, context + b"x", sealed), (digest(b"other"), context, sealed)]:
        assert unseal(*wrong) is None
    flipped = bytes([sealed[0] ^ 1]) + sealed[1:]
    assert unseal(key, context, flipped) is None


def test_digest_tells_lists_apart_that_join_alike():
    assert digest(b"ab", b"c") != digest(b"a", b"bc") != digest(b"abc")


def test_signatures_belong_to_one_identity_and_one_message():
    me, other = Identity.generate(), Identity.generate()
    signature = me.sign(b"message")
    verify(me.public, b"message", signature)
    for wrong in [(other.public, b"message"), (me.public, b"massage")]:
        with pytest.raises(BadIdentity):
            verify(*wrong, signature)


def test_identity_file_round_trip_and_refusals():
    me = Identity.generate()
    assert Identity.from_pem(me.to_pem()).public == me.public
    for junk in (b"", b"junk", ExchangeKey().secret):
        with pytest.raises(BadIdentity, match="fedhull keygen"):
            Identity.from_pem(junk)


def test_shamir_published_example():
    # the worked example of the Wikipedia article: 1234 + 166x + 94x² modulo 1613
    shares = evaluate([1234, 166, 94], list(range(1, 7)), 1613)
    assert shares == [1494, 329, 965, 176, 1188, 775]
    assert restore({2: 329, 4: 176, 5: 1188}, prime=1613) == 1234


@given(st.integers(0, 2**256 - 1), st.integers(1, 8), st.data())
def test_any_threshold_of_shares_restores_the_secret(secret, threshold, data):
    holders = list(range(1, threshold + 4))
    shares = split(secret, holders, threshold)
    chosen = data.draw(st.permutations(holders))[:threshold]
    assert restore({x: shares[x] for x in chosen}) == secret


@given(st.integers(0, PRIME - 1), st.integers(2, 8), st.data())
def test_up_to_half_of_the_spare_shares_may_be_wrong_and_are_found(secret, threshold, data):
    n = data.draw(st.integers(threshold, threshold + 8))
    shares = split(secret, list(range(1, n + 1)), threshold)
    wrong = data.draw(st.sets(st.integers(1, n), max_size=(n - threshold) // 2))
    for x in wrong:
        shares[x] = (shares[x] + data.draw(st.integers(1, PRIME - 1))) % PRIME
    assert wrong_holders(shares, threshold) == wrong


def test_more_wrong_shares_than_can_be_found_are_said_to_be_too_many():
    shares = split(42, list(range(1, 11)), 6)
    for x in (2, 5, 9):
        shares[x] += 1
    assert wrong_holders(shares, 6) is None


@given(st.integers(0, 2**256 - 1), st.integers(2, 6))
def test_fewer_shares_fit_every_secret(secret, threshold):
    shares = split(secret, list(range(1, threshold + 1)), threshold)
    known = {x: shares[x] for x in list(shares)[:-1]}
    # whatever the secret was, some value of the missing share makes it: here, 42
    lagrange = restore({**dict.fromkeys(known, 0), threshold: 1})
    missing = (42 - restore({**known, threshold: 0})) * pow(lagrange, -1, PRIME) % PRIME
    assert restore({**known, threshold: missing}) == 42


def test_shamir_prime_is_prime():
    import flint

    assert flint.fmpz(PRIME).is_prime()


def test_secrets_are_in_no_repr_and_no_pickle():
    study = make_study(3)
    client = make_clients(study, random_hulls(study, 0))["site-a"]
    shown = repr(client) + repr(client._mask_key) + repr(client._identity)
    for secret in (client._seed, client._mask_key.secret, client._randomness.root):
        assert secret.hex() not in shown
        assert repr(secret) not in shown
    with pytest.raises(TypeError):
        pickle.dumps(client._identity)


def test_hkdf_rfc_5869_case_1():
    # the construction we call, checked with the RFC's own vector
    okm = HKDF(SHA256(), 42, bytes(range(13)), bytes(range(0xF0, 0xFA))).derive(bytes([0x0B] * 22))
    assert okm.hex().startswith("3cb25f25faacd57a90434f64d0362f2a")


def test_scrypt_rfc_7914():
    # section 12, the vector with the parameters nearest to ours
    found = Scrypt(salt=b"SodiumChloride", length=64, n=2**14, r=8, p=1).derive(b"pleaseletmein")
    assert found.hex().startswith("7023bdcb3afd7348461c06cd81fd38eb")
