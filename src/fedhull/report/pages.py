"""The page of whatever a study has come to: one builder for each kind of outcome and site."""

from functools import singledispatch
from typing import Any

from fedhull.report.content import AnyPage, SitePage
from fedhull.report.encoder_pages import encoder_coordinator_page, encoder_site_page
from fedhull.report.hull_pages import (
    hull_coordinator_page,
    hull_page_with_points,
    hull_site_page,
)
from fedhull.study.encoder.coordinator import EncoderOutcome
from fedhull.study.encoder.site import EncoderSite
from fedhull.study.hulls.coordinator import HullOutcome
from fedhull.study.hulls.site import HullSite


@singledispatch
def coordinator_page(outcome: Any) -> AnyPage:
    """What the coordinator may show of an outcome."""
    raise TypeError(f"there is no page for a {type(outcome).__name__}")


@singledispatch
def site_page(site: Any, bytes_up: int, bytes_down: int) -> AnyPage:
    """What a site may show, its own points apart: they are never stored in a result."""
    raise TypeError(f"there is no page for a {type(site).__name__}")


@singledispatch
def with_own_points(page: Any, holdings: Any) -> Any:
    """A page with the points of the site that it is for, where it has a place for them."""
    return page


coordinator_page.register(HullOutcome, hull_coordinator_page)
coordinator_page.register(EncoderOutcome, encoder_coordinator_page)
site_page.register(HullSite, hull_site_page)
site_page.register(EncoderSite, encoder_site_page)


@with_own_points.register
def _(page: SitePage, holdings: Any) -> SitePage:
    return page if holdings is None else hull_page_with_points(page, holdings)
