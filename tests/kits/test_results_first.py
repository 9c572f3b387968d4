import json

import pytest
from by_mail import MailStudy
from federations import MOMENTS

from fedhull.kits.results import REPORT


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return MailStudy(tmp_path, extra=MOMENTS)


def broken(*_, **__):
    raise KeyError("a summary of another package")


def test_a_page_that_cannot_be_built_costs_no_result(study, monkeypatch):
    monkeypatch.setattr("fedhull.report.pages.coordinator_page", broken)
    monkeypatch.setattr("fedhull.report.pages.site_page", broken)
    study.finish()
    for name in ("server", "lab-a"):
        results = study.results(name)
        assert len(json.loads((results / "model.json").read_text())["classes"]) == 6
        assert study.result(name)["accuracy"] > 50.0
        assert not (results / REPORT).exists()
        status = study.status(name)
        assert status["error"] is None
        assert "its page could not be built (KeyError" in status["sentence"]
        assert (results / "traceback.txt").stat().st_mode & 0o077 == 0
