"""`fedhull`: the commands, and what happens when one fails."""

import io
import json
import sys
from typing import Annotated, Any

import typer

import fedhull
from fedhull.cli.group import QUIET_HELP, Command, LazyGroup, UsageError
from fedhull.cli.talk import JSON, QUIET, asked_for
from fedhull.errors import FedhullError, InvalidInput, Stopped

COMMANDS = {
    "demo": Command(
        "fedhull.cli.demo:demo",
        "Run a whole study, with hulls and with moments: four sites, one drops out.",
    ),
    "embed": Command(
        "fedhull.cli.embed:embed",
        "Place cells, or the nodes of a tree, in the Poincaré disc.",
    ),
    "align": Command(
        "fedhull.cli.align:align",
        "Rotate, mirror and move a whole embedding so that it fits another, or a model.",
    ),
    "simulate": Command(
        "fedhull.cli.simulate:simulate",
        "Run a federated study on a data set, with every message through the real protocol.",
    ),
    "predict": Command(
        "fedhull.cli.predict:predict",
        "Predict the class of each cell in a file; a label column is ignored.",
    ),
    "init": Command(
        "fedhull.cli.init:init",
        "Write a commented draft of a study, from a few questions.",
    ),
    "check": Command(
        "fedhull.cli.check:check",
        "Try everything that a session would refuse, on this machine, and send nothing.",
    ),
    "plan": Command(
        "fedhull.cli.plan:plan",
        "Show what a study would send: how it is coded, bytes, what would leave a site.",
    ),
    "keygen": Command(
        "fedhull.cli.keygen:keygen",
        "Make an identity key: a private file that stays here, a public line for the study.",
    ),
    "provision": Command(
        "fedhull.cli.provision:provision",
        "Make one kit for each participant: the study, certificates, keys, a README.",
    ),
    "server": Command(
        "fedhull.cli.server:server",
        "Run a study as its coordinator, and end when it is done.",
    ),
    "client": Command(
        "fedhull.cli.client:client",
        "Take part in a study as a site, after seeing what would be sent and agreeing to it.",
    ),
    "status": Command(
        "fedhull.cli.status:status",
        "Show where a study stands: its step, who has to act next and how, results.",
    ),
    "learn": Command(
        "fedhull.cli.learn:learn",
        "Train again from the sum that 'fedhull server' has kept, without a new session.",
    ),
    "report": Command(
        "fedhull.cli.report:report",
        "Write the report page of a demo, simulation, server or client run: one HTML file.",
    ),
}


class Commands(LazyGroup):
    """The commands of `fedhull`: its own, and those that other packages add."""

    table = COMMANDS
    entry_points = "fedhull.commands"


app = typer.Typer(
    name="fedhull",
    cls=Commands,
    help="Federated classification of hierarchical data, by secure aggregation of convex hulls.",
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
        typer.Option(
            "-V",
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option(QUIET, help=QUIET_HELP)] = False,
) -> None:
    """Federated classification of hierarchical data, by secure aggregation of convex hulls."""


def main() -> None:
    """Run a command. An error of ours is one sentence on standard error, with --json also an object
    on standard output, and an exit code that says whose turn it is (`fedhull.errors`)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # ε and √ on a terminal that has no such letters: better a question mark than no answer
            stream.reconfigure(errors="replace")
    try:
        code = app(prog_name="fedhull", standalone_mode=False)
        if code == Stopped.exit_code:  # what Typer makes of Ctrl-C
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
        _print_error("InternalError", "something failed that should not; this is a bug", _BUG)
        raise
    if code:
        sys.exit(code)


_BUG = 1  # the exit code of a traceback


def _complain(problem: FedhullError) -> None:
    from fedhull.cli.console import err  # rich, which --version and completion do without
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
    """With --json, an error is an object like any other result."""
    if asked_for(JSON):
        error = {"kind": kind, "message": message, "exit_code": code} | details
        typer.echo(json.dumps({"error": error}, indent=2))
