"""The next move in a study over files, by the messages in the mail folder."""

from fedhull.engines.files.mail import COORDINATOR, Mail
from fedhull.engines.following import Turn
from fedhull.errors import StillWaiting
from fedhull.kits.kit import Kit
from fedhull.protocol.drive import PUBLISH, STEPS


def turn_of_coordinator(mail: Mail, names: list[str]) -> Turn | None:
    """The last step that sites were asked for, and the missing replies."""
    last = _last_step(mail, names)
    if last is None:
        return None
    missing = [name for name in names if _unanswered(mail, name, *last)]
    return Turn(mail.describe(*last), missing)


def turn_of_site(mail: Mail, name: str) -> Turn:
    """The last step that the site was asked for, and who is next."""
    last = _last_step(mail, [name])
    if last is None:
        return Turn("no request has arrived yet", [COORDINATOR])
    waiting_for = name if _unanswered(mail, name, *last) else COORDINATOR
    return Turn(mail.describe(*last), [waiting_for])


def next_of_coordinator(mail: Mail, kit: Kit, turn: Turn | None) -> str:
    """The next move of a study, seen from the coordinator."""
    here = f"'fedhull server {kit.folder}'"
    last = _last_step(mail, list(kit.study.clients))
    if turn is None or last is None or not turn.missing:
        return f"you: {here}"
    request = mail.path("SITE", last[0], "request", last[1])
    return (
        f"{', '.join(turn.missing)}: carry {request} to each SITE of these, where 'fedhull client "
        f"KIT' answers it, and the reply back; then you: {here}"
    )


def next_of_site(mail: Mail, kit: Kit, session_open: bool) -> str:
    """The next move of a study, seen from a site; its first call names the data."""
    assert kit.name is not None
    here = f"'fedhull client {kit.folder}{'' if session_open else ' --data FILE'}'"
    last = _last_step(mail, [kit.name])
    if last is None:
        first = mail.path(kit.name, STEPS[0], "request")
        return (
            f"the coordinator: 'fedhull server KIT'; carry its request to {first}, then you: {here}"
        )
    if _unanswered(mail, kit.name, *last):
        return f"you: {here}"
    reply = mail.path(kit.name, last[0], "reply", last[1])
    return (
        f"the coordinator: carry {reply} there, where 'fedhull server KIT' goes on, and the next "
        f"request back; then you: {here}"
    )


def next_after_end(mail: Mail, kit: Kit, error: str | None) -> str:
    """The last moves of a session that has ended."""
    if error is not None:
        here = f"server {kit.folder}" if kit.name is None else f"client {kit.folder} --data FILE"
        return (
            f"everybody: the session came to no result; a new one begins with 'fedhull {here} "
            f"--again'"
        )
    number, names = len(mail.steps), kit.study.clients if kit.name is None else ()
    # after a ballot, no site answers the publication: perhaps all have read it
    left = [name for name in names if _unanswered(mail, name, PUBLISH, number)]
    if not left:
        return "nobody: the study is complete"
    return (
        f"{', '.join(left)}, if they have no result yet: carry "
        f"{mail.path('SITE', PUBLISH, 'request', number)} to each SITE of these, where 'fedhull "
        f"client KIT' reads it"
    )


def not_asked(mail: Mail, kit: Kit) -> StillWaiting:
    """No session has begun: there is nothing yet to agree to."""
    assert kit.name is not None
    request = mail.path(kit.name, STEPS[0], "request")
    return _waiting(
        f"waiting for the coordinator's first request, which will be {request}; run this again "
        f"when it is there. Meanwhile 'fedhull check {kit.folder} --data FILE' tries your data",
        mail,
        (STEPS[0], 1),
        mail.to_carry(kit.name, STEPS[0], "request"),
    )


def not_arrived(mail: Mail, name: str, kind: str, number: int) -> StillWaiting:
    """The site has answered all requests."""
    request = mail.to_carry(name, kind, "request", number)
    return _waiting(
        f"waiting for the coordinator's next request, {mail.describe(kind, number)}: "
        f"{request['file']} has not arrived yet; run this again when it is there",
        mail,
        (kind, number),
        request,
    )


def answered(mail: Mail, name: str, kind: str, number: int) -> StillWaiting:
    """The site has just answered."""
    steps = mail.steps[number - 1]
    following = steps[steps.index(kind) + 1]  # no reply to the last step is waited for
    reply = mail.to_carry(name, kind, "reply", number)
    request = mail.to_carry(name, following, "request", number)
    return _waiting(
        f"carry {reply['file']} to the coordinator, and run this again when the next request, "
        f"{request['file']}, is there",
        mail,
        (kind, number),
        reply,
        request,
    )


def not_published(mail: Mail, name: str) -> StillWaiting:
    """The last round has no publication yet."""
    request = mail.to_carry(name, PUBLISH, "request", len(mail.steps))
    return _waiting(
        f"nothing has been published yet: {request['file']} has not arrived",
        mail,
        (PUBLISH, len(mail.steps)),
        request,
    )


def _waiting(
    words: str, mail: Mail, step: tuple[str, int], *to_carry: dict[str, str]
) -> StillWaiting:
    return StillWaiting(words, mail.describe(*step), [COORDINATOR], list(to_carry))


def _unanswered(mail: Mail, name: str, kind: str, number: int) -> bool:
    request, reply = (mail.path(name, kind, what, number) for what in ("request", "reply"))
    return request.is_file() and not reply.is_file()


def _last_step(mail: Mail, names: list[str]) -> tuple[str, int] | None:
    """The last step, and its round, that one of these sites was asked for."""
    steps = [(kind, number) for number, steps in enumerate(mail.steps, 1) for kind in steps]
    asked = (
        (kind, number)
        for kind, number in reversed(steps)
        if any(mail.path(name, kind, "request", number).is_file() for name in names)
    )
    return next(asked, None)
