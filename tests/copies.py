"""Studies that are brought to a point once, and copied for each test that goes on from there."""

import copyreg
from copy import deepcopy
from typing import TypeVar

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from fedhull.protocol.keys import Identity

T = TypeVar("T")

# What nobody can change need not be copied. An identity refuses to be written anywhere, and is not:
# all copies have the same one.
_SHARED = (Identity, type(X25519PrivateKey.generate()))


def copy_of(study: T) -> T:
    """Whatever happens to the copy, the next one knows nothing of it."""
    with pytest.MonkeyPatch.context() as here:
        for kind in _SHARED:
            # to `deepcopy` a string means that the thing stands for itself
            here.setitem(copyreg.dispatch_table, kind, lambda thing: "shared")
        return deepcopy(study)
