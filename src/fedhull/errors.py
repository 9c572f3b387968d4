"""Every error a user can meet. Messages name the argument, the rule, the value and the way out.

FedhullError
├── InvalidInput (ValueError)      an argument breaks its rule
│   ├── OutsideDisc                a point does not lie in the Poincaré ball
│   ├── OutsideRadius              a point lies in the ball but beyond the study's radius R
│   └── TooManyBins                a quantizer would need more bins than can be numbered
├── DecodingError                  what the server received cannot be decoded
│   ├── SyndromeUndecodable        the sums belong to no sparse vector
│   └── UnknownLabelSum            a bin's value is not a sum of labels
├── ProtocolError                  a participant or a message breaks the protocol
│   ├── BadMessage                 malformed, oversized, of another study or session
│   ├── BadIdentity                not from the roster, or not signed by the sender it names
│   ├── OutOfTurn                  too early, too late or a second time
│   ├── InconsistentView           the server has shown different things to different sites
│   ├── BelowThreshold             too few participants are left
│   ├── BadShares                  shares do not restore what their owner committed to
│   └── NoConsent                  nobody has agreed to what the server asks for
├── EngineFailure                  what moves the messages does not work
│   ├── ServerUnreachable          the server is gone, or was never there
│   └── StillWaiting               others have to do something first; nothing is wrong
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


class DecodingError(FedhullError):
    """What the server received cannot be decoded, and is not used."""


class SyndromeUndecodable(DecodingError):
    """The sums do not belong to any sparse vector over the study's bins."""


class UnknownLabelSum(DecodingError):
    """A bin's value is not a sum of labels, or sums more labels than the code can tell apart."""


class ProtocolError(FedhullError):
    """A participant or a message breaks the protocol. The session reveals nothing further."""


class BadMessage(ProtocolError):
    """A message is malformed, oversized, or belongs to another study or session."""


class BadIdentity(ProtocolError):
    """A message comes from outside the roster, or is not signed by the sender it names."""


class OutOfTurn(ProtocolError):
    """A message that the present state does not take: too early, too late or a second time."""


class InconsistentView(ProtocolError):
    """The server has shown different things to different sites."""


class BelowThreshold(ProtocolError):
    """Too few participants are left to go on."""


class BadShares(ProtocolError):
    """The shares handed in do not restore the secret that their owner had committed to."""


class NoConsent(ProtocolError):
    """The server asks for something that nobody at this site has agreed to."""


class EngineFailure(FedhullError):
    """What moves the messages does not work."""


class ServerUnreachable(EngineFailure):
    """The server is gone, was never there, or does not accept this participant."""


class StillWaiting(EngineFailure):
    """Others have to do something first; nothing is wrong, and the same call goes on later."""


class MissingExtra(FedhullError, ImportError):
    """An optional dependency is not installed; the message says which command installs it."""
