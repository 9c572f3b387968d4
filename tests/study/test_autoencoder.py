"""Encoder studies: the federated mean, dropouts, rounds, consent, sessions that are taken up."""

import json

import numpy as np
import pytest
from encoders import (
    GENES,
    encoder_draft,
    encoder_in_memory,
    make_cell_files,
    make_cells,
    make_encoder_kits,
    make_start,
)
from scipy.sparse import csr_matrix

from fedhull.codes.mean import UNIT, to_fixed
from fedhull.embed.cells import Cells
from fedhull.embed.embedder import load_embedder
from fedhull.embed.network import flatten
from fedhull.embed.training import train
from fedhull.engines.base import Options
from fedhull.engines.files.runner import RUNNER as FILES
from fedhull.errors import (
    BadIdentity,
    BadMessage,
    BelowThreshold,
    InvalidInput,
    NoConsent,
    OutOfTurn,
)
from fedhull.kits.journal import Journal
from fedhull.kits.kit import Kit
from fedhull.kits.participant import SiteRun, coordinate
from fedhull.kits.provision import make_kits
from fedhull.protocol.keys import Identity
from fedhull.protocol.memory import MemoryEngine
from fedhull.study.autoencoder.site import AutoencoderSite
from fedhull.study.autoencoder.task import AutoencoderTask
from fedhull.study.cells import TrainingCells, load_training_cells
from fedhull.study.federated import federated_encoder
from fedhull.study.task import Source

pytest.importorskip("jax", reason="the embed extra is not installed")
NAMES = ["lab-a", "lab-b", "lab-c"]


class Vanishing(MemoryEngine):
    """A site is gone from one step of one round on."""

    def __init__(self, clients, name, step, turn):
        super().__init__(clients)
        self.name, self.when, self.invitations = name, (step, turn), 0
        self.asked = []

    def step(self, kind, messages, timeout=0.0):
        self.invitations += kind == "advertise"
        self.asked.append((self.invitations, kind, sorted(messages)))
        if (kind, self.invitations) == self.when:
            self._gone.add(self.name)
        return super().step(kind, messages, timeout)


# What is computed.


def test_a_round_is_the_weighted_mean_of_what_the_sites_train():
    start, parts = make_start(), [make_cells(n, n) for n in (20, 33, 50)]
    federated = federated_encoder(parts, start, rounds=1, epochs=2, seed=7)
    sums = np.zeros(len(flatten(start.weights)), dtype=np.int64)
    for seat, cells in enumerate(parts, 1):
        seed = int(np.random.SeedSequence([7, seat, 1]).generate_state(1)[0])
        own, _ = train(start.weights, start.observe(cells), start, 2, seed)
        sums += len(cells) * to_fixed(flatten(own))
    assert np.array_equal(flatten(federated.weights), (sums / 103 * UNIT).astype(np.float32))


def test_the_same_arguments_give_the_same_encoder_and_more_rounds_another():
    start, parts = make_start(), [make_cells(20, i) for i in range(3)]
    one, two = (federated_encoder(parts, start, rounds=2, seed=1) for _ in range(2))
    assert one.hash == two.hash
    assert one.hash != federated_encoder(parts, start, rounds=3, seed=1).hash
    assert one.hash != federated_encoder(parts, start, rounds=2, seed=2).hash
    assert one.preparation == start.preparation


# Who takes part.


@pytest.mark.parametrize("step", ["advertise", "share", "upload", "confirm", "unmask", "publish"])
def test_a_site_that_vanishes_is_left_out_of_that_round_and_all_later_ones(tmp_path, step):
    kits, data = make_encoder_kits(tmp_path, NAMES, rounds=3)
    engine = None

    def make(sites):
        nonlocal engine
        engine = Vanishing(sites, "lab-b", step, 2)
        return engine

    outcome = encoder_in_memory(kits, data, make)
    late = step in ("confirm", "unmask", "publish")
    in_sum = [len(each.survivors) for each in outcome.rounds]
    assert in_sum == [3, 3 if late else 2, 2]
    assert outcome.rounds[0].cells == 32 + 48 + 64
    assert outcome.rounds[2].cells == 32 + 64
    assert outcome.record.failures == {"lab-b": "vanished"}
    invited = [asked for turn, kind, asked in engine.asked if (turn, kind) == (3, "advertise")]
    assert invited == [["lab-a", "lab-c"]]


def test_too_few_sites_end_the_study(tmp_path):
    kits, data = make_encoder_kits(tmp_path, NAMES)

    class Both(Vanishing):
        def __init__(self, sites):
            super().__init__(sites, "lab-b", "publish", 1)

        def step(self, kind, messages, timeout=0.0):
            if self.invitations == 1 and kind == "publish":
                self._gone.add("lab-c")
            return super().step(kind, messages, timeout)

    with pytest.raises(BelowThreshold, match="only 1 of 3"):
        encoder_in_memory(kits, data, Both)


# What a site does not do.


def site_of(kits, data, name="lab-a"):
    kit = Kit.open(kits / name)
    return kit.task.site(name, kit.identity, kit.task.read(Source(str(data[name]))))


class Watched(MemoryEngine):
    def __init__(self, sites):
        super().__init__(sites)
        self.seen, self.uploads = [], 0

    def step(self, kind, messages, timeout=0.0):
        replies, failures = super().step(kind, messages, timeout)
        self.seen.append(messages["lab-a"])
        self.uploads += kind == "upload" and "lab-a" in replies
        return replies, failures


def test_a_site_uploads_once_in_each_round_and_never_after_the_last(tmp_path):
    kits, data = make_encoder_kits(tmp_path, NAMES)
    engine = None

    def make(sites):
        nonlocal engine
        engine = Watched(sites)
        return engine

    encoder_in_memory(kits, data, make)
    assert engine.uploads == 2
    site = engine.clients["lab-a"]
    for raw in engine.seen:
        with pytest.raises(OutOfTurn, match="all 2 sums"):
            site.receive(raw)


def test_the_first_rounds_invitation_is_refused_in_the_second(tmp_path):
    kits, data = make_encoder_kits(tmp_path, NAMES)
    server, seen = Kit.open(kits / "server"), []

    class Repeating(MemoryEngine):
        def step(self, kind, messages, timeout=0.0):
            if kind == "advertise":
                seen.append(messages["lab-a"])
            if kind == "advertise" and len(seen) == 2:
                with pytest.raises(OutOfTurn, match="session 1 of the study, but session 2"):
                    self.clients["lab-a"].receive(seen[0])
            return super().step(kind, messages, timeout)

    encoder_in_memory(kits, data, Repeating)
    assert len(seen) == 2
    assert server.task.sums == 2


@pytest.mark.parametrize("mean", [b"", b"\0" * 12, b"\xff" * 4, None])
def test_a_mean_that_is_none_is_refused(tmp_path, mean):
    kits, data = make_encoder_kits(tmp_path, NAMES)
    site = site_of(kits, data)
    size = len(flatten(site.encoder.weights)) + 1
    published = np.full(size, 65.0, dtype="<f4").tobytes() if mean is None else mean
    with pytest.raises(BadMessage, match="mean"):
        site.take(published)
    assert not site.rounds


def test_cells_that_cannot_be_trained_on_are_refused_before_anything_is_sent(tmp_path):
    kits, _ = make_encoder_kits(tmp_path, NAMES)
    kit = Kit.open(kits / "lab-a")
    start = make_start()
    for cells, words in [
        (Cells(make_cells(5, 0).x + 0.5, GENES), "raw counts"),
        (Cells(make_cells(5, 0).x, [f"other-{i}" for i in range(40)]), "lack 40 of"),
    ]:
        with pytest.raises(InvalidInput, match=words):
            AutoencoderSite(kit.study, "lab-a", kit.identity, start, cells)


def test_the_start_must_be_the_one_that_the_study_names(tmp_path):
    kits, _ = make_encoder_kits(tmp_path, NAMES)
    study = Kit.open(kits / "lab-a").study
    with pytest.raises(InvalidInput, match="not the encoder that the study starts from"):
        AutoencoderTask.of(study, make_start(seed=5).to_bytes())
    draft = encoder_draft(NAMES).replace('""', f'"{"0" * 64}"', 1)
    with pytest.raises(InvalidInput, match="--encoder FILE"):
        make_kits(draft, tmp_path / "none")
    with pytest.raises(InvalidInput, match="not the encoder"):
        make_kits(draft, tmp_path / "other", attached=make_start().to_bytes())


# What participants leave.


class Restarting:
    """Every message goes to a new process, so to speak: kits, journals and results remain."""

    def __init__(self, kits, names):
        self.kits, self.journals = kits, {name: Journal().to_bytes() for name in names}

    def step(self, kind, messages, timeout=0.0):
        replies, failures = {}, {}
        for name, message in messages.items():
            run = SiteRun(
                Kit.open(self.kits / name),
                "run",
                Journal.from_bytes(self.journals[name]),
                lambda journal, name=name: self.journals.update({name: journal.to_bytes()}),
            )
            reply, error = run.answer(kind, message)
            if error is not None:
                failures[name] = error
            elif reply is not None:
                replies[name] = reply
        return replies, failures


def test_sites_that_are_restarted_for_every_message_get_the_same_encoder(tmp_path):
    kits, data = make_encoder_kits(tmp_path, NAMES)
    expected = encoder_in_memory(kits, data).encoder
    engine, said = Restarting(kits, NAMES), []
    outcome = coordinate(Kit.open(kits / "server"), "run", engine, 1.0, said.append)
    assert outcome.encoder.hash == expected.hash
    assert [progress.step for progress in said] == ["round 1 of 2", "round 2 of 2"]
    for name in ("server", *NAMES):
        results = kits / name / "results" / "run"
        assert json.loads((results / "status.json").read_text())["error"] is None
        assert json.loads((results / "result.json").read_text())["encoder"] == expected.hash
        assert load_embedder(results / "encoder.npz").hash == expected.hash
        result = json.loads((results / "result.json").read_text())
        assert len(result["loss"]) == 2
        assert np.isfinite(result["loss"]).all()
        assert expected.hash in (results / "report.html").read_text()
    # a journal holds one round's messages, not all of them
    assert not Journal.from_bytes(engine.journals["lab-a"]).accepted
    assert Kit.open(kits / "lab-a").has_uploaded


def test_one_consent_serves_all_rounds_of_one_run_and_no_other(tmp_path):
    kits, _ = make_encoder_kits(tmp_path, NAMES)
    coordinate(Kit.open(kits / "server"), "run", Restarting(kits, NAMES), 1.0, lambda p: None)
    again = SiteRun(Kit.open(kits / "lab-a"), "second")
    assert again.answer("advertise", b"")[1] == NoConsent.__name__


def test_consent_is_for_the_cells_that_were_shown(tmp_path):
    kits, data = make_encoder_kits(tmp_path, NAMES)
    np.savez(data["lab-a"], x=make_cells(99, 0).x, genes=np.array(GENES))
    assert SiteRun(Kit.open(kits / "lab-a"), "run").answer("advertise", b"")[1] == "NoConsent"


def test_an_encoder_study_of_many_rounds_is_not_for_files(tmp_path):
    kits, _ = make_encoder_kits(tmp_path, NAMES, rounds=5)
    with pytest.raises(InvalidInput, match="cannot run over files: its 5 rounds"):
        FILES.serve(Kit.open(kits / "server"), Options(), print)
    with pytest.raises(InvalidInput, match="cannot run over files"):
        FILES.join(Kit.open(kits / "lab-a"), Options(), print)


def test_h5ad_files_are_read_with_their_layer(tmp_path):
    anndata = pytest.importorskip("anndata")
    import pandas

    cells = make_cells(6, 0)
    file = anndata.AnnData(np.zeros(cells.x.shape), var=pandas.DataFrame(index=GENES))
    file.layers["counts"] = cells.x
    file.write_h5ad(tmp_path / "cells.h5ad")
    read = load_training_cells(Source(str(tmp_path / "cells.h5ad"), layer="counts"))
    assert np.array_equal(read.x, cells.x)
    assert not load_training_cells(Source(str(tmp_path / "cells.h5ad"))).x.any()
    make_cell_files(tmp_path, ["a"])
    with pytest.raises(InvalidInput, match="--layer is for"):
        load_training_cells(Source(str(tmp_path / "a.npz"), layer="counts"))
    with pytest.raises(InvalidInput, match="does not exist"):
        load_training_cells(Source(str(tmp_path / "none.h5ad")))


def test_a_stranger_cannot_join(tmp_path):
    kits, _ = make_encoder_kits(tmp_path, NAMES)
    kit = Kit.open(kits / "lab-a")
    with pytest.raises(BadIdentity, match="roster"):
        AutoencoderSite(kit.study, "lab-a", Identity.generate(), make_start(), make_cells(5, 0))


def test_cells_survive_the_way_to_another_process():
    for x in (make_cells(6, 0).x, csr_matrix(make_cells(6, 0).x)):
        held = TrainingCells(Cells(x, GENES))
        again = TrainingCells.from_bytes(held.to_bytes())
        assert again.to_bytes() == held.to_bytes()
        assert type(again.cells.x) is type(held.cells.x)
        assert (again.cells.x != held.cells.x).sum() == 0
    with pytest.raises(InvalidInput, match="damaged"):
        TrainingCells.from_bytes(held.to_bytes()[:100])
