"""Options for the settings of a study, made of the study's own tables: a setting that is added
there is an option of these commands by itself."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

from typer import Option

from fedhull.study.draft import SETTINGS, default_of, kind_of

# The defaults and descriptions that a command has of its own.
Own = dict[str, tuple[Any, str]]


def with_settings(after: str, own: Own) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator: the command takes each setting of a study as an option, behind the one called
    `after`, and as keyword arguments. Those in `own` have another default, None if the command sees
    to it, and description."""

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        shown = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        place = 1 + next(i for i, p in enumerate(shown) if p.name == after)
        made = [_parameter(name, own) for name in SETTINGS]
        shown = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in (*shown[:place], *made, *shown[place:])
        ]
        command.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in shown}
        return command

    return decorated


def _parameter(name: str, own: Own) -> inspect.Parameter:
    (kind, described), default = kind_of(name), default_of(name)
    if SETTINGS[name][0] == "privacy" and default is not None:
        # a study has this table or not: what is not given must not make it
        default, described = None, f"{described} By default {default}."
    default, described = own.get(name, (default, described))
    flag = f"--{name.replace('_', '-')}"
    names = (f"{flag}/--no{flag[1:]}",) if kind is bool else ()
    hint = kind if default is not None else kind | None
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[hint, Option(*names, help=described)],
    )
