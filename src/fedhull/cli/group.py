"""Commands that are imported when they are called: a mistake or a help page costs little."""

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from fedhull.cli.talk import QUIET, announce

# Click's, or that of the copy of Click in later versions of Typer.
UsageError: Any = typer.BadParameter.__base__
QUIET_HELP = "Print only errors and what was asked for, no progress."


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
        if not name:  # a shell completes an unknown one
            return name, command, rest
        if not ctx.resilient_parsing:
            announce(name)
        return name, _build(name, self.table[name].load()), rest


def _build(name: str, part: Any) -> Any:
    """The command that Typer makes of a function or a sub-app."""
    shell = typer.Typer()
    if isinstance(part, typer.Typer):
        shell.add_typer(part, name=name)
    else:
        shell.command(name)(part)
    made: Any = typer.main.get_group(shell).commands[name]
    for command in [made, *(made.commands.values() if isinstance(made, TyperGroup) else [])]:
        command.params.append(_quiet_option())
    return made


def _quiet_option() -> Any:
    """Taken by every command, so that it may follow the command; `fedhull.cli.talk` looks for it.
    Typer makes it, whose own classes for options differ from version to version."""
    shell = typer.Typer()

    @shell.command()
    def command(quiet: Annotated[bool, typer.Option(QUIET, help=QUIET_HELP)] = False) -> None:
        """Nothing."""

    (made,) = (each for each in typer.main.get_command(shell).params if each.name == "quiet")
    made.expose_value = False
    return made
