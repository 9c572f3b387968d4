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
│   ├── ConnectionDropped          the server has let this site go for another process
│   ├── StillWaiting               others have to do something first; nothing is wrong
│   └── StudyEnded                 a study has ended without a result at this participant
├── MissingExtra (ImportError)     an optional dependency is not installed
├── Declined                       somebody was asked to agree and did not
└── Stopped                        somebody has stopped the command

A command that ends with one of these exits with its `exit_code`: 2 if the call or what it was given
is wrong, 3 if others have to act and the same call may work later, 4 if a study has failed, 5 if
somebody did not agree to what would leave, 130 if somebody stopped it.
"""

from collections.abc import Sequence
from typing import Any, ClassVar


class FedhullError(Exception):
    """The root of the tree: catch this to catch whatever fedhull reports."""

    exit_code: ClassVar[int] = 2

    @property
    def kind(self) -> str:
        """The error in one word for scripts."""
        return type(self).__name__

    @property
    def details(self) -> dict[str, Any]:
        """Facts for scripts beside the sentence."""
        return {}


class InvalidInput(FedhullError, ValueError):
    """An argument breaks its rule."""


class OutsideDisc(InvalidInput):
    """A point does not lie in the open Poincaré ball ``k‖x‖² < 1``."""


class OutsideRadius(InvalidInput):
    """A point lies in the ball, but beyond the radius R that all participants agreed on."""


class TooManyBins(InvalidInput):
    """A quantizer would need more bins than fit the numbering."""


class DecodingError(FedhullError):
    """Received data cannot be decoded, and are not used."""

    exit_code = 4


class SyndromeUndecodable(DecodingError):
    """The sums do not belong to any sparse vector over the study's bins."""


class UnknownLabelSum(DecodingError):
    """A bin's value is not a sum of labels, or sums more labels than the code can tell apart."""


class ProtocolError(FedhullError):
    """A participant or a message breaks the protocol. The session reveals nothing further."""

    exit_code = 4


class BadMessage(ProtocolError):
    """A message is malformed, oversized, or belongs to another study or session."""


class BadIdentity(ProtocolError):
    """A message comes from outside the roster, or is not signed by the sender it names."""

    # a command ends with it where a key, a certificate and a kit do not belong together; what a
    # session makes of a forged message is a StudyEnded, a lost place a ConnectionDropped
    exit_code = 2


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
    """The transport of messages does not work."""

    exit_code = 4


class ServerUnreachable(EngineFailure):
    """The server is gone, was never there, or does not accept this participant."""

    exit_code = 3


class ConnectionDropped(EngineFailure):
    """The server has dropped this site's connection, for another process with the same kit or
    because the network broke; the session goes on without this one."""


class StillWaiting(EngineFailure):
    """Others have to do something first; nothing is wrong, and the same call goes on later. For
    scripts it says which step it is, whom it waits for, and which files have to be carried, each
    with `file`, `from` and `to`."""

    exit_code = 3

    def __init__(
        self,
        sentence: str,
        step: str | None = None,
        waiting_for: Sequence[str] = (),
        paths: Sequence[dict[str, str]] = (),
    ):
        super().__init__(sentence)
        self.step, self.waiting_for, self.paths = step, list(waiting_for), list(paths)

    @property
    def details(self) -> dict[str, Any]:
        """Step, whom it waits for, and what is to be carried."""
        return {"step": self.step, "waiting_for": self.waiting_for, "paths": self.paths}


class StudyEnded(EngineFailure):
    """A study has ended without a result here; `kind` names the error it ended with."""

    def __init__(self, ended_with: str, sentence: str):
        super().__init__(f"{ended_with}: {sentence}")
        self._ended_with = ended_with

    @property
    def kind(self) -> str:
        """The name of the error that ended the study."""
        return self._ended_with


class MissingExtra(FedhullError, ImportError):
    """An optional dependency is not installed; the message says which command installs it."""


class Declined(FedhullError):
    """Somebody was asked to agree to what would leave, and did not; nothing was sent."""

    exit_code = 5


class Stopped(FedhullError):
    """Somebody has stopped the command, by Ctrl-C for instance."""

    exit_code = 130
