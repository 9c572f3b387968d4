"""Commands that are imported when they are called: a mistake or a help page costs little."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from fedhull.cli.talk import QUIET, announce
from fedhull.errors import FedhullError, InvalidInput

if TYPE_CHECKING:
    from fedhull.registry import Registry

# Click's, or that of the copy of Click in later versions of Typer.
UsageError: Any = typer.BadParameter.__base__
QUIET_HELP = "Print only errors and what was asked for, no progress."


class Command(NamedTuple):
    """Where a command is, as "module:name", and the line that `--help` shows for it."""

    place: str
    help: str

    def load(self) -> Any:
        """The function, or the sub-app, that this names."""
        module, name = self.place.split(":")
        return getattr(import_module(module), name)


class Group(TyperGroup):
    """Commands by name; a wrong name gets one suggestion."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Name, command and its arguments; Typer and Click would both add a suggestion."""
        names = self.list_commands(ctx)
        if args[0] not in names and not ctx.resilient_parsing:
            near = get_close_matches(args[0].lower(), names, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """Commands of a table and, after them, those of other packages, under entry points that name
    `Command` objects. Of all but the one that is called, only the name and the help line are known;
    other packages are looked for only where a name is not in the table, or all are listed."""

    table: Mapping[str, Command]
    entry_points: str

    @cached_property
    def _added(self) -> "Registry[Command]":
        # the metadata of all installed packages: --version and fedhull's own commands do without
        from fedhull.registry import Registry

        return Registry("command", self.entry_points)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, those of the table first: no other package can take them."""
        return [*self.table, *(name for name in self._added.names if name not in self.table)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Name and help line only; a command that cannot be loaded says so in its line."""
        try:
            command = self._find(cmd_name)
        except InvalidInput as problem:
            return TyperCommand(cmd_name, help=f"({problem})")
        return None if command is None else TyperCommand(cmd_name, help=command.help)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Name, command and its arguments: to run it, show its own help or complete its options."""
        name = args[0]
        try:
            command = self._find(name)
            if command is None:  # a wrong name, or one that a shell completes
                return super().resolve_command(ctx, args)
            if not ctx.resilient_parsing:
                announce(name)
            return name, self._made(name, command), args[1:]
        except InvalidInput:
            if ctx.resilient_parsing:  # a shell wants words to complete, no complaint
                return super().resolve_command(ctx, args)
            raise

    def _find(self, name: str) -> Command | None:
        """The command of this name, if there is one; InvalidInput if it cannot be loaded."""
        if name in self.table:
            return self.table[name]
        if name not in self._added.names:
            return None
        with _in_words(name):
            command = self._added[name]
            if not isinstance(command, Command):
                raise TypeError(f"its entry point names no Command, but {command!r}")
        return command

    def _made(self, name: str, command: Command) -> Any:
        if name in self.table:
            return _build(name, command.load())
        with _in_words(name):
            return _build(name, command.load())


@contextmanager
def _in_words(name: str) -> Iterator[None]:
    """Whatever is wrong with another package's command becomes a sentence."""
    try:
        yield
    except FedhullError:
        raise
    except (Exception, SystemExit) as problem:
        raise InvalidInput(
            f"the command {name!r}, which another package adds, cannot be loaded: "
            f"{type(problem).__name__}: {problem}"
        ) from problem


def _build(name: str, part: Any) -> Any:
    """The command that Typer makes of a function or a sub-app."""
    shell = typer.Typer()
    if isinstance(part, typer.Typer):
        shell.add_typer(part, name=name, cls=Group)
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
