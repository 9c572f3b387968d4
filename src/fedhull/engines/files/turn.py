"""Whose turn it is in a study over files, by the messages that lie in the mail folder."""

from fedhull.engines.files.mail import COORDINATOR, Mail
from fedhull.engines.turn import Turn
from fedhull.kits.kit import Kit
from fedhull.protocol.drive import PUBLISH, STEPS


def turn_of_coordinator(mail: Mail, names: list[str]) -> Turn | None:
    """The last step that sites were asked for, and those whose reply has not arrived."""
    last = _last_step(mail, names)
    if last is None:
        return None
    kind, number = last
    asked = [name for name in names if mail.path(name, kind, "request", number).is_file()]
    missing = [name for name in asked if not mail.path(name, kind, "reply", number).is_file()]
    return Turn(mail.describe(kind, number), missing)


def turn_of_site(mail: Mail, name: str) -> Turn:
    """The last step that the site was asked for, and whether it or the coordinator is next."""
    last = _last_step(mail, [name])
    if last is None:
        return Turn("no request has arrived yet", [COORDINATOR])
    kind, number = last
    answered = mail.path(name, kind, "reply", number).is_file()
    return Turn(mail.describe(kind, number), [COORDINATOR] if answered else [name])


def next_of_coordinator(mail: Mail, kit: Kit, turn: Turn | None) -> str:
    """What the coordinator does next."""
    here = f"'fedhull server {kit.folder}'"
    last = _last_step(mail, list(kit.study.clients))
    if turn is None or last is None or not turn.missing:
        return f"you: {here}"
    kind, number = last
    request = mail.path("SITE", kind, "request", number)
    return (
        f"{', '.join(turn.missing)}: carry {request} to each SITE of these, where 'fedhull client "
        f"KIT' answers it, and the reply back; then you: {here}"
    )


def next_of_site(mail: Mail, kit: Kit, session_open: bool) -> str:
    """What a site does next, for the first time with its data."""
    assert kit.name is not None
    here = f"'fedhull client {kit.folder}{'' if session_open else ' --data FILE'}'"
    last = _last_step(mail, [kit.name])
    if last is None:
        first = mail.path(kit.name, STEPS[0], "request")
        return (
            f"the coordinator: 'fedhull server KIT'; carry its request to {first}, then you: {here}"
        )
    kind, number = last
    reply = mail.path(kit.name, kind, "reply", number)
    if not reply.is_file():
        return f"you: {here}"
    return (
        f"the coordinator: carry {reply} there, where 'fedhull server KIT' goes on, and the next "
        f"request back; then you: {here}"
    )


def next_after_end(mail: Mail, kit: Kit, error: str | None) -> str:
    """What is left to do when a session has had its last word."""
    if error is not None:
        here = f"server {kit.folder}" if kit.name is None else f"client {kit.folder} --data FILE"
        return (
            f"everybody: the session came to no result; a new one begins with 'fedhull {here} "
            f"--again'"
        )
    number, names = mail.sums, kit.study.clients if kit.name is None else ()
    # after a ballot nobody answers what is published: who has read it is not known here
    left = [
        name
        for name in names
        if mail.path(name, PUBLISH, "request", number).is_file()
        and not mail.path(name, PUBLISH, "reply", number).is_file()
    ]
    if not left:
        return "nobody: the study is complete"
    last = mail.path("SITE", PUBLISH, "request", number)
    return (
        f"{', '.join(left)}, if they have no result yet: carry {last} to each SITE of these, where "
        f"'fedhull client KIT' reads it"
    )


def _last_step(mail: Mail, names: list[str]) -> tuple[str, int] | None:
    """The last step that one of these sites was asked for, and its sum."""
    steps = [(kind, number) for number, steps in enumerate(mail.steps, 1) for kind in steps]
    return next(
        (
            (kind, number)
            for kind, number in reversed(steps)
            if any(mail.path(name, kind, "request", number).is_file() for name in names)
        ),
        None,
    )
