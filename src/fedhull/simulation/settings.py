"""What a simulated study is made of, checked at the door."""

import re
from dataclasses import dataclass

from fedhull.codes.coding import check_code_name
from fedhull.disc.points import check_count, check_curvature, check_positive
from fedhull.errors import InvalidInput
from fedhull.learn.classifiers import CLASSIFIERS
from fedhull.learn.grouping import GROUPINGS
from fedhull.learn.guard import Guard


@dataclass(frozen=True)
class Settings:
    """See `simulate` for what each setting means."""

    clients: int
    epsilon: float
    radius: float | None = None
    curvature: float = 1.0
    method: str = "lorentz"
    grouping: str = "matching"
    guard: str = "edit+trim:0.02"
    label_code: str = "auto"
    partition: str = "iid"
    switch_labels: bool | float = False
    trials: int = 1
    seed: int = 0
    test_size: float = 0.15
    split_seed: int | None = None
    baselines: bool = False
    drop: str | None = None
    strength: float = 0.1
    tradeoff: bool = False

    def __post_init__(self) -> None:
        check_count(self.clients, "clients", least=2)
        check_positive(self.epsilon, "epsilon", "0.01")
        check_positive(self.strength, "strength", "0.1")
        if not 0.0 <= self.switch_labels <= 1.0:
            raise InvalidInput(
                f"switch_labels must be a bool or a share of the sites, got {self.switch_labels!r}"
            )
        check_curvature(self.curvature)
        check_count(self.trials, "trials")
        check_count(self.seed, "seed", least=0)
        check_code_name(self.label_code)
        Guard.parse(self.guard)
        CLASSIFIERS.check(self.method)
        GROUPINGS.check(self.grouping)
        if not 0.0 < self.test_size < 1.0:
            raise InvalidInput(f"test_size must be between 0 and 1, got {self.test_size!r}")
        n_dropped, _ = self.dropped
        if n_dropped >= self.clients:
            raise InvalidInput(f"drop = {self.drop!r} leaves none of {self.clients} clients")

    @property
    def dropped(self) -> tuple[int, str]:
        """How many clients vanish, and at which step."""
        if self.drop is None:
            return 0, "upload"
        found = re.fullmatch(r"(\d{1,6})@(share|upload|unmask)", self.drop)
        if not found:
            raise InvalidInput(
                f"drop must be N@STEP with STEP share, upload or unmask, got {self.drop!r}; "
                f"try 1@upload"
            )
        return int(found[1]), found[2]
