"""What pages of encoder studies show."""

from fedhull.report.content import Page, Part


class AutoencoderRound(Part, frozen=True, kw_only=True):
    """A round of an encoder study: how many sites are in its sum, their mean loss per cell and
    gene, and what only one side knows: their cells together, or the site's own loss. A loss that
    is no finite number is None."""

    sites: int
    loss: float | None
    cells: int | None = None
    own_loss: float | None = None


class AutoencoderPage(Page, frozen=True, kw_only=True):
    """What all pages of encoder studies show."""

    start: str
    encoder: str
    weights: int
    genes: int
    rounds: list[AutoencoderRound]


class AutoencoderCoordinatorPage(
    AutoencoderPage, frozen=True, kw_only=True, tag="encoder-coordinator"
):
    """What the coordinator has at the end of an encoder study."""


class AutoencoderSitePage(AutoencoderPage, frozen=True, kw_only=True, tag="encoder-site"):
    """What a site has: the same encoder, and its own loss. So many `earlier_sessions` over the same
    data came before this one."""

    name: str
    earlier_sessions: int = 0
    cells: int

    @property
    def private(self) -> bool:
        """It says how many cells the site holds, and its own loss."""
        return True
