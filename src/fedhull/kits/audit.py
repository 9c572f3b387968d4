"""The audit log: one line of JSON for each message, with its size and hash, never its content."""

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal


class AuditLog:
    """Appends to a file; every line is on disk before the message is acted on. A session that is
    taken up again does not note its earlier messages a second time."""

    def __init__(self, path: Path, study_hash: bytes):
        self.path = path
        self._study = study_hash.hex()
        lines = path.read_text().splitlines() if path.exists() else []
        self._noted = {_key(json.loads(line)) for line in lines}

    def record(
        self, direction: Literal["sent", "received"], step: str, message: bytes, peer: str
    ) -> None:
        """Note a message that is about to be sent or has been received."""
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "study": self._study,
            "peer": peer,
            "direction": direction,
            "step": step,
            "bytes": len(message),
            "sha256": hashlib.sha256(message).hexdigest(),
        }
        if _key(line) in self._noted:
            return
        self._noted.add(_key(line))
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def total(self, direction: Literal["sent", "received"]) -> int:
        """How many bytes have been noted."""
        lines = [json.loads(line) for line in self.path.read_text().splitlines()]
        return sum(line["bytes"] for line in lines if line["direction"] == direction)


def _key(line: dict[str, Any]) -> tuple[Any, ...]:
    return line["peer"], line["direction"], line["step"], line["sha256"]
