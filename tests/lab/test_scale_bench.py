"""How a study grows: what is measured is one site's own work."""

import json
import os

import pytest
from commands import fedhull
from spread import weights_and_memory

from fedhull.protocol.drive import bytes_up
from fedhull.rounds.hulls import HullSums
from fedhull.rounds.round import Known
from fedhull.study.draft import draft_study
from fedhull.study.rehearsal import rehearse
from fedhull_lab.bench.scale import (
    HULLS,
    MOMENTS,
    SIZES,
    bench_scale,
    bench_scale_apart,
    bench_sizes,
)
from fedhull_lab.bench.shards import shard_count
from fedhull_lab.bench.timing import peak_memory_mb
from fedhull_lab.bench.watching import ORDINARY, WITNESS, WatchingEngine


@pytest.mark.parametrize("summary", [HULLS, MOMENTS])
def test_a_row_counts_all_seconds_and_bytes_once(summary):
    row = bench_scale(10, summary)
    assert row["graph"] == "complete"
    assert row["circle"] == 9
    assert 0 < row["site_seconds"] < row["total_seconds"]
    assert row["server_seconds"] < row["total_seconds"]
    assert row["protocol_bytes_up"] < row["bytes_up_per_client"]
    assert row["bars"] == {}


def test_keys_shares_and_seals_are_all_that_a_plan_counts_beside_vectors():
    row = bench_scale(12, HULLS)
    study = draft_study(12, 2, epsilon=0.1, radius=0.95)
    layout = HullSums(study).layout(Known(), (0,), 12)
    # the ballot and the publication: two answers without their numbers
    empty = type(layout)(())
    planned = bytes_up(study, "site-0001", empty, empty)
    assert row["protocol_bytes_up"] == pytest.approx(planned, abs=400)


def test_a_witness_and_another_are_watched_where_not_all_are_witnesses(tmp_path):
    from fedhull_lab.bench.scale import _hulls

    engines = []

    def watching(*arguments):
        engines.append(WatchingEngine(*arguments))
        return engines[0]

    study, holdings = _hulls(24, {"epsilon": 0.1, "radius": 0.95}, 20, 2)
    study = study.from_toml(study.to_toml().replace('graph = "auto"', 'graph = "sparse"'))
    rehearse(study, holdings, engine=watching)
    assert [role for role, _ in engines[0].watched] == [ORDINARY, WITNESS]
    (ordinary,), (witness,) = (engines[0].of(role) for role in (ORDINARY, WITNESS))
    assert ordinary.name != witness.name
    assert min(ordinary.seconds, witness.seconds) > 0


@pytest.mark.slow
def test_a_study_over_two_processes_is_that_of_one():
    weights, memory = weights_and_memory(12, processes=1)
    spread_weights, spread_memory = weights_and_memory(12, processes=2)
    assert spread_weights == weights
    assert spread_memory > memory


@pytest.mark.slow
def test_memory_is_that_of_one_study_alone():
    held = bytearray(1_000_000_000)
    assert bench_scale_apart(10, MOMENTS)["memory_mb"] < len(held) / 1e6 < peak_memory_mb()


def test_few_sites_stay_in_one_process():
    assert shard_count(1000) == 1
    assert shard_count(10_000) == os.cpu_count()


def test_sizes_reach_from_ten_to_ten_thousand():
    assert {n for sizes in SIZES.values() for n in sizes} >= {10, 100, 1000, 10_000}
    assert max(bench_sizes(MOMENTS, quick=True)) <= 300


@pytest.mark.slow
def test_the_command_prints_the_table_as_data():
    done = fedhull("bench", "scale", "--clients", "10", "--json")
    rows = json.loads(done.stdout)["scale"]
    assert [(row["summary"], row["clients"]) for row in rows] == [
        ("hulls", 10),
        ("moments", 10),
    ]
    refused = fedhull("bench", "scale", "--summary", "sums")
    assert refused.returncode == 2
    assert "hulls or moments" in refused.stderr
