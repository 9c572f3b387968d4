"""Commands imported when they are called, so that a mistake or a help page costs little."""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.utils import get_params_from_function

from fedhull.cli.talk import QUIET, announce
from fedhull.errors import FedhullError, InvalidInput

if TYPE_CHECKING:
    from fedhull.registry import Registry

# Click's, or that of the copy of Click in later versions of Typer.
UsageError: Any = typer.BadParameter.__base__
QUIET_HELP = "Print only results and errors, no progress."


class Command(NamedTuple):
    """A command's place, as "module:name", and its line in `--help`."""

    place: str
    help: str

    def load(self) -> Any:
        """Import the function or sub-app."""
        module, name = self.place.split(":")
        return getattr(import_module(module), name)


class Group(TyperGroup):
    """Commands by name, with one suggestion for a wrong one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Name, command and arguments; fails in our words, as Typer and Click would each add a
        suggestion."""
        names = self.list_commands(ctx)
        if args[0] not in names and not ctx.resilient_parsing:
            near = get_close_matches(args[0].lower(), names, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """Commands of a table and, after them, `Command` objects of other packages' entry points. Only
    the called command is imported; other packages are searched only for a name outside the table,
    or to list all."""

    table: Mapping[str, Command]
    entry_points: str

    @cached_property
    def _added(self) -> "Registry[Command]":
        # slow: reads the metadata of all installed packages
        from fedhull.registry import Registry

        return Registry("command", self.entry_points)

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, the table's first: no other package can take them."""
        return [*self.table, *(name for name in self._added.names if name not in self.table)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Name and help line only; a command that cannot be loaded says so there."""
        try:
            command = self._find(cmd_name)
        except InvalidInput as problem:
            return TyperCommand(cmd_name, help=f"({problem})")
        return None if command is None else TyperCommand(cmd_name, help=command.help)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Name, command and arguments: to run it, show its help or complete its options."""
        name = args[0]
        try:
            command = self._find(name)
            if command is None:  # a wrong name, or half of one
                return super().resolve_command(ctx, args)
            if not ctx.resilient_parsing:
                announce(name)
            return name, self._load(name, command), args[1:]
        except InvalidInput:
            if ctx.resilient_parsing:  # for a shell's completion
                return super().resolve_command(ctx, args)
            raise

    def _find(self, name: str) -> Command | None:
        """Look up a command, None if there is none; InvalidInput if it cannot be loaded."""
        if name in self.table:
            return self.table[name]
        if name not in self._added.names:
            return None
        with _in_words(name):
            command = self._added[name]
            if not isinstance(command, Command):
                raise TypeError(f"its entry point names no Command, but {command!r}")
        return command

    def _load(self, name: str, command: Command) -> Any:
        if name in self.table:
            return _build(name, command.load())
        with _in_words(name):
            return _build(name, command.load())


@contextmanager
def _in_words(name: str) -> Iterator[None]:
    """Turn any failure of another package's command into a sentence."""
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
    """Build Typer's command from a function or a sub-app."""
    shell = typer.Typer()
    if isinstance(part, typer.Typer):
        shell.add_typer(part, name=name, cls=Group)
    else:
        shell.command(name)(part)
    built: Any = typer.main.get_group(shell).commands[name]
    for command in [built, *(built.commands.values() if isinstance(built, TyperGroup) else [])]:
        command.params.append(_quiet_option())
        # Typer breaks the lines of a docstring's later paragraphs where the source does
        paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
        command.help = "\n\n".join(" ".join(each.split()) for each in paragraphs) or None
    if not isinstance(part, typer.Typer):
        # Click 8.5 drops the help that Typer 0.20, which Flower pins, gives to arguments
        for name, parameter in get_params_from_function(part).items():
            for argument in (each for each in built.params if each.name == name):
                argument.help = argument.help or getattr(parameter.default, "help", None)
    return built


def _quiet_option() -> Any:
    """Make the option that every command accepts, for `fedhull.cli.talk`. Typer makes it, as its
    option classes differ from version to version."""
    shell = typer.Typer()

    @shell.command()
    def command(quiet: Annotated[bool, typer.Option(QUIET, help=QUIET_HELP)] = False) -> None:
        """Nothing."""

    (option,) = (each for each in typer.main.get_command(shell).params if each.name == "quiet")
    option.expose_value = False
    return option
