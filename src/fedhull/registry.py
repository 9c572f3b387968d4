"""Parts that people choose by name: classifiers, groupings, guards, embedders, engines, …

Every kind has one registry. It is filled by entry points of the group ``fedhull.KIND``, fedhull's
own parts and those of any other installed package alike, so that a stranger adds a part without
touching fedhull (docs/extending.md). A part is imported when it is first used. Wherever a name is
taken, a Python caller may pass the object itself.
"""

from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from fedhull.errors import InvalidInput
from fedhull.text import did_you_mean, shortened

T = TypeVar("T")


class Registry(Generic[T]):
    """The parts of one kind, for instance "classifier", by name."""

    def __init__(self, kind: str, group: str):
        self.kind = kind
        self.group = group

    @cached_property
    def _entries(self) -> dict[str, EntryPoint]:
        entries = entry_points(group=self.group)
        # fedhull's own parts come last: no other package can put itself in their place unseen
        return {entry.name: entry for entry in sorted(entries, key=_is_own)}

    @property
    def names(self) -> list[str]:
        """All names that can be chosen, in alphabetical order."""
        return sorted(self._entries)

    def check(self, part: "str | T") -> "str | T":
        """The name, if a part has it, or the object that was passed instead of a name; otherwise an
        error that lists the names. Nothing is imported for it."""
        plain = isinstance(part, str | int | float | list | dict | None)
        if plain and part not in self.names:
            raise InvalidInput(
                f"{self.kind} must be one of {', '.join(self.names)}, got {shortened(part)}"
                f"{did_you_mean(part, self.names)}"
            )
        return part

    def __getitem__(self, name: str) -> T:
        """The part of this name."""
        self.check(name)
        part: T = self._entries[name].load()
        return part

    def source(self, name: str) -> str:
        """The package that a part comes from, with its version; empty for fedhull's own."""
        entry = self._entries[name]
        return (
            ""
            if entry.dist is None or _is_own(entry)
            else f"{entry.dist.name} {entry.dist.version}"
        )

    def resolve(self, part: "str | T") -> T:
        """The part of this name, or the part itself if it was passed instead of a name."""
        return self[part] if isinstance(part, str) else self.check(part)  # type: ignore[return-value]


def name_of(part: Any) -> str:
    """A part's name in a study or on a page, or the repr of an object passed instead of a name."""
    return part if isinstance(part, str) else repr(part)


def _is_own(entry: EntryPoint) -> bool:
    return entry.dist is not None and entry.dist.name == "fedhull"
