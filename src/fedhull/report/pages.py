"""The page of anything a study has come to."""

from typing import Any

from fedhull.report import classes, encoder
from fedhull.report.classes import with_own_points
from fedhull.report.page import CoordinatorPage, SitePage

__all__ = ["coordinator_page", "site_page", "with_own_points"]


def coordinator_page(outcome: Any) -> CoordinatorPage:
    """The page of the coordinator."""
    return _builder(outcome.study).coordinator_page(outcome)


def site_page(site: Any, bytes_up: int, bytes_down: int, earlier: int = 0) -> SitePage:
    """The page of a site, its own points apart: they are never stored in a result.
    `earlier` is the number of sessions before over the same data."""
    return _builder(site.study).site_page(site, bytes_up, bytes_down, earlier)


def _builder(study: Any) -> Any:
    # a study either learns a classifier or makes an encoder
    return classes if hasattr(study, "learning") else encoder
