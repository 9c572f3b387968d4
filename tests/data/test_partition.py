"""What sites are called whose names come from a column of the data."""

import numpy as np

from fedhull import make_tree, simulate
from fedhull.report.alignment import Alignments
from fedhull.report.matches import MatchMap
from fedhull.report.sections import Held
from fedhull.simulation.sites import names_of_owners


def test_names_of_owners_can_be_seen_are_short_and_differ():
    odd = ["a\x1b[31m", "a\u202e", "a\u202e", " b\n\tc ", "", "   ", "x" * 300, "x" * 301, 7, 7.5]
    names = names_of_owners(odd)
    assert len(set(names)) == len(odd)
    assert all(name.isprintable() and 0 < len(name) <= 66 for name in names)
    assert names[3] == "b\\n\\tc"
    assert names[4:6] == ["site 5", "site 6"]
    assert names[7] == f"{names[6]} (2)"
    assert names[8:] == ["7", "7.5"]


def test_a_name_that_is_like_a_numbered_one_stays_apart():
    assert names_of_owners(["a", "a", "a (2)"]) == ["a", "a (2)", "a (2) (2)"]


def test_owners_in_a_column_name_the_sites_of_a_simulation_on_its_page_only():
    data = make_tree(400, lineages=2, seed=0)
    owner = np.array(["Müller, left", "<b>lung</b>", "donor 3"])[np.arange(400) % 3]
    result = simulate(
        data.x, data.y, clients=3, epsilon=0.2, partition=owner, summary="moments", align=1
    )
    page = result.page()
    called = sorted(set(owner.tolist()))
    assert [site.name for site in page.sites] == called
    assert {each.site for each in page.find(Alignments).sites} == set(called)
    assert {slot.site for row in page.find(MatchMap).rows for slot in row.slots} == set(called)
    held = {name: int(words.split()[-1]) for name, words in page.find(Held).sites.items()}
    assert set(held) == set(called)
    assert sum(held.values()) == 340
    assert set(result.study.clients) == {"site-0001", "site-0002", "site-0003"}
