"""A participant's folder.

KIT/
  study.toml        the study, the same for all participants
  engine.txt        the engine's name
  identity.pem      this participant's key, private; or identity.path, which says where it is kept
  mail.path         over files, where messages lie if not in mail/
  encoder.npz       the encoder, in a study that has one
  genes.txt         the genes that sites may have, in a study that makes an encoder
  consent.json      consent to one session
  holdings.bin      what the site would take into that session, private
  logs/             logs of the engine's own processes
  results/RUN/      audit.jsonl, status.json, result.json, report.html, model.json or encoder.npz;
                    during a session consent.json and holdings.bin, and between upload and result
                    receipt.bin, private
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
from fedhull.kits.files import locked
from fedhull.protocol.keys import Identity
from fedhull.study.kinds import AnyStudy, study_from_toml, task_of
from fedhull.study.task import Task

STUDY, RESULTS, LOGS, AUDIT = "study.toml", "results", "logs", "audit.jsonl"
IDENTITY, IDENTITY_ELSEWHERE = "identity.pem", "identity.path"
ENGINE, MAIL_ELSEWHERE = "engine.txt", "mail.path"
_LOCK, _LOOK_SECONDS = ".lock", 0.2
_CODE = {".py", ".pyc", ".pyd", ".pth", ".so", ".dylib", ".dll"}
# Read from the working directory. Numba's may name a folder of compiled functions, whose loading
# runs code.
_SETTINGS_OF_LIBRARIES = {".numba_config.yaml", "matplotlibrc"}


@dataclass(frozen=True)
class Kit:
    """An opened kit; `name` is the participant's, None for the coordinator."""

    folder: Path
    study: AnyStudy
    identity: Identity
    name: str | None

    @classmethod
    def open(cls, folder: str | Path, identity_file: Path | None = None) -> "Kit":
        """Open the kit in a folder; its key says whose it is."""
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
            # noted for the other processes of this session
            write_bytes(folder / IDENTITY_ELSEWHERE, str(identity_file.resolve()).encode())
        return cls(folder, study, identity, roster.get(identity.public))

    @cached_property
    def task(self) -> Task:
        """The task of the study, with the attached file if there is one."""
        return read_task(self.folder, self.study)

    @property
    def engine(self) -> str | None:
        """Name of the engine that the kit was made for, if it says so."""
        path = self.folder / ENGINE
        return read_text(path).strip() if path.is_file() else None

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep other processes from using this kit."""
        # `busy` holds the lock for less than this
        with locked(self.folder / _LOCK, wait=_LOOK_SECONDS) as free:
            if not free:
                raise InvalidInput(
                    f"{self.folder} is in use: a study with this kit is already running"
                )
            yield

    def check_valid(self) -> None:
        """Refuse a study whose last day is over."""
        self.study.check_valid(date.today())

    @property
    def busy(self) -> bool:
        """True while a process uses this kit."""
        if not (self.folder / _LOCK).exists():
            return False
        with locked(self.folder / _LOCK) as free:
            return not free

    def results(self, run: str) -> Path:
        """Make the folder of a run."""
        folder = self.folder / RESULTS / run
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def log(self, name: str) -> Path:
        """Log file of an engine's own processes."""
        folder = self.folder / LOGS
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder / f"{name}.log"

    @property
    def has_uploaded(self) -> bool:
        """True if an audit log in this kit shows an upload of this study."""
        return any(
            entry.is_upload and entry.study == self.study.hash.hex()
            for log in (self.folder / RESULTS).glob(f"*/{AUDIT}")
            for entry in read_audit(log)
        )


def read_task(folder: Path, study: AnyStudy) -> Task:
    """The task of a study, with its attached file if it names one."""
    return task_of(study, read_attached(folder, study))


def read_attached(folder: Path, study: AnyStudy) -> bytes | None:
    """Content of the file that a study names, if it names one."""
    if study.attached is None:
        return None
    path = folder / study.attachment.file
    if not path.is_file():
        raise InvalidInput(
            f"{path} is missing: the study names it, and 'fedhull provision' puts it into every kit"
        )
    return read_bytes(path)


def refuse_code(folder: Path) -> None:
    """Refuse a kit that holds code, or settings that a library would read: kits come from somebody
    else, and people start `fedhull` in them."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if (
            path.suffix in _CODE
            or path.name in _SETTINGS_OF_LIBRARIES
            or (path / "__init__.py").exists()
        ):
            raise not_part_of_a_kit(path)


def not_part_of_a_kit(path: Path) -> InvalidInput:
    """The error about an unknown file."""
    return InvalidInput(
        f"{path} is not part of a kit: fedhull runs nothing from a kit and accepts no files in it "
        f"that it does not know; move it away, and ask where it comes from"
    )
