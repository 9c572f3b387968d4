"""`fedhull`: the commands, and what happens when one fails."""

import io
import sys
from typing import Annotated

import typer

import fedhull
from fedhull.cli.group import Entry, LazyGroup
from fedhull.errors import FedhullError, StillWaiting

COMMANDS = {
    "demo": Entry(
        "fedhull.cli.demo:demo",
        "Run a whole study, with hulls and with moments: four sites, one drops out.",
    ),
    "embed": Entry(
        "fedhull.cli.embed:embed",
        "Place cells, or the nodes of a tree, in the Poincaré disc.",
    ),
    "align": Entry(
        "fedhull.cli.align:align",
        "Rotate, mirror and move a whole embedding so that it fits another, or a model.",
    ),
    "simulate": Entry(
        "fedhull.cli.simulate:simulate",
        "Run a federated study on a data set, with every message through the real protocol.",
    ),
    "predict": Entry(
        "fedhull.cli.predict:predict",
        "Predict the class of each point in a file, one per line; a label column is ignored.",
    ),
    "plan": Entry(
        "fedhull.cli.plan:plan",
        "Show what a study would send: how it is coded, bytes, what would leave a site.",
    ),
    "keygen": Entry(
        "fedhull.cli.keygen:keygen",
        "Make an identity key: a private file that stays here, a public line for the study.",
    ),
    "provision": Entry(
        "fedhull.cli.provision:provision",
        "Make one kit for each participant: the study, certificates, keys, a README.",
    ),
    "server": Entry(
        "fedhull.cli.server:server",
        "Run a study as its coordinator, and end when it is done.",
    ),
    "client": Entry(
        "fedhull.cli.client:client",
        "Take part in a study as a site, after seeing what would be sent and agreeing to it.",
    ),
    "learn": Entry(
        "fedhull.cli.learn:learn",
        "Train again from the sum that 'fedhull server' has kept, without a new session.",
    ),
    "report": Entry(
        "fedhull.cli.report:report",
        "Write the report page of a demo, simulation, server or client run: one HTML file.",
    ),
    "reproduce": Entry(
        "fedhull.cli.reproduce:reproduce",
        "Run an experiment from the paper and show its numbers beside ours.",
    ),
    "bench": Entry(
        "fedhull.cli.bench:bench_app",
        "Measure speed against peers, as ratios within one run.",
    ),
}


class Commands(LazyGroup):
    """The commands of `fedhull`."""

    table = COMMANDS


app = typer.Typer(
    name="fedhull",
    cls=Commands,
    help="Federated classification of hierarchical data, by secure aggregation of convex hulls.",
    no_args_is_help=True,
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
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Federated classification of hierarchical data, by secure aggregation of convex hulls."""


def main() -> None:
    """Run a command; an error of ours is one sentence on standard error and exit code 2, or 3 if
    others have to do something first."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # ε and √ on a terminal that has no such letters: better a question mark than no answer
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="fedhull")
    except StillWaiting as news:
        _complain(str(news), code=3, style="yellow")
    except FedhullError as problem:
        _complain(str(problem))
    except OSError as problem:
        _complain(f"{problem.filename or 'a file'}: {problem.strerror}")


def _complain(sentence: str, code: int = 2, style: str = "red") -> None:
    from fedhull.cli.console import err  # rich, which --version and completion do without
    from fedhull.text import printable

    err.print(f"fedhull: {printable(sentence)}", style=style, soft_wrap=True)
    sys.exit(code)
