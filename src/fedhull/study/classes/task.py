"""What tasks in which sites have classes share: how data are read, and what is said at the end."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fedhull.data.files import read_column
from fedhull.embed.embedder import CellEmbedder
from fedhull.errors import InvalidInput
from fedhull.protocol.agreement import collusion_words
from fedhull.study.classes.holdings import ClassHoldings
from fedhull.study.classes.plan import Plan
from fedhull.study.classes.standing import stages_of
from fedhull.study.classes.told import BOTH_FROM
from fedhull.study.frame import load_points, read_encoder
from fedhull.study.naming import agreed_labels, read_map
from fedhull.study.study import Study
from fedhull.study.task import Source, Task
from fedhull.text import printable


@dataclass(frozen=True)
class ClassTask(Task):
    """A classifier is learned from what sites say of their classes; `encoder` places cells in the
    disc, if the study has one."""

    study: Study
    encoder: CellEmbedder | None = None
    product = "model"
    needs_labels = True

    @classmethod
    def of(cls, study: Study, encoder: bytes | None) -> Self:
        """The task, given the content of the encoder's file if the study names one."""
        return cls(study, read_encoder(study, encoder))

    @property
    def sums(self) -> int:
        """As many as it takes to match classes, to align sites, and to learn."""
        return len(stages_of(self.study))

    @abstractmethod
    def prepare(
        self,
        x: np.ndarray,
        y: np.ndarray,
        donors: np.ndarray | None = None,
        several: Mapping[str, list[str]] | None = None,
    ) -> Any:
        """What a site with points (n, 2) and labels (n,) would take into the study; some of its
        classes may stand for `several` of those that are agreed on."""

    @abstractmethod
    def hold(self, x: np.ndarray, y: np.ndarray, classes: np.ndarray) -> Any:
        """The same for a rehearsal: no point is kept for testing, and the site numbers its classes
        in this order."""

    @abstractmethod
    def plan(self, holdings: Any, corners: int) -> Plan:
        """What the study would send, if a site holds this; with None, for any site, whose hulls, if
        it sends any, have so many corners."""

    @abstractmethod
    def leaving(self, holdings: Any) -> list[str]:
        """What of these holdings would leave, in words: class by class, and in all."""

    @property
    def of_slots(self) -> str:
        """What is said of the cells of a class so that it can be matched, besides their number."""
        if self.study.alignments:
            return (
                f"its place, five numbers for where their middle is and how they spread, and if "
                f"there are {BOTH_FROM} or more a sketch, eight sums over them,"
            )
        return "a sketch, eight sums over them,"

    def aligning(self) -> list[str]:
        """What leaves of a site, and what it does itself, so that sites fit together."""
        times = self.study.alignments
        if not times:
            return []
        return [
            f"{'Once' if times == 1 else 'Twice'} before the last sum, the number of cells of each "
            f"class and the sum of their positions leave, masked. The coordinator reads the totals "
            f"over all sites, the centres of the classes, and publishes them to all sites; of a "
            f"class that is yours alone nothing leaves here. Your cells are then turned and moved "
            f"as a whole, on this machine, so that they fit the others'; nobody is told how."
        ]

    def read(self, source: Source) -> Any:
        """Place the cells, keep some for testing, and make of the others what would leave."""
        donor = source.donor
        points, labels = load_points(self.encoder, source.data, source.label, source.layer, donor)
        donors = None if donor is None else read_column(source.data, donor)
        if not self.study.agreed:
            if source.names is not None:
                raise InvalidInput("--map is for studies with [classes] names; this one has none")
            return self.prepare(points, labels, donors)
        own = {} if source.names is None else read_map(source.names)
        names, several = agreed_labels(labels.tolist(), self.study.agreed, own)
        return self.prepare(points, names, donors, several)

    def explain(self, name: str, holdings: ClassHoldings) -> list[str]:
        """How many of how many points leave, in what form, to whom."""
        study = self.study
        placed = (
            f"Your cells are placed in the disc on this machine, by the study's encoder "
            f"{study.encoder_hash} (SHA-256)."
        )
        return [
            f"Study '{study.name}', hash {study.hash.hex()}, coordinated by the holder of key "
            f"{study.coordinator or 'none'}; you are {name}, one of {len(study.clients)} sites.",
            *([placed] if study.encoder_hash else []),
            f"You hold {len(holdings.x):,} points in {len(holdings.lines)} classes:",
            *self.leaving(holdings),
            f"The coordinator also gets one masked count: how many of your "
            f"{len(holdings.test_y):,} test points the model gets right, which it can only read as "
            f"a sum over sites.",
            collusion_words(study),
        ]

    def summarize(self, result: Mapping[str, Any]) -> str:
        """How well the model does, and at a site in which words it speaks."""
        doubtful = [match for match in result["matches"] if match["doubtful"]]
        if "site" not in result:
            known = result["accuracy"] is not None
            words = (
                f"Accuracy: {result['accuracy']:.2f} % of {result['tested']:,} held-out points, "
                f"counted at {len(result['evaluators'])} sites."
                if known
                else "Accuracy: not known, because a site that was asked did not answer, or no "
                "site held points out."
            )
            if doubtful:
                numbers = ", ".join(str(match["number"] + 1) for match in doubtful)
                words += (
                    f"\nCareful: it is not certain that all that was put into class {numbers} "
                    f"belongs there; the page says how certain."
                )
            return words
        names = ", ".join(map(printable, result["classes"].values()))
        words = f"The model uses your class names: {names}."
        if doubtful:
            names = ", ".join(printable(match["name"]) for match in doubtful)
            words += (
                f"\nCareful: the coordinator is not sure that it has matched these with the right "
                f"classes of other sites: {names}."
            )
        if result["tested"]:
            words += (
                f"\nIt is right on {result['accuracy']:.2f} % of the {result['tested']:,} points "
                f"you held out."
            )
        return words
