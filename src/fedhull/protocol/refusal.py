"""Errors in a study file as sentences: where, which rule, which value."""

import re
from typing import Any, get_args, get_type_hints

import msgspec

from fedhull.text import did_you_mean, shortened

_KINDS = {
    "float": "a number",
    "int": "a whole number",
    "str": "text",
    "bool": "true or false",
    "date": "a date such as 2027-12-31",
    "object": "a table",
    "array": "a list",
}
_ROSTER = "clients"


def broken_rule(problem: msgspec.ValidationError, content: Any, study: type) -> str:
    """msgspec's words about the tables of a study, which should have been of this type, with the
    value that breaks the rule, or the key that was meant."""
    rule, _, path = str(problem).partition(" - at `")
    path = path.removeprefix("$").removeprefix(".").rstrip("`")
    if path.startswith(f"{_ROSTER}[") or path.endswith(f"in `$.{_ROSTER}"):
        return _wrong_site(content[_ROSTER], study) or rule
    where = f"[{path}]" if path else "a study"
    missing = re.match(r"Object missing required field `(.*)`", rule)
    if missing:
        return f"{where} must have the setting {missing[1]!r}"
    unknown = re.match(r"Object contains unknown field `(.*)`", rule)
    if unknown:
        known = _keys(study, path)
        return (
            f"{where} has no setting {unknown[1]!r}, only {', '.join(known)}"
            f"{did_you_mean(unknown[1], known)}"
        )
    if rule.startswith("Invalid RFC3339 encoded date"):
        rule = "Expected `date`"
    if rule.startswith("Expected ") and path:
        for key in path.split("."):
            content = content.get(key) if isinstance(content, dict) else None
        must, _, _ = rule.partition(", got `")
        must = re.sub(r"`(\w+)( \| null)?`", lambda kind: _KINDS.get(kind[1], kind[0]), must)
        return f"{path} {must.replace('Expected', 'must be')}, got {shortened(content)}"
    if rule.startswith("Invalid enum value"):
        table, _, key = path.rpartition(".")
        choices = get_args(get_type_hints(_table(study, table))[key])
        value = (content[table] if table else content)[key]
        return f"{path} must be one of {', '.join(map(repr, choices))}, got {shortened(value)}"
    # what a table itself refuses is a sentence already
    return rule


def _keys(study: type, path: str) -> list[str]:
    """The settings in a table of the study, or beside the tables."""
    return list(_table(study, path).__struct_fields__)


def _table(study: type, path: str) -> Any:
    """The type of a table of the study, or of the study itself."""
    if not path:
        return study
    hint = get_type_hints(study)[path]
    return next((each for each in get_args(hint) if hasattr(each, "__struct_fields__")), hint)


def _wrong_site(roster: Any, study: type) -> str:
    """The first line of the roster that is none, by the name of its site."""
    name_type, key_type = get_args(get_type_hints(study, include_extras=True)[_ROSTER])
    for name, key in roster.items():
        if not _fits(name, name_type):
            return (
                f"[{_ROSTER}] has the site {shortened(name)}, but a site's name is lower-case "
                f"letters, digits, '.', '_' or '-', 64 at most"
            )
        if not _fits(key, key_type):
            empty = "; 'fedhull provision' makes a key where a draft has \"\"" if key == "" else ""
            return (
                f"the public key of {name} must be 64 hexadecimal digits, the line that 'fedhull "
                f"keygen' printed at that site, got {shortened(key)}{empty}"
            )
    return ""


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True
