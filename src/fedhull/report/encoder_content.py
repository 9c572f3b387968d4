"""What pages of encoder studies show."""

from fedhull.report.content import Page, Part


class EncoderRound(Part, frozen=True, kw_only=True):
    """A round of an encoder study: how many sites are in its sum, their mean loss per cell and
    gene, and what only one side knows: their cells together, or the site's own loss. A loss that
    is no finite number is None."""

    sites: int
    loss: float | None
    cells: int | None = None
    own_loss: float | None = None


class EncoderPage(Page, frozen=True, kw_only=True):
    """What all pages of encoder studies show."""

    start: str
    encoder: str
    weights: int
    genes: int
    rounds: list[EncoderRound]


class EncoderCoordinatorPage(EncoderPage, frozen=True, kw_only=True, tag="encoder-coordinator"):
    """What the coordinator has at the end of an encoder study."""


class EncoderSitePage(EncoderPage, frozen=True, kw_only=True, tag="encoder-site"):
    """What a site has: the same encoder, and its own loss."""

    name: str
    cells: int

    @property
    def private(self) -> bool:
        """It says how many cells the site holds, and its own loss."""
        return True
