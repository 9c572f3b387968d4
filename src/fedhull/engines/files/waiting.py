"""What a site over files waits for, in words for people and in paths for scripts."""

from fedhull.engines.files.mail import COORDINATOR, Mail
from fedhull.errors import StillWaiting
from fedhull.kits.kit import Kit
from fedhull.protocol.drive import STEPS


def not_asked(mail: Mail, kit: Kit) -> StillWaiting:
    """No session has begun: there is nothing yet that somebody could agree to."""
    assert kit.name is not None
    request = mail.path(kit.name, STEPS[0], "request")
    return StillWaiting(
        f"waiting for the coordinator's first request, which will be {request}; run this again "
        f"when it is there. Meanwhile 'fedhull check {kit.folder} --data FILE' tries your data",
        mail.describe(STEPS[0], 1),
        [COORDINATOR],
        [mail.to_carry(kit.name, STEPS[0], "request")],
    )


def not_arrived(mail: Mail, name: str, kind: str, number: int) -> StillWaiting:
    """The site has answered all that it was asked for."""
    request = mail.path(name, kind, "request", number)
    return StillWaiting(
        f"waiting for the coordinator's next request, {mail.describe(kind, number)}: {request} has "
        f"not arrived yet; run this again when it is there",
        mail.describe(kind, number),
        [COORDINATOR],
        [mail.to_carry(name, kind, "request", number)],
    )


def answered(mail: Mail, name: str, kind: str, number: int) -> StillWaiting:
    """The site has just answered."""
    steps = mail.steps[number - 1]
    following = steps[steps.index(kind) + 1]  # no reply to the last step is waited for
    reply, request = (
        mail.to_carry(name, kind, "reply", number),
        mail.to_carry(name, following, "request", number),
    )
    return StillWaiting(
        f"carry {reply['file']} to the coordinator, and run this again when the next request, "
        f"{request['file']}, is there",
        mail.describe(kind, number),
        [COORDINATOR],
        [reply, request],
    )
