"""Whose turn it is in a study over files, by the messages that lie in the mail folder."""

from fedhull.engines.files.mail import Mail
from fedhull.engines.turn import Turn


def turn_of_coordinator(mail: Mail, names: list[str]) -> Turn | None:
    """The last step that sites were asked for, and those whose reply has not arrived."""
    for kind, number in reversed(_all_steps(mail)):
        asked = [name for name in names if mail.path(name, kind, "request", number).is_file()]
        if asked:
            missing = [
                name for name in asked if not mail.path(name, kind, "reply", number).is_file()
            ]
            return Turn(_words(mail, kind, number), missing)
    return None


def turn_of_site(mail: Mail, name: str) -> Turn:
    """The last step that the site was asked for, and whether it or the coordinator is next."""
    for kind, number in reversed(_all_steps(mail)):
        if mail.path(name, kind, "request", number).is_file():
            answered = mail.path(name, kind, "reply", number).is_file()
            return Turn(_words(mail, kind, number), ["coordinator"] if answered else [name])
    return Turn("no request has arrived yet", ["coordinator"])


def _all_steps(mail: Mail) -> list[tuple[str, int]]:
    return [(kind, number) for number, steps in enumerate(mail.steps, 1) for kind in steps]


def _words(mail: Mail, kind: str, number: int) -> str:
    return f"{kind} (step {mail.step_number(kind, number)} of {mail.total})"
