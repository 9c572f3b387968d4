"""What stands on a file beside what was learned: only whoever writes it knows."""

import hashlib
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, repr=False)
class Stamp:
    """On which day (UTC, as YYYY-MM-DD) and by which version of fedhull a file is written, and the
    content of the file that the study names, if it names one."""

    date: str
    fedhull: str
    attached: bytes | None = None

    @cached_property
    def attached_hash(self) -> str | None:
        """By which a study names the file."""
        return None if self.attached is None else hashlib.sha256(self.attached).hexdigest()
