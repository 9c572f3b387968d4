"""Output settings, known before any slow import."""

import sys

import typer

from fedhull.text import printable

JSON, QUIET = "--json", "--quiet"
_HELP = {"-h", "--help"}


def asked_for(*options: str) -> bool:
    """True if one of these options is among the arguments of `fedhull`."""
    words = sys.argv[1:]
    return not set(options).isdisjoint(words[: words.index("--")] if "--" in words else words)


def silent() -> bool:
    """True if only errors and results are to be printed."""
    return asked_for(JSON, QUIET)


def announce(command: str) -> None:
    """Confirm a command at once, on a terminal: its imports may take seconds."""
    if sys.stderr.isatty() and not silent() and not asked_for(*_HELP):
        typer.echo(printable(f"Starting fedhull {command} …"), err=True)
