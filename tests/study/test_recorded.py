import json

import pytest
import recorded


def read(name: str) -> dict:
    return json.loads(recorded.path_of(name).read_text())


@pytest.mark.parametrize("name", recorded.STUDIES)
def test_a_study_publishes_learns_and_says_what_it_did(name):
    """Keys, labels and noise are fixed, so that all that follows from them is."""
    assert recorded.differences(recorded.run(name), read(name)) == []


def test_a_study_by_files_leaves_in_kits_what_it_did(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert recorded.differences(recorded.by_files(tmp_path), read("files")) == []


@pytest.mark.slow
@pytest.mark.processes
def test_a_study_on_flare_leaves_in_kits_what_it_did(tmp_path):
    assert recorded.differences(recorded.by_flare(tmp_path), read("flare")) == []
