"""A participant's folder: the study, the participant's key, and the results of each run.

KIT/
  study.toml        the same for all participants
  engine.txt        the name of the engine that the kit was made for
  identity.pem      this participant's key, readable by its owner only; or identity.path, which
                    says where its owner keeps it
  mail.path         over files, where messages lie if that is not the folder mail in the kit
  encoder.npz       in a study with an encoder, the encoder that all sites place their cells with
  genes.txt         in an encoder study, the genes that sites may have
  consent.json      what somebody at this site has agreed to send; good for one session
  holdings.bin      what the site would take into that session, readable by its owner only
  logs/             what the engine's own processes say
  results/RUN/      audit.jsonl, status.json, result.json, report.html, and model.json or
                    encoder.npz; while a session runs, its consent.json and holdings.bin, and from
                    the upload until the result is there receipt.bin, readable by its owner only
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path

from fedhull.disk import read_bytes, read_text, write_bytes
from fedhull.errors import BadIdentity, InvalidInput
from fedhull.kits.audit import read_audit
from fedhull.protocol.keys import Identity
from fedhull.study.kinds import AnyStudy, study_from_toml, task_of
from fedhull.study.task import Task

STUDY, RESULTS, LOGS, AUDIT = "study.toml", "results", "logs", "audit.jsonl"
IDENTITY, IDENTITY_ELSEWHERE = "identity.pem", "identity.path"
ENGINE, MAIL_ELSEWHERE = "engine.txt", "mail.path"
_LOCK, _LOOK_SECONDS = ".lock", 0.2


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
                f"{folder} is not a kit: it has no {STUDY}; 'fedhull provision' makes kits"
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
        identity = Identity.from_pem(read_bytes(key_file))
        roster = {public: name for name, public in study.clients.items()}
        if identity.public not in (study.coordinator, *roster):
            raise BadIdentity(
                f"the key in {key_file} is not on the roster of the study {study.name!r}; "
                f"use the key whose public line is in its [clients] table"
            )
        if identity_file is not None:
            # noted, so that other processes of this session find the key where its owner keeps it
            write_bytes(folder / IDENTITY_ELSEWHERE, str(identity_file.resolve()).encode())
        return cls(folder, study, identity, roster.get(identity.public))

    @cached_property
    def task(self) -> Task:
        """What the study asks of its participants, with the encoder in the kit if there is one."""
        return read_task(self.folder, self.study)

    @property
    def engine(self) -> str | None:
        """The name of the engine that the kit was made for, if it says so."""
        path = self.folder / ENGINE
        return read_text(path).strip() if path.is_file() else None

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep a second process from using this kit at the same time."""
        from fedhull.kits.lock import locked  # not on Windows

        # somebody who only looks (`busy`) has the lock for no longer than this
        with locked(self.folder / _LOCK, wait=_LOOK_SECONDS) as free:
            if not free:
                raise InvalidInput(
                    f"{self.folder} is in use: a study with this kit is already running"
                )
            yield

    def check_valid(self) -> None:
        """Raise InvalidInput if the study's last day is over."""
        self.study.check_valid(date.today())

    @property
    def busy(self) -> bool:
        """Whether a process uses this kit."""
        from fedhull.kits.lock import locked  # not on Windows

        if not (self.folder / _LOCK).exists():
            return False
        with locked(self.folder / _LOCK) as free:
            return not free

    def results(self, run: str) -> Path:
        """The folder for what comes of a run."""
        folder = self.folder / RESULTS / run
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def log(self, name: str) -> Path:
        """Where an engine's own processes log."""
        folder = self.folder / LOGS
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder / f"{name}.log"

    @property
    def has_uploaded(self) -> bool:
        """Whether an audit log in this kit shows an upload of this study."""
        return any(
            entry.is_upload and entry.study == self.study.hash.hex()
            for log in (self.folder / RESULTS).glob(f"*/{AUDIT}")
            for entry in read_audit(log)
        )


def read_task(folder: Path, study: AnyStudy) -> Task:
    """The task of a study, with the file that its kit holds if it names one."""
    return task_of(study, read_attached(folder, study))


def read_attached(folder: Path, study: AnyStudy) -> bytes | None:
    """The content of the file that a study names, if it names one."""
    if study.attached is None:
        return None
    path = folder / study.attachment.file
    if not path.is_file():
        raise InvalidInput(
            f"{path} is missing: the study names it, and 'fedhull provision' puts it into every kit"
        )
    return read_bytes(path)
