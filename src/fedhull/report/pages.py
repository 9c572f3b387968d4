"""The page of whatever a study has come to: one builder for each kind of outcome and site."""

from functools import singledispatch
from typing import Any

from fedhull.report.class_content import ClassSitePage
from fedhull.report.class_pages import page_with_points
from fedhull.report.hull_pages import hull_coordinator_page, hull_site_page
from fedhull.report.moment_pages import moment_coordinator_page, moment_site_page
from fedhull.report.neighbour_pages import neighbour_coordinator_page, neighbour_site_page
from fedhull.report.page_file import AnyPage
from fedhull.study.hulls.coordinator import HullOutcome
from fedhull.study.hulls.site import HullSite
from fedhull.study.moments.coordinator import MomentOutcome
from fedhull.study.moments.site import MomentSite
from fedhull.study.neighbours.coordinator import NeighbourOutcome
from fedhull.study.neighbours.site import NeighbourSite


@singledispatch
def coordinator_page(outcome: Any) -> AnyPage:
    """What the coordinator may show of an outcome."""
    raise TypeError(f"there is no page for a {type(outcome).__name__}")


@singledispatch
def site_page(site: Any, bytes_up: int, bytes_down: int, earlier: int = 0) -> AnyPage:
    """What a site may show, its own points apart: they are never stored in a result. So many
    `earlier` sessions were over the same data."""
    raise TypeError(f"there is no page for a {type(site).__name__}")


@singledispatch
def with_own_points(page: Any, holdings: Any) -> Any:
    """A page with the points of the site that it is for, where it has a place for them."""
    return page


coordinator_page.register(HullOutcome, hull_coordinator_page)
coordinator_page.register(MomentOutcome, moment_coordinator_page)
coordinator_page.register(NeighbourOutcome, neighbour_coordinator_page)
site_page.register(HullSite, hull_site_page)
site_page.register(MomentSite, moment_site_page)
site_page.register(NeighbourSite, neighbour_site_page)


@with_own_points.register
def _(page: ClassSitePage, holdings: Any) -> ClassSitePage:
    return page if holdings is None else page_with_points(page, holdings)
