"""A setting of a study has one place, its table: commands take it from there."""

import inspect
import re

import pytest
from commands import fedhull

import fedhull as package
from fedhull.study.draft import SETTINGS, default_of, kind_of


@pytest.mark.parametrize("command", ["simulate", "plan"])
def test_every_setting_of_a_study_is_an_option(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = fedhull(command, "--help").stdout
    for name in SETTINGS:
        assert re.search(rf"--{name.replace('_', '-')}\b", shown), name


def test_every_setting_is_an_argument_of_simulate_with_the_default_of_a_study():
    arguments = inspect.signature(package.simulate).parameters
    for name in SETTINGS.keys() - {"epsilon", "radius"}:
        assert arguments[name].default == default_of(name)


def test_every_setting_says_what_it_is():
    for name in SETTINGS:
        assert kind_of(name)[1].endswith("."), name
