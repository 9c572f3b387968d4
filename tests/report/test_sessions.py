"""Several sessions over the same data: a site's page counts them, and ticks what is so."""

import json

import pytest
from conformance import agree
from federations import TWO_OF_THREE, draft, make_data

from fedhull.kits.provision import make_kits
from fedhull.report.head import upload_check
from fedhull.report.page import page_from_json
from fedhull.report.sections import WhoLearnsWhat

NAMES = ["lab-a", "lab-b", "lab-c"]
MOMENTS = '[learning]\nsummary = "moments"\nfeatures = 32\nalign = 0'


def pages_of(run_here, folder, learning, sessions):
    """lab-a's page after each of several sessions over the same data."""
    kits = make_kits(draft(NAMES, f"{TWO_OF_THREE}\n{learning}"), folder / "kits").folder
    data = make_data(folder, NAMES)
    for i in range(sessions):
        agreeing = {name: agree(kits, name, data, again=True) for name in NAMES}
        results = run_here(kits, agreeing, run=f"run-{i}")["lab-a"]
        yield json.loads((results / "result.json").read_text())["report"]


@pytest.mark.slow
@pytest.mark.parametrize(("learning", "once"), [("", "once"), (MOMENTS, "once in each round")])
def test_a_second_session_is_counted_and_not_ticked_as_the_only_one(
    run_here, tmp_path, learning, once
):
    pages = list(pages_of(run_here, tmp_path, learning, 3))
    shown = [[(check["words"], check["passed"]) for check in page["checks"]] for page in pages]
    assert (f"This site uploaded {once}", True) in shown[0]
    for checks, number in zip(shown[1:], ("2nd", "3rd"), strict=True):
        told = (
            f"This is the {number} session over these data, which somebody at this site agreed to"
        )
        assert (told, None) in checks
        assert not any("uploaded once" in words for words, _ in checks)
    told = [" ".join(page_from_json(page, "it").find(WhoLearnsWhat).unprotected) for page in pages]
    assert "session over these data. Each reveals" not in told[0]
    assert "This is the 2nd session over these data. Each reveals a sum, and two" in told[1]


def test_a_first_session_is_ticked():
    assert upload_check("Uploaded once", 0).passed is True
