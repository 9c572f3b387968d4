"""The one module that touches key material. It composes `cryptography` and adds no primitive.

- Identities: Ed25519, long-term, on the study's roster. They sign whatever a client says.
- Channels: X25519 → HKDF-SHA256 → ChaCha20-Poly1305. A key seals one message in one direction of
  one session, so its nonce is constant.
- Masks: X25519 (between two clients) or a random seed (a client's own) → HKDF-SHA256 → ChaCha20
  keystream → uniform field elements by rejection.
- Tags: HMAC-SHA256 under a random key.
- Randomness: 32 bytes of the operating system's → HKDF-SHA256 (→ ChaCha20 keystream) → every random
  choice of a session.
- Public randomness that nobody should try out many times: scrypt.

Not protected here: memory is not wiped, and nothing is constant-time beyond `cryptography`.
"""

import hashlib
import secrets
from collections.abc import Callable
from functools import lru_cache

from cryptography.exceptions import InvalidSignature, InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from fedhull.errors import BadIdentity, BadMessage

# Of the protocol: of study files, messages, and all keys derived in a session.
VERSION = 3
_ONCE = bytes(12)


class Identity:
    """A participant's long-term signing key. Its repr and its pickle give nothing away."""

    def __init__(self, key: Ed25519PrivateKey):
        self._key = key

    @classmethod
    def generate(cls) -> "Identity":
        """A fresh identity from the operating system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_pem(cls, pem: bytes) -> "Identity":
        """The identity in a file that `to_pem` wrote."""
        try:
            key = serialization.load_pem_private_key(pem, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise BadIdentity("this is not an Ed25519 identity key; make one with 'fedhull keygen'")
        return cls(key)

    def to_pem(self) -> bytes:
        """The private key, unencrypted, for a file that only its owner may read."""
        return self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    @property
    def public(self) -> str:
        """The public key as it stands on a roster: 64 hexadecimal digits."""
        return self._key.public_key().public_bytes_raw().hex()

    def sign(self, message: bytes) -> bytes:
        """64 bytes that only this identity can make."""
        return self._key.sign(message)

    def __repr__(self) -> str:
        return f"Identity(public={self.public[:8]}…)"

    def __reduce__(self) -> str:
        raise TypeError("an identity cannot be pickled: use to_pem and keep the file safe")


# In a rehearsal hundreds of sites check the same signature.
@lru_cache(maxsize=2**16)
def verify(public: str, message: bytes, signature: bytes) -> None:
    """Raise BadIdentity unless the holder of the public key signed the message."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(signature, message)
    except (InvalidSignature, ValueError):
        raise BadIdentity("a signature does not belong to the identity on the roster") from None


class ExchangeKey:
    """A fresh X25519 key of one session."""

    def __init__(self, secret: bytes | None = None):
        self._key = (
            X25519PrivateKey.generate()
            if secret is None
            else X25519PrivateKey.from_private_bytes(secret)
        )

    @property
    def public(self) -> bytes:
        """32 bytes for the others."""
        return self._key.public_key().public_bytes_raw()

    @property
    def secret(self) -> bytes:
        """32 bytes, to be shared among the peers by Shamir's scheme and otherwise kept."""
        return self._key.private_bytes_raw()

    def agree(self, peer: bytes) -> bytes:
        """The secret that only the two owners can work out; `stretch` derives keys from it."""
        try:
            return self._key.exchange(X25519PublicKey.from_public_bytes(peer))
        except ValueError:
            raise BadMessage("a peer's exchange key is not valid") from None

    def __repr__(self) -> str:
        return "ExchangeKey(…)"


class Randomness:
    """All random choices of one client in one session, derived from one root.

    Whoever keeps the root can take a session up again and makes the same choices; that is why one
    root, or one branch of it, must serve one session only.
    """

    def __init__(self, root: bytes | None = None):
        self._root = secrets.token_bytes(32) if root is None else root

    @property
    def root(self) -> bytes:
        """32 bytes, as secret as everything derived from them."""
        return self._root

    def token(self, purpose: str, n: int = 32) -> bytes:
        """n bytes for one purpose."""
        return stretch(self._root, b"", f"randomness {purpose}".encode(), n)

    def branch(self, purpose: str) -> "Randomness":
        """The randomness of one session among several that one root serves."""
        return Randomness(self.token(purpose))

    def below(self, purpose: str) -> Callable[[int], int]:
        """A source of numbers below a bound; 16 extra bytes keep the bias below 2^−128."""
        stream = keystream(self.token(purpose))

        def draw(bound: int) -> int:
            return int.from_bytes(stream((bound.bit_length() + 7) // 8 + 16), "big") % bound

        return draw

    def __repr__(self) -> str:
        return "Randomness(…)"


def stretch(secret: bytes, salt: bytes, purpose: bytes, n: int = 32) -> bytes:
    """HKDF-SHA256 to n bytes."""
    return HKDF(SHA256(), length=n, salt=salt, info=b"fedhull %d %b" % (VERSION, purpose)).derive(
        secret
    )


def costly_seed(*parts: bytes) -> bytes:
    """32 bytes that all who know the parts can work out, for 16 MB and 50 ms a try."""
    return Scrypt(salt=b"fedhull %d" % VERSION, length=32, n=2**14, r=8, p=1).derive(digest(*parts))


def seal(key: bytes, context: bytes, message: bytes) -> bytes:
    """Encrypt and authenticate a message together with its context. One message for each key."""
    return ChaCha20Poly1305(key).encrypt(_ONCE, message, context)


def unseal(key: bytes, context: bytes, sealed: bytes) -> bytes | None:
    """The message, or None if it or its context was changed."""
    try:
        return ChaCha20Poly1305(key).decrypt(_ONCE, sealed, context)
    except InvalidTag:
        return None


def keystream(key: bytes) -> Callable[[int], bytes]:
    """ChaCha20's keystream: a function from n to the next n bytes."""
    stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
    return lambda size: stream.update(bytes(size))


def tag(key: bytes, message: bytes) -> bytes:
    """HMAC-SHA256: 32 bytes that nobody without the key can make for another message."""
    mac = HMAC(key, SHA256())
    mac.update(message)
    return mac.finalize()


def digest(*parts: bytes) -> bytes:
    """SHA-256 over parts, each preceded by its length, so that no two lists look alike."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big"))
        whole.update(part)
    return whole.digest()
