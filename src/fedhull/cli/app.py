"""`fedhull`: the commands, and what happens when one fails."""

import io
import sys
from typing import Annotated

import typer

import fedhull
from fedhull.cli.align import align
from fedhull.cli.bench import bench_app
from fedhull.cli.console import err
from fedhull.cli.demo import demo
from fedhull.cli.embed import embed
from fedhull.cli.federation import client, provision, server
from fedhull.cli.keygen import keygen
from fedhull.cli.plan import plan
from fedhull.cli.report import report
from fedhull.cli.reproduce import reproduce
from fedhull.cli.simulate import predict, simulate
from fedhull.errors import FedhullError, StillWaiting

app = typer.Typer(
    name="fedhull",
    help="Federated classification of hierarchical data, by secure aggregation of convex hulls.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(embed)
app.command()(align)
app.command()(simulate)
app.command()(predict)
app.command()(plan)
app.command()(keygen)
app.command()(provision)
app.command()(server)
app.command()(client)
app.command()(report)
app.command()(reproduce)
app.add_typer(bench_app, name="bench")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fedhull {fedhull.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print it.")
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
        app()
    except StillWaiting as news:
        _complain(str(news), code=3, style="yellow")
    except FedhullError as problem:
        _complain(str(problem))
    except OSError as problem:
        _complain(f"{problem.filename or 'a file'}: {problem.strerror}")


def _complain(sentence: str, code: int = 2, style: str = "red") -> None:
    err.print(f"fedhull: {sentence}", style=style, markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)
