"""The settings that a simulation adds to a study: trials, split, partition and dropouts."""

import re
from dataclasses import dataclass

from fedhull.disc.points import check_count
from fedhull.errors import InvalidInput

# Both summaries, the same method on pooled data, the sites by themselves, the paper's methods (Sec.
# 6.1, App. I), and the largest class.
BASELINES = (
    "FL-hulls", "FL-moments", "C", "alone", "CP", "CE", "FLP", "FLE", "CH-CP", "CH-CE", "majority",
)  # fmt: skip
# Where points come from if cells are raw: an encoder fitted to all training cells in one place,
# made by the sites of three masked sums, or fitted to the cells of the largest site.
FRAMES = ("pooled", "sums", "reference")
# Sites that lie farther apart have nothing in common any more.
_FARTHEST = 5.0


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """See `simulate` for what each setting means."""

    partition: str = "iid"
    switch_labels: bool | float = False
    agreed_names: bool = False
    site_shift: float = 0.0
    trials: int = 1
    seed: int = 0
    test_size: float = 0.15
    split_seed: int | None = None
    baselines: bool | tuple[str, ...] = False
    drop: str | None = None
    tradeoff: bool = False
    frame: str | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.switch_labels <= 1.0:
            raise InvalidInput(
                f"switch_labels must be a bool or a share of the sites, got {self.switch_labels!r}"
            )
        if not 0.0 <= self.site_shift <= _FARTHEST:
            raise InvalidInput(
                f"site_shift must be a distance from 0 to {_FARTHEST:g}, got {self.site_shift!r}; "
                f"try 0.2"
            )
        check_count(self.trials, "trials")
        check_count(self.seed, "seed", least=0)
        if not 0.0 < self.test_size < 1.0:
            raise InvalidInput(f"test_size must be between 0 and 1, got {self.test_size!r}")
        if unknown := set(self.scored) - set(BASELINES):
            raise InvalidInput(
                f"baselines must be a bool or some of {', '.join(BASELINES)}, got "
                f"{', '.join(sorted(unknown))}"
            )
        check_frame(self.frame)
        assert self.dropped[0] >= 0  # parsed here, so that it is refused here

    @property
    def scored(self) -> tuple[str, ...]:
        """The baselines that are scored: all of them, none, or those that are named."""
        if isinstance(self.baselines, bool):
            return BASELINES if self.baselines else ()
        return tuple(self.baselines)

    @property
    def dropped(self) -> tuple[int, str]:
        """Number of sites that vanish, and the step."""
        if self.drop is None:
            return 0, "upload"
        match = re.fullmatch(r"(\d{1,6})@(share|upload|unmask)", self.drop)
        if not match:
            raise InvalidInput(
                f"drop must be N@STEP with STEP share, upload or unmask, got {self.drop!r}; "
                f"try 1@upload"
            )
        return int(match[1]), match[2]

    def split_seed_of(self, trial: int) -> int:
        """The seed of a trial's split: each its own, unless one is set for all."""
        return self.seed + trial if self.split_seed is None else self.split_seed


def check_frame(frame: str | None) -> None:
    """Raise InvalidInput if no frame is called so."""
    if frame is not None and frame not in FRAMES:
        raise InvalidInput(f"frame must be one of {', '.join(FRAMES)}, got {frame!r}")
