"""Pages as plain values, for the `report` key of a result, and back."""

import json
from typing import Any

import msgspec

from fedhull.errors import InvalidInput
from fedhull.report.content import VERSION
from fedhull.report.hull_content import AnyHullPage, SimulationPage
from fedhull.report.moment_content import AnyMomentPage, MomentSimulationPage
from fedhull.report.neighbour_content import NeighbourCoordinatorPage, NeighbourSitePage
from fedhull.text import shortened

AnySimulationPage = SimulationPage | MomentSimulationPage
AnyEncoderPage = NeighbourCoordinatorPage | NeighbourSitePage
AnyPage = AnyHullPage | AnyMomentPage | AnyEncoderPage

_LARGEST = 2**53


def page_to_json(page: AnyPage) -> dict[str, Any]:
    """Plain values."""
    return msgspec.to_builtins(page)


def page_from_json(content: Any, name: str) -> AnyPage:
    """The inverse of `page_to_json`, strictly checked."""
    if content is None:
        raise InvalidInput(
            f"{name} is not a fedhull result; name a result.json that demo, simulate, server or "
            f"client has written"
        )
    found = content.get("version") if isinstance(content, dict) else None
    if found != VERSION:
        raise InvalidInput(
            f"{name} holds no report that this fedhull can show: version {VERSION} is needed, "
            f"got {shortened(found)}; run the study or simulation again"
        )
    try:
        # a page can hold neither NaN nor halves of characters
        json.dumps(content, allow_nan=False, ensure_ascii=False).encode()
        _check_whole_numbers(content)
        return msgspec.convert(content, AnyPage)
    except (msgspec.ValidationError, ValueError, RecursionError) as problem:
        raise InvalidInput(f"the report in {name} is damaged: {problem}") from None


def _check_whole_numbers(content: Any) -> None:
    """Raise InvalidInput for a number that a page would round: larger ones are written out."""
    inner = content.values() if isinstance(content, dict) else content
    if isinstance(content, int) and abs(content) > _LARGEST:
        raise InvalidInput(f"whole numbers must be at most 2^53, got {shortened(content)}")
    if isinstance(content, dict | list):
        for value in inner:
            _check_whole_numbers(value)
