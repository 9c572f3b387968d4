"""All of a study's checks, without sending anything."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedhull.disk import read_bytes, read_text
from fedhull.errors import InvalidInput
from fedhull.kits import ledger
from fedhull.kits.fingerprint import fingerprint
from fedhull.kits.kit import STUDY
from fedhull.kits.provision import complete
from fedhull.protocol.agreement import ABOUT, parse_toml
from fedhull.study.kinds import AnyStudy, study_from_plain, task_of
from fedhull.study.task import Holdings, Source, Task


@dataclass(frozen=True)
class Checkup:
    """A study whose settings work, what would leave a site, and what it should be `careful` about.
    The study of a draft is `open`: without keys, it has no hash yet."""

    study: AnyStudy
    open: bool
    holdings: Holdings | None
    leaves: list[str]
    careful: list[str]


def check_up(study: Path, attached: bytes | None, source: Source | None) -> Checkup:
    """Check a study or its draft, and a site's data, as a session would; InvalidInput where it
    would refuse. `attached` is the content of the file that the study names; in a kit it is
    found."""
    agreed, is_draft, attached = read_study(study, attached)
    careful = _unsaid(agreed)
    if source is None:
        if attached is not None:
            task_of(agreed, attached)
        elif agreed.attached is not None:
            careful.append(f"Not checked: the study also needs {agreed.attachment.words}.")
        return Checkup(agreed, is_draft, None, [], careful)
    task = task_with(agreed, attached)
    holdings = task.read(source)
    careful += [*task.doubts(holdings), *_uploaded_before(task, holdings)]
    return Checkup(agreed, is_draft, holdings, task.what_leaves(holdings), careful)


def read_study(path: Path, attached: bytes | None) -> tuple[AnyStudy, bool, bytes | None]:
    """Read a study: (study, True for a draft, content of the file that it names, from the kit if it
    is in one)."""
    if path.is_dir():
        path = path / STUDY
    text = read_text(path)
    content = parse_toml(text)
    is_draft = "coordinator" not in content
    if not is_draft:
        study = study_from_plain(content)
        beside = path.with_name(study.attachment.file)
        if attached is None and study.attached and beside.is_file():
            attached = read_bytes(beside)
        return study, False, attached
    names_file = "encoder" in content or "embedding" in content
    # a draft can be checked before the file that it names is there
    draft_file = attached if attached is not None or not names_file else b""
    return complete(text, draft_file)[0], True, attached


def task_with(study: AnyStudy, attached: bytes | None) -> Task:
    """The task of a study, given the file that it names."""
    if study.attached is not None and attached is None:
        raise InvalidInput(f"this study needs {study.attachment.words}")
    return task_of(study, attached)


def _unsaid(study: AnyStudy) -> list[str]:
    """Warn about missing explanations, which people will want before they agree."""
    unsaid = ", ".join(key for key in ABOUT if not getattr(study, key))
    return [f"The study does not say its {unsaid}: people will want to know."] if unsaid else []


def _uploaded_before(task: Task, holdings: Any) -> list[str]:
    unknown: dict[str, Any] = dict.fromkeys(("session", "time", "study", "study_hash"), "")
    unknown |= {"kit": "", "file": ""}
    cells = fingerprint(holdings)
    before = ledger.earlier(ledger.Upload(product=task.product, cells=cells, **unknown))
    return [f"A session would refuse: {ledger.refusal(before[-1])}."] if before else []
