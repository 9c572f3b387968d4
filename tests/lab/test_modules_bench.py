"""The count of modules is that of a study which has all that a study of moments can have."""

import json

import pytest
from commands import fedhull


@pytest.mark.slow
def test_modules_are_those_of_both_sides_and_of_nothing_beside_the_study():
    found = json.loads(fedhull("bench", "modules", "--json").stdout)
    modules = found["modules"]
    assert found["executed"] == len(modules) == len(set(modules))
    assert {"fedhull.protocol.client", "fedhull.protocol.server"} <= set(modules)
    assert all(name.startswith("fedhull.") for name in modules)
    beside = {"bench", "cli", "engines", "extend", "kits", "report", "simulation"}
    assert not beside & {name.split(".")[1] for name in modules}
    words = fedhull("bench", "modules").stdout
    assert f"executes {len(modules)} modules" in words
