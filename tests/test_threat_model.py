"""The threat model's tables of what leaves are those that the studies' rounds disclose."""

import pytest
from renew_tables import PAGE, STUDIES, renewed, table, tables


@pytest.mark.parametrize("kind", STUDIES)
def test_a_table_of_what_leaves_is_that_of_a_study(kind):
    assert tables(PAGE.read_text())[kind] == table(kind), "run tests/renew_tables.py"


def test_no_other_table_stands_behind_a_marker():
    page = PAGE.read_text()
    assert tables(page).keys() == STUDIES.keys()
    assert renewed(page) == page
