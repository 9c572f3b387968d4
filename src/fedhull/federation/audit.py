"""The audit log: one line of JSON for each message, with its size and hash, never its content."""

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal


class AuditLog:
    """Appends to a file; every line is on disk before the message is acted on."""

    def __init__(self, path: Path, study_hash: bytes):
        self.path = path
        self._study = study_hash.hex()

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
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())
