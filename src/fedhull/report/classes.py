"""The pages of studies of classes, made of the outcomes of coordinators, sites and simulations."""

from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from fedhull.report.account import Account
from fedhull.report.alignment import Alignment, Alignments, OwnAlignment, Scatter
from fedhull.report.classifier import count_tests, judged_tests, shown_model
from fedhull.report.head import SITE_CHECKS, passed, study_head, upload_check
from fedhull.report.hulls import HullAccount
from fedhull.report.known import Simulated
from fedhull.report.matches import AgreedNames
from fedhull.report.moments import MomentAccount
from fedhull.report.page import AnyPage, AnySection, CoordinatorPage, SimulationPage, SitePage
from fedhull.report.palette import by_name, colours_of
from fedhull.report.sections import (
    COORDINATOR,
    RESULTS,
    SIMULATION,
    SITE,
    Accuracy,
    Confusion,
    Disc,
    OwnPoints,
    Scores,
    Steps,
)
from fedhull.report.verdict import NotJudged, Verdict
from fedhull.rounds.holdings import moved
from fedhull.study.study import HULLS, MOMENTS

# More of a site's own points than this, and every second, third, … is shown: a page stays small.
MOST_POINTS = 200_000
# A kind of study that is not in the table has what all have.
_ACCOUNTS = {HULLS: HullAccount, MOMENTS: MomentAccount}


def coordinator_page(outcome: Any) -> CoordinatorPage:
    """The page of the coordinator: nothing that it does not know."""
    account = account_of_outcome(outcome)
    judged = outcome.vote.judged
    aligned = account.alignments and outcome.scatter
    return CoordinatorPage(
        **_head(account),
        checks=passed(*account.checks()),
        seconds=outcome.seconds,
        sections=_sections(
            account,
            judged_tests(judged, outcome.names) if judged else None,
            Scatter(values=outcome.scatter) if aligned else None,
        ),
    )


def site_page(site: Any, bytes_up: int, bytes_down: int, earlier: int = 0) -> SitePage:
    """The page of a site, its own points apart; `earlier` sessions were over the same data."""
    site = site.outcome
    account = _account(SITE, site, bytes_up=bytes_up, bytes_down=bytes_down, earlier=earlier)
    held, testing = site.holdings, None
    if site.finding.tested:
        testing = count_tests(site.model, moved(held.test_x, site.isometry), held.test_y)
    found = None if site.isometry is None else Alignment.of(site, site.name)
    return SitePage(
        **_head(account),
        checks=[*passed(*SITE_CHECKS), upload_check(f"This site uploaded {account.once}", earlier)],
        sections=_sections(
            account,
            testing,
            OwnAlignment(times=account.alignments, found=found) if account.alignments else None,
        ),
    )


def simulation_page(outcome: Any, simulated: Simulated) -> SimulationPage:
    """One trial, the numbers of each site in it, and the scores of all trials."""
    account = account_of_outcome(outcome, simulated)
    aligned = None
    if account.alignments and outcome.scatter:
        sites = {name: simulated.sites[name].outcome for name in outcome.survivors}
        aligned = Alignments(
            times=account.alignments,
            scatter=outcome.scatter,
            sites=[
                Alignment.of(site, simulated.name(name))
                for name, site in sites.items()
                if site.isometry is not None
            ],
        )
    return SimulationPage(
        **_head(account) | {"title": simulated.title},
        checks=[*account.exact(simulated), *passed(*account.checks())],
        seconds=simulated.seconds,
        sections=_sections(
            account, simulated.testing, account.held(), Scores(scores=simulated.scores), aligned
        ),
    )


def with_own_points(page: AnyPage, holdings: Any) -> AnyPage:
    """A page with the points of the site that it is for, in the frame of the model's regions, where
    it has a place for them. Points of classes that were withheld are not shown."""
    disc = page.find(Disc)
    if page.viewer not in OwnPoints.viewers or disc is None or not hasattr(holdings, "of_class"):
        return page
    column_of = {name: column for column, name in enumerate(disc.classes)}
    columns = np.array([column_of.get(str(name), -1) for name in holdings.classes])
    everywhere = np.concatenate((columns, np.full(len(holdings.withheld), -1)))[holdings.of_class]
    known = everywhere >= 0
    aligned = page.find(OwnAlignment)
    isometry = None if aligned is None or aligned.found is None else aligned.found.isometry
    points = own_points(moved(holdings.x[known], isometry), everywhere[known])
    return msgspec.structs.replace(page, sections=[*page.sections, points])


def own_points(x: ArrayLike, columns: ArrayLike) -> OwnPoints:
    """A site's points (n, 2) and the classifier's column of each, as a page carries them."""
    points = np.asarray(x, dtype="<f4")
    column = np.minimum(columns, 255).astype(np.uint8)  # beyond, colours have long begun again
    step = -(-len(points) // MOST_POINTS)
    return OwnPoints(xy=points[::step].tobytes(), columns=column[::step].tobytes(), of=len(points))


def account_of_outcome(outcome: Any, simulated: Simulated | None = None) -> Account:
    """The account of an outcome for the coordinator or a simulation."""
    record = outcome.record
    return _account(
        COORDINATOR if simulated is None else SIMULATION,
        outcome,
        bytes_up=max(record.bytes_up.values(), default=None),
        bytes_down=max(record.bytes_down.values(), default=None),
        simulation=simulated,
    )


def _account(viewer: str, of: Any, **known: Any) -> Account:
    kind = _ACCOUNTS.get(of.study.learning.summary, Account)
    return kind(viewer=viewer, of=of, **known)


def _head(account: Account) -> dict[str, Any]:
    return study_head(account.study) | {
        "kicker": account.kicker(),
        "lead": account.lead(),
        "figures": account.figures(),
        "parameters": account.parameters(),
        "sites": account.sites,
        "bytes_up": account.bytes_up,
        "bytes_down": account.bytes_down,
    }


def _sections(
    account: Account, testing: Confusion | None, *given: AnySection | None
) -> list[AnySection]:
    """Sections that every page has, and those given."""
    why_not = account.of.why_unjudged if account.own else account.of.vote.missed
    more = [
        *given,
        Verdict.of(account) if account.judged else NotJudged(why=why_not) if why_not else None,
        *account.more(),
        AgreedNames() if account.named else account.matches if account.matches.rows else None,
    ]
    counted, accuracy = account.counted, None
    if counted is not None and counted.tested and counted.correct is not None:
        evaluators = None if account.own else len(counted.evaluators)
        accuracy = Accuracy(correct=counted.correct, tested=counted.tested, evaluators=evaluators)
    made: list[AnySection | None] = [
        account.learned(),
        Disc(
            space=account.space,
            classes=account.classes,
            colours=_colours(account, testing),
            model=shown_model(account.of.model, account.space.curvature),
            hulls=account.hulls,
        ),
        Steps(steps=account.steps()),
        accuracy,
        *(each for each in more if each is not None and each.place == RESULTS),
        testing,
        *(each for each in more if each is not None and each.place != RESULTS),
    ]
    return [section for section in made if section is not None]


def _colours(account: Account, testing: Confusion | None) -> dict[str, str]:
    """The colour of each class. In a study it goes by the class's number, which the coordinator and
    all sites share, whatever each of them calls it. Simulations of the same data number classes
    differently: there it goes by name, and names that no test point has come last."""
    tested = [] if testing is None else testing.names
    if testing is None or not account.simulated:
        return colours_of([*account.classes, *tested])
    real = [name for name, row in zip(tested, testing.confusion, strict=False) if sum(row)]
    return colours_of([*by_name(real), *by_name([*tested, *account.classes])])
