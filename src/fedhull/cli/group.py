"""Commands that are imported when they are called: a mistake or a help page costs little."""

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup


class Entry(NamedTuple):
    """Where a command is, as "module:name", and the line that `--help` shows for it."""

    place: str
    help: str

    def load(self) -> Any:
        """The function, or the sub-app, that this entry names."""
        module, name = self.place.split(":")
        return getattr(import_module(module), name)


class Group(TyperGroup):
    """Commands by name; a wrong name gets one suggestion."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Name, command and its arguments; Typer and Click would both add a suggestion."""
        if args[0] not in self.commands and not ctx.resilient_parsing:
            near = get_close_matches(args[0].lower(), self.commands, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """Commands of a table; of all but the one that is called, only the name and the help line are
    known."""

    table: Mapping[str, Entry]

    def __init__(self, **settings: Any):
        super().__init__(**settings)
        self.commands = {
            name: TyperCommand(name, help=entry.help) for name, entry in self.table.items()
        }

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Name, command and its arguments: to run it, show its own help or complete its options."""
        name, command, rest = super().resolve_command(ctx, args)
        # while a shell completes an unknown name, there is none
        return name, _build(name, self.table[name].load()) if name else command, rest


def _build(name: str, part: Any) -> Any:
    """The command that Typer makes of a function or a sub-app."""
    shell = typer.Typer()
    if isinstance(part, typer.Typer):
        shell.add_typer(part, name=name)
    else:
        shell.command(name)(part)
    return typer.main.get_group(shell).commands[name]
