"""Every error a user can meet. Messages name the argument, the rule, the value and the way out.

FedhullError
├── InvalidInput (ValueError)      an argument breaks its rule
│   ├── OutsideDisc                a point does not lie in the Poincaré ball
│   ├── OutsideRadius              a point lies in the ball but beyond the study's radius R
│   └── TooManyBins                a quantizer would need more bins than can be numbered
└── MissingExtra (ImportError)     an optional dependency is not installed
"""


class FedhullError(Exception):
    """The root of the tree: catch this to catch whatever fedhull reports."""


class InvalidInput(FedhullError, ValueError):
    """An argument breaks its rule."""


class OutsideDisc(InvalidInput):
    """A point does not lie in the open Poincaré ball ``k‖x‖² < 1``."""


class OutsideRadius(InvalidInput):
    """A point lies in the ball, but beyond the radius R that all participants agreed on."""


class TooManyBins(InvalidInput):
    """A quantizer would need more bins than fit the numbering."""
