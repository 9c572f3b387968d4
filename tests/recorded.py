"""Studies whose every random choice is fixed, and what they published, learned and wrote.

    python tests/recorded.py

records them anew beside this file, under fixtures/recorded. What is recorded there was made before
studies became lists of rounds; `tests/study/test_recorded.py` holds that nothing has changed since.
"""

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from parties import identity

from fedhull.data.generated import make_tree
from fedhull.protocol.drive import MemoryEngine
from fedhull.protocol.keys import Randomness
from fedhull.protocol.messages import published_content
from fedhull.rounds.run import PUBLICATION, run_study
from fedhull.study.kinds import study_from_toml, task_of
from fedhull.study.task import Source

RECORDED = Path(__file__).parent / "fixtures" / "recorded"
NAMES = ["lab-a", "lab-b", "lab-c", "lab-d"]
_AGREED = ["lineage-1", "lineage-2", "lineage-3", "lineage-4", "lineage-5", "stem"]
_ENCODER = """
[encoder]
genes = "{genes}"
n_genes = 20
n_components = 5
"""
_CLASSES = "[geometry]\nepsilon = 0.1\nradius = 0.98\n[labels]\nclasses = 6\n"
# {name: (tables of the study, who vanishes at which step)}
STUDIES = {
    "hulls": (_CLASSES, {}),
    "hulls, aligned": (_CLASSES + "[learning]\nalign = 1\n", {}),
    "hulls, agreed": (_CLASSES + f"[classes]\nnames = {json.dumps(_AGREED)}\n", {}),
    "moments": (_CLASSES + '[learning]\nsummary = "moments"\nfeatures = 24\n', {}),
    "moments, one drops out": (
        _CLASSES + '[learning]\nsummary = "moments"\nfeatures = 24\n',
        {"2/upload": ["lab-c"]},
    ),
    "moments, unaligned": (
        _CLASSES + '[learning]\nsummary = "moments"\nfeatures = 24\nalign = 0\nballot = false\n',
        {},
    ),
    "moments, agreed": (
        _CLASSES
        + '[learning]\nsummary = "moments"\nfeatures = 24\n'
        + f"[classes]\nnames = {json.dumps(_AGREED)}\n",
        {},
    ),
    "moments, private": (
        _CLASSES + '[learning]\nsummary = "moments"\nfeatures = 16\n[privacy]\nepsilon = 100.0\n',
        {},
    ),
    "encoder": (_ENCODER, {}),
    "encoder, one drops out": (_ENCODER + 'correction = "centre"\n', {"2/upload": ["lab-b"]}),
}


def run(name: str) -> dict:
    """What a recorded study publishes, learns and says, by memory."""
    tables, vanish = STUDIES[name]
    with tempfile.TemporaryDirectory() as folder:
        files, attached = _data(Path(folder), encoder="encoder" in tables)
        if attached is not None:
            tables = tables.format(genes=hashlib.sha256(attached).hexdigest())
        study = study_from_toml(_head() + tables + _roster())
        task = task_of(study, attached)
        sites = {
            site: task.site(
                site,
                identity(site),
                task.read(Source(str(file))),
                Randomness(hashlib.sha256(site.encode()).digest()),
            )
            for site, file in files.items()
        }
    published = []

    def keep(kind: str, content: bytes) -> None:
        if kind == PUBLICATION:
            published.append(published_content(content, study))

    engine = MemoryEngine(sites.values(), vanish)
    outcome = run_study(task.coordinator(), engine, identity("coordinator"), keep=keep)
    gone = {site for names in vanish.values() for site in names}
    plain = {
        "published": [raw.hex() for raw in published],
        "files": _plain_files(outcome.files()),
        "result": _plain_result(outcome.to_json()),
        "sites": {
            site: {"files": _plain_files(each.files()), "result": _plain_result(each.result())}
            for site, each in sites.items()
            if site not in gone
        },
    }
    return json.loads(json.dumps(plain))


def _data(folder: Path, encoder: bool):
    if encoder:
        from frames import GENES, make_cells

        files = {}
        for i, site in enumerate(NAMES):
            cells = make_cells(60 + 10 * i, i)
            files[site] = folder / f"{site}.npz"
            np.savez(files[site], x=cells.x, genes=np.array(cells.genes))
        return files, ("\n".join(GENES) + "\n").encode()
    data = make_tree(400 * len(NAMES), batches=len(NAMES), seed=1)
    files = {site: folder / f"{site}.npz" for site in NAMES}
    for i, file in enumerate(files.values()):
        np.savez(file, x=data.x[data.batch == i], y=data.y[data.batch == i])
    return files, None


def _head() -> str:
    return f'name = "recorded"\ncoordinator = "{identity("coordinator").public}"\n'


def _roster() -> str:
    lines = [f'{name} = "{identity(name).public}"' for name in NAMES]
    return "\n".join(["[protocol]\nthreshold = 3\n[clients]", *lines]) + "\n"


def _plain_files(files: dict[str, bytes]) -> dict:
    """Models as JSON, other files by their hash."""
    return {
        name: json.loads(raw) if name.endswith(".json") else hashlib.sha256(raw).hexdigest()
        for name, raw in files.items()
    }


def plain_kit(results: Path) -> dict:
    """What a run has left in a kit, without what differs from run to run."""
    plain = {}
    for name in ("model.json", "result.json"):
        content = json.loads((results / name).read_text())
        content.pop("report", None)
        content.pop("provenance", None)
        if name == "model.json":
            content.pop("study", None)  # a hash of fresh keys
        plain[name] = _plain_result(content)
    return plain


def _plain_result(result: dict) -> dict:
    varying = ("seconds", "study_hash", "bytes_up", "bytes_down")
    return {key: value for key, value in result.items() if key not in varying}


def by_files(folder: Path) -> dict:
    """What a study of moments leaves in kits when its messages travel as files."""
    from by_mail import MailStudy
    from federations import ALIGNED

    study = MailStudy(folder, extra=ALIGNED)
    study.finish()
    return {name: plain_kit(study.results(name)) for name in ("server", "lab-a")}


def by_flare(folder: Path) -> dict:
    """The same when NVIDIA FLARE moves them."""
    from federations import ALIGNED, Federation, ended

    federation = Federation(folder, 3, extra=f"{ALIGNED}\n[protocol]\nthreshold = 3")
    server = federation.server("--json")
    for process in [server, *map(federation.client, federation.names)]:
        code, _, errors = ended(process)
        assert code == 0, errors
    return {name: plain_kit(federation.results(name)) for name in ("server", "lab-a")}


def path_of(name: str) -> Path:
    """Where a study is recorded."""
    return RECORDED / f"{name.replace(', ', '-').replace(' ', '-')}.json"


def differences(new, old, where: str = "") -> list[str]:
    """Where two results differ by more than the last bits of a processor's arithmetic."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        return [line for key in old for line in differences(new[key], old[key], f"{where}/{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(new, old, strict=True))
        return [line for i, pair in pairs for line in differences(*pair, f"{where}/{i}")]
    if isinstance(old, float) and isinstance(new, float | int):
        return [] if np.isclose(new, old, rtol=1e-6, atol=1e-9) else [f"{where}: {new} ≠ {old}"]
    return [] if new == old else [f"{where}: {new!r:.200} ≠ {old!r:.200}"]


def main() -> None:
    """Record all of them; with --check, say what differs, to the last bit."""
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    RECORDED.mkdir(parents=True, exist_ok=True)
    for name in [*STUDIES, "files", "flare"]:
        if name in STUDIES:
            found = run(name)
        else:
            with tempfile.TemporaryDirectory() as folder:
                found = {"files": by_files, "flare": by_flare}[name](Path(folder))
        if "--check" in sys.argv:
            same = found == json.loads(path_of(name).read_text())
            sys.stdout.write(f"{name}: {'the same to the last bit' if same else 'DIFFERENT'}\n")
            for line in differences(found, json.loads(path_of(name).read_text()))[:10]:
                sys.stdout.write(f"    {line}\n")
        else:
            path_of(name).write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
            sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()
