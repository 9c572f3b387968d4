"""Whether a command talks while it works, known before anything that is slow is imported."""

import sys

import typer

from fedhull.text import printable

JSON, QUIET = "--json", "--quiet"
_HELP = {"-h", "--help"}


def asked_for(*options: str) -> bool:
    """Whether one of these options is among the words that `fedhull` was called with."""
    words = sys.argv[1:]
    return not set(options).isdisjoint(words[: words.index("--")] if "--" in words else words)


def silent() -> bool:
    """Whether nothing but errors and what was asked for is to be printed."""
    return asked_for(JSON, QUIET)


def announce(command: str) -> None:
    """Say at once, on a terminal, that a command has been understood: what it needs may take
    seconds to import."""
    if sys.stderr.isatty() and not silent() and not asked_for(*_HELP):
        typer.echo(printable(f"Starting fedhull {command} …"), err=True)
