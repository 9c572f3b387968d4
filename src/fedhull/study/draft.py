"""Studies of unnamed sites, for plans and rehearsals, from settings that are given by name."""

from typing import Any, get_args, get_type_hints

import msgspec
import numpy as np

from fedhull.disc.points import check_count
from fedhull.errors import InvalidInput
from fedhull.study.dp import Privacy
from fedhull.study.promise import most_bins_for
from fedhull.study.study import MOST_BINS, Classes, Disclosure, Geometry, Labels, Learning, Study
from fedhull.text import did_you_mean

_TABLES: dict[str, Any] = {
    "geometry": Geometry,
    "labels": Labels,
    "learning": Learning,
    "disclosure": Disclosure,
    "privacy": Privacy,
}
# Settings bear the names of their keys, in some tables with a prefix; these a study gets otherwise.
_PREFIXES, _OTHERWISE = {"labels": "label_", "privacy": "dp_"}, ("classes", "seed")
# The settings of a study, by the names that `simulate`, `plan` and the command line take: table and
# key. A setting that is added to a table of the study is added here by itself.
SETTINGS: dict[str, tuple[str, str]] = {
    _PREFIXES.get(table, "") + key: (table, key)
    for table, kind in _TABLES.items()
    for key in kind.__struct_fields__
    if key not in _OTHERWISE
}


def default_of(setting: str) -> Any:
    """The default of a setting, from the study's own definition.

    >>> default_of("guard")
    'edit+trim:0.1+group'
    """
    table, key = SETTINGS[setting]
    return _defaults(_TABLES[table]).get(key)


def kind_of(setting: str) -> tuple[type, str]:
    """The type of a setting, text for parts that have names, and its description."""
    table, key = SETTINGS[setting]
    hint = get_type_hints(_TABLES[table], include_extras=True)[key]
    kind, *metas = get_args(hint)
    described = next(meta.description for meta in metas if meta.description)
    return (str if kind is Any else kind), described


def draft_study(clients: int, classes: int, name: str = "draft", **settings: Any) -> Study:
    """A study of `clients` sites, called site-0001 and so on, with keys that are nobody's.

    A setting that is None or left out has the study's default. Two sites are enough.

    >>> draft_study(3, classes=2, epsilon=0.1, radius=0.9, guard="edit+group").learning.guard
    'edit+group'
    """
    check_count(clients, "clients", least=2)
    tables: dict[str, dict[str, Any]] = {
        "geometry": {},
        "labels": {"classes": classes},
        "disclosure": {},
        "learning": {"classes": classes},
    }
    for setting, value in settings.items():
        if value is not None:
            table, key = SETTINGS[check_setting(setting)]
            tables.setdefault(table, {})[key] = (
                value.item() if isinstance(value, np.generic) else value
            )
    if "epsilon" not in tables.setdefault("privacy", {"epsilon": None}):
        raise InvalidInput("dp_delta and dp_unit go with dp_epsilon, which says how much is hidden")
    if tables["privacy"]["epsilon"] is None:
        del tables["privacy"]
    # a rehearsal is refused neither for being small nor for being large
    most_bins = min(MOST_BINS, most_bins_for(clients))
    return Study.from_plain(
        {
            "name": name,
            "protocol": {"allow_small_cohort": True, "most_bins": most_bins},
            "clients": {site_name(i): f"{i:064x}" for i in range(clients)},
            **tables,
        }
    )


def with_names(study: Study, names: list[str]) -> Study:
    """The study of sites that have agreed on these names."""
    labels = msgspec.structs.replace(study.labels, classes=len(names))
    return msgspec.structs.replace(study, labels=labels, classes=Classes(names=names))


def settings_of(study: Study) -> dict[str, Any]:
    """The settings of a study by the names that `draft_study` takes."""
    return {name: getattr(getattr(study, t), key, None) for name, (t, key) in SETTINGS.items()}


def check_setting(name: str, known: tuple[str, ...] = tuple(SETTINGS)) -> str:
    """The name, if a setting has it."""
    if name not in known:
        raise InvalidInput(
            f"there is no setting {name!r}, only {', '.join(known)}{did_you_mean(name, known)}"
        )
    return name


def site_name(number: int) -> str:
    """Name of a site of a rehearsal; number 0 is site-0001."""
    return f"site-{number + 1:04d}"


def _defaults(table: type) -> dict[str, Any]:
    return {
        field.name: field.default
        for field in msgspec.structs.fields(table)
        if field.default is not msgspec.NODEFAULT
    }
