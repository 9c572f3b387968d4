"""Whatever happens to a file in a kit, whoever reads it soon gets an answer or an error of ours."""

import random
import shutil
from contextlib import suppress
from time import perf_counter

import pytest
from conformance import agree
from federations import draft, make_data
from restarting import Restarting
from strategies import swept

from fedhull.cli.engine import read_result
from fedhull.engines.base import Options
from fedhull.engines.files.mail import unwrap
from fedhull.engines.files.runner import RUNNER as FILES
from fedhull.engines.following import new_lines, say_sent
from fedhull.errors import FedhullError, StillWaiting
from fedhull.kits import consent, ledger
from fedhull.kits.audit import AuditLog
from fedhull.kits.fetch import take_late
from fedhull.kits.files import read_checked
from fedhull.kits.journal import Journal
from fedhull.kits.kit import Kit
from fedhull.kits.participant import coordinate
from fedhull.kits.provision import make_kits
from fedhull.kits.results import read_status, write_report

NAMES = ["lab-a", "lab-b", "lab-c"]
MUTATIONS, SECONDS = swept(200), 2.0


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with kits, data and mail after a study, the ledger, and a site that has agreed."""
    folder = tmp_path_factory.mktemp("kits")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        kits = make_kits(draft(NAMES), folder / "kits").folder
        data = make_data(folder, NAMES)
        for name in NAMES:
            agree(kits, name, data)
        engine = KillsOne(kits, NAMES)
        coordinate(Kit.open(kits / "server"), "run", engine, 1.0, lambda progress: None)
        (folder / "journal.bin").write_bytes(engine.journals["lab-a"])
        agree(kits, "lab-a", data)
        with suppress(StillWaiting):
            options = Options(mail=folder / "mail")
            FILES.serve(Kit.open(kits / "server"), options, lambda sentence: None)
    return folder


class KillsOne(Restarting):
    """A site that does not hear of the result."""

    def step(self, kind, messages, timeout=0.0):
        missed = {"lab-c"} & messages.keys() if kind == "publish" else set()
        heard = {name: message for name, message in messages.items() if name not in missed}
        replies, failures = super().step(kind, heard, timeout)
        return replies, failures | dict.fromkeys(missed, "vanished")


def mutations(whole: bytes):
    """The content with bytes flipped, cut, inserted, doubled; the same on every run."""
    rng = random.Random(14)
    for number in range(MUTATIONS):
        start = rng.randrange(len(whole) + 1)
        end = rng.randint(start, min(len(whole), start + 64))
        noise = rng.randbytes(rng.randint(1, 16))
        yield (
            whole[:start] + bytes(byte ^ noise[0] for byte in whole[start:end]) + whole[end:],
            whole[:start],
            whole[:start] + whole[end:],
            whole[:start] + noise + whole[start:],
            whole[:end] + whole[start:],
            whole[:start] + b"[" * 20_000 + whole[start:],
        )[number % 6]


def use_in_new_session(folder):
    results = folder / "kits" / "lab-a" / "results" / "new"
    results.mkdir(parents=True, exist_ok=True)
    for name in ("consent.json", "holdings.bin"):
        shutil.copy(folder / "kits" / "lab-a" / name, results / name)
    return consent.use(Kit.open(folder / "kits" / "lab-a"), results)


def fetch_once(folder):
    """The late result of a site, whose kit is then as it was."""
    kit, saved = folder / LATE, folder / "saved"
    shutil.copytree(kit, saved)
    try:
        published = (folder / "kits/server/results/run/publication.bin").read_bytes()
        return take_late(Kit.open(kit), published)
    finally:
        shutil.rmtree(kit)
        saved.rename(kit)


SITE, RUN, LATE = "kits/lab-a", "kits/lab-a/results/run", "kits/lab-c"
READERS = {
    f"{RUN}/audit.jsonl": [
        lambda folder: AuditLog(folder / RUN / "audit.jsonl", bytes(32)).uploads,
        lambda folder: Kit.open(folder / SITE).has_uploaded,
        lambda folder: say_sent(folder / RUN / "audit.jsonl", 0, lambda sentence: None),
        lambda folder: new_lines(folder / RUN / "audit.jsonl", 0),
    ],
    "journal.bin": [lambda folder: Journal.from_bytes((folder / "journal.bin").read_bytes())],
    f"{SITE}/consent.json": [use_in_new_session],
    f"{SITE}/holdings.bin": [use_in_new_session],
    f"{SITE}/identity.pem": [lambda folder: Kit.open(folder / SITE)],
    f"{RUN}/status.json": [lambda folder: read_status(folder / RUN)],
    f"{RUN}/result.json": [
        lambda folder: read_result(folder / RUN),
        lambda folder: write_report(folder / RUN, folder / "report.html"),
    ],
    "state/fedhull/ledger.json": [
        lambda folder: ledger.rounds_of("?"),
        lambda folder: ledger.record(an_upload(), agreed=[]),
    ],
    f"{LATE}/results/run/receipt.bin": [fetch_once],
    "kits/server/results/run/publication.bin": [fetch_once],
    "kits/server/results/run/sum.bin": [
        lambda folder: read_checked(folder / "kits/server/results/run/sum.bin")
    ],
    "kits/server/results/files/session.bin": [
        lambda folder: FILES.serve(
            Kit.open(folder / "kits/server"), Options(mail=folder / "mail"), lambda sentence: None
        )
    ],
    "mail/lab-a/1-advertise.request": [
        lambda folder: unwrap(folder / "mail/lab-a/1-advertise.request"),
    ],
}


def an_upload():
    return ledger.Upload(
        session="?", time="", study="s", study_hash="", kit="k", product="p", file="f", cells=""
    )


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused_in_a_sentence(finished, tmp_path, monkeypatch, name):
    folder = shutil.copytree(finished, tmp_path / "copy")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    whole = (folder / name).read_bytes()
    for read in READERS[name]:
        (folder / name).write_bytes(whole)
        for number, damaged in enumerate(mutations(whole)):
            (folder / name).write_bytes(damaged)
            begin = perf_counter()
            with suppress(FedhullError):
                read(folder)
            assert perf_counter() - begin < SECONDS, number


def test_whole_files_are_read(finished, tmp_path, monkeypatch):
    """Without which the test above would say nothing."""
    folder = shutil.copytree(finished, tmp_path / "copy")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    for name, readers in READERS.items():
        for read in readers:
            with suppress(StillWaiting):  # the coordinator's next step
                read(folder)
        assert (folder / name).exists()


def test_a_site_with_a_damaged_journal_uploads_nothing(finished, tmp_path, monkeypatch):
    """A journal that still can be read may lack an upload: the audit log knows better."""
    folder = shutil.copytree(finished, tmp_path / "copy")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    (folder / RUN / "result.json").unlink()
    shutil.copy(folder / SITE / "holdings.bin", folder / RUN / "holdings.bin")
    engine = Restarting(folder / "kits", ["lab-a"])
    engine.journals["lab-a"] = Journal().to_bytes()
    assert engine.site("lab-a").answer("advertise", b"?") == (None, "OutOfTurn")
