"""Claims of pages: what is hidden, and what is not protected. They stand in page/claims.toml."""

from fedhull.report.words import prose

TABLES = prose("claims")
_CLAIMS = {name: words for table in TABLES.values() for name, words in table.items()}


def __getattr__(name: str) -> str:
    """The claim of this name."""
    try:
        return _CLAIMS[name]
    except KeyError:
        raise AttributeError(f"no claim is called {name}") from None
