"""`fedhull`: the table of commands, and their errors."""

import io
import json
import sys
from typing import Annotated, Any

import typer
from typer import Option

import fedhull
from fedhull.cli.group import QUIET_HELP, Command, LazyGroup, UsageError
from fedhull.cli.talk import JSON, QUIET, asked_for
from fedhull.errors import FedhullError, InvalidInput, Stopped

COMMANDS = {
    name: Command(f"fedhull.cli.{name}:{name}", words)
    for name, words in {
        "embed": "Place cells, or the nodes of a tree, in the Poincaré disc.",
        "align": "Rotate, mirror and move an embedding to fit another, or a model.",
        "simulate": "Run a federated study on a data set, through the whole protocol.",
        "predict": "Predict the class of each cell in a file, ignoring its labels.",
        "init": "Write a commented draft of a study from a few questions.",
        "check": "Run all of a study's checks locally; send nothing.",
        "plan": "Show what a study would send: coding, bytes, disclosures.",
        "keygen": "Make an identity key: a private file and a public line.",
        "provision": "Make a kit for each participant: study, certificates, keys.",
        "server": "Run a study as its coordinator.",
        "client": "Take part in a study as a site; nothing leaves without consent.",
        "status": "Show a study's current step, next action and results.",
        "learn": "Train again from a kept sum, without a new session.",
        "report": "Write the report page of a result, one HTML file.",
    }.items()
}


class Commands(LazyGroup):
    """The commands of `fedhull` and of other packages."""

    table = COMMANDS
    entry_points = "fedhull.commands"


app = typer.Typer(
    name="fedhull",
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fedhull {fedhull.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        Option(
            "-V",
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
    quiet: Annotated[bool, Option(QUIET, help=QUIET_HELP)] = False,
) -> None:
    """Federated classification of hierarchical data, by secure aggregation of convex hulls."""


def main() -> None:
    """Run a command. An error of ours is one sentence on standard error, with --json also an object
    on standard output, and an exit code of `fedhull.errors`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a question mark for ε and √ on terminals without them
            stream.reconfigure(errors="replace")
    try:
        code = app(prog_name="fedhull", standalone_mode=False)
        if code == Stopped.exit_code:  # Typer's, for Ctrl-C
            raise Stopped("stopped")
    except FedhullError as problem:
        _complain(problem)
    except UsageError as problem:
        _complain_of_usage(problem)
    except (typer.Abort, KeyboardInterrupt):
        _complain(Stopped("stopped"))
    except OSError as problem:
        _complain(InvalidInput(f"{problem.filename or 'a file'}: {problem.strerror or problem}"))
    except Exception:
        # with the exit code of a traceback
        _print_error("InternalError", "something failed that should not; this is a bug", code=1)
        raise
    if code:
        sys.exit(code)


def _complain(problem: FedhullError) -> None:
    from fedhull.cli.console import err  # rich is slow to import
    from fedhull.text import printable

    style = "red" if problem.exit_code in (2, 4) else "yellow"
    err.print(f"fedhull: {printable(problem)}", style=style, soft_wrap=True)
    _print_error(problem.kind, str(problem), problem.exit_code, **problem.details)
    sys.exit(problem.exit_code)


def _complain_of_usage(problem: Any) -> None:
    from typer.rich_utils import rich_format_error

    rich_format_error(problem)
    _print_error("WrongUse", problem.format_message(), problem.exit_code)
    sys.exit(problem.exit_code)


def _print_error(kind: str, message: str, code: int, **details: Any) -> None:
    """With --json, print an error as an object."""
    if asked_for(JSON):
        error = {"kind": kind, "message": message, "exit_code": code} | details
        typer.echo(json.dumps({"error": error}, indent=2))
