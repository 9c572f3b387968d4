"""A participant's folder: the study, the participant's key, and what came of each run.

KIT/
  study.toml        the same for all participants
  identity.pem      this participant's key, readable by its owner only; or identity.path, which
                    says where its owner keeps it
  start.npz         in an encoder study, the encoder that all participants start from
  consent.json      what somebody at this site has agreed to send; good for one session
  results/RUN/      audit.jsonl, status.json, model.json, result.json, report.html; in an
                    encoder study encoder.npz and report.md for model.json and report.html
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedhull.errors import BadIdentity, InvalidInput
from fedhull.protocol.encoder_study import AnyStudy, study_from_toml
from fedhull.protocol.keys import Identity

STUDY, CONSENT, RESULTS = "study.toml", "consent.json", "results"
IDENTITY, IDENTITY_ELSEWHERE = "identity.pem", "identity.path"
AUDIT, STATUS = "audit.jsonl", "status.json"
MODEL, RESULT, REPORT = "model.json", "result.json", "report.html"
START, ENCODER, ENCODER_REPORT = "start.npz", "encoder.npz", "report.md"


@dataclass(frozen=True)
class Kit:
    """An opened kit. `name` is the participant's name on the roster, None for the coordinator."""

    folder: Path
    study: AnyStudy
    identity: Identity
    name: str | None

    @classmethod
    def open(cls, folder: str | Path, identity_file: Path | None = None) -> "Kit":
        """The kit in a folder; whose it is follows from its key."""
        folder = Path(folder).resolve()
        if not (folder / STUDY).is_file():
            raise InvalidInput(
                f"{folder} is no kit: it has no {STUDY}; 'fedhull provision' makes kits"
            )
        study = study_from_toml(read_text(folder / STUDY))
        key_file = identity_file or folder / IDENTITY
        if identity_file is None and (folder / IDENTITY_ELSEWHERE).is_file():
            key_file = Path(read_text(folder / IDENTITY_ELSEWHERE))
        if not key_file.is_file():
            raise InvalidInput(
                f"{key_file} does not exist; put the key that 'fedhull keygen' made there, or name "
                f"it with --identity"
            )
        identity = Identity.from_pem(key_file.read_bytes())
        roster = {public: name for name, public in study.clients.items()}
        if identity.public not in (study.coordinator, *roster):
            raise BadIdentity(
                f"the key in {key_file} is nobody's on the roster of the study {study.name!r}; "
                f"use the key whose public line is in its [clients] table"
            )
        if identity_file is not None:
            # noted, so that other processes of this session find the key where its owner keeps it
            write_bytes(folder / IDENTITY_ELSEWHERE, str(identity_file.resolve()).encode())
        return cls(folder, study, identity, roster.get(identity.public))

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep a second process from using this kit at the same time."""
        with (self.folder / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InvalidInput(
                    f"{self.folder} is in use: a study with this kit is already running"
                ) from None
            yield

    def results(self, run: str) -> Path:
        """The folder for what comes of a run."""
        folder = self.folder / RESULTS / run
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def has_uploaded(self) -> bool:
        """Whether an audit log in this kit shows an upload of this study."""
        upload = {"study": self.study.hash.hex(), "step": "upload", "direction": "sent"}
        return any(
            upload.items() <= json.loads(line).items()
            for log in (self.folder / RESULTS).glob(f"*/{AUDIT}")
            for line in read_text(log).splitlines()
        )


def read_text(path: Path) -> str:
    """The text of a file, or a sentence about why there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not text"
        raise InvalidInput(f"{path} cannot be read: {reason}") from None


def read_bytes(path: Path) -> bytes:
    """The content of a file, or a sentence about why there is none."""
    try:
        return path.read_bytes()
    except OSError as problem:
        raise InvalidInput(f"{path} cannot be read: {problem.strerror}") from None


def write_json(path: Path, content: Mapping[str, Any], mode: int = 0o644) -> None:
    """Write a JSON file in one go: whoever reads it finds all of it or nothing."""
    write_bytes(path, (json.dumps(content, indent=1) + "\n").encode(), mode)


def write_bytes(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file in one go."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
