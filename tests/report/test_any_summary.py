"""The page of a study with a summary that fedhull does not know: all that every study of classes
has, and what its rounds disclose."""

import json

import numpy as np
import pytest
from browser import Opened

from fedhull import make_tree, simulate
from fedhull.report.page import page_from_json, page_to_json
from fedhull.report.pages import coordinator_page, site_page, with_own_points
from fedhull.report.render import content, write_page
from fedhull.report.sections import Confusion, Disc, OwnPoints, WhoLearnsWhat
from fedhull.report.verdict import Verdict
from fedhull.rounds.disclosure import sentences
from fedhull.study.study import SUMMARIES

VIEWERS = pytest.mark.parametrize("viewer", ["coordinator", "site", "simulation"])


@pytest.fixture(scope="module")
def result():
    """A study of moments under a name that the report has never heard of."""
    data = make_tree(600, lineages=2, seed=0)
    y = np.where(data.y == "stem", 0, 1)
    with pytest.MonkeyPatch.context() as here:
        here.setitem(SUMMARIES._entries, "medians", SUMMARIES._entries["moments"])
        given = {"clients": 3, "epsilon": 0.1, "summary": "medians", "features": 32, "align": 0}
        yield simulate(data.x, y, **given)


@pytest.fixture(scope="module")
def pages(result):
    session = result.trials[0].session
    site = site_page(session.sites["site-0001"], 10, 20)
    return {
        "coordinator": coordinator_page(session.outcome),
        "site": site,
        "simulation": result.page(),
    }


@VIEWERS
def test_it_has_all_that_every_study_of_classes_has(pages, viewer):
    page = pages[viewer]
    assert page.viewer == viewer
    assert all(page.find(kind) for kind in (Disc, Confusion, Verdict))
    assert page.parameters["summary"] == "medians"
    assert "Whose name went with whose" in json.dumps(content(page))
    assert page_from_json(json.loads(json.dumps(page_to_json(page))), "it") == page


@VIEWERS
def test_what_leaves_is_what_its_rounds_disclose(pages, result, viewer):
    session = result.trials[0].session
    outcome = session.sites["site-0001"].outcome if viewer == "site" else session.outcome
    disclosed = sentences(outcome.disclosures)
    assert len(disclosed) > 1
    assert set(disclosed) <= set(pages[viewer].find(WhoLearnsWhat).seen)


def test_points_are_drawn_on_the_sites_page_only(pages, result):
    held = result.trials[0].session.sites["site-0001"].outcome.holdings
    assert with_own_points(pages["site"], held).find(OwnPoints).of == len(held.of_class)
    assert with_own_points(pages["coordinator"], held) is pages["coordinator"]
    assert with_own_points(pages["site"], None) is pages["site"]


@pytest.mark.slow
@VIEWERS
def test_it_opens_without_complaints(chromium, pages, folder, viewer):
    write_page(pages[viewer], folder / "medians.html")
    opened = Opened(chromium, folder / "medians.html")
    assert opened.complaints() == []
    assert "undefined" not in opened.run("document.body.innerText")
