"""The verdict of all sites' held-out cells on the model, class by class; or why there is none."""

from typing import Any

from fedhull.report.sections import Part, Section, Text
from fedhull.report.words import count

TITLE = "Judged by all sites' held-out cells"


class ClassScore(Part, frozen=True, kw_only=True):
    """A class of the model on all sites' held-out cells: their number, and recall and precision in
    percent, where there is something to go by."""

    name: str
    cells: int
    recall: float | None
    precision: float | None


class Verdict(Section, frozen=True, kw_only=True):
    """The ballot: the held-out cells, those of which the site holds too few to name their class,
    the error of the counts, the `candidate` chosen out of `candidates`, and in what it was
    right. Logits were divided by `temperature`; at most one held-out cell in a hundred is farther
    than `reach` from all classes. With `noisy` counts, noise is why they may be off. A site's
    reader is told that its own are not known (`own`)."""

    cells: int
    unnamed: int
    tolerance: int
    candidates: int
    candidate: str
    is_default: bool
    accuracy: float
    log_loss: float
    temperature: float
    calibration_error: float
    reach: float
    classes: list[ClassScore]
    noisy: bool = False
    own: bool = False

    @classmethod
    def of(cls, account: Any) -> "Verdict":
        """The verdict on the model of an account."""
        judged = account.judged
        rows = zip(account.classes, judged.confusion, judged.recall, judged.precision, strict=True)
        same = ("cells", "unnamed", "tolerance", "candidates", "candidate", "accuracy", "log_loss",
                "temperature", "calibration_error", "reach")  # fmt: skip
        return cls(
            **{name: getattr(judged, name) for name in same},
            is_default=judged.chosen == 0,
            classes=[
                ClassScore(name=name, cells=sum(row), recall=recall, precision=precision)
                for name, row, recall, precision in rows
            ],
            noisy=account.noise is not None,
            own=account.own,
        )

    def text(self) -> Text:
        """The candidate chosen, how well it does, and how sure it may be taken to be."""
        unnamed = (
            f"{self.unnamed:,} of the cells are of classes of which their site holds out too few "
            f"to say which they are; they are missing from the table."
        )
        whose = "These are counts over all sites together; no site's own are known to another."
        return Text.of(
            TITLE,
            self._chosen(),
            self._sure(),
            f"A cell that is farther from the centre of every class than {self.reach:.2g} times "
            f"the spread of that class is best left unassigned; at most 1 % of these cells are.",
            unnamed if self.unnamed else "",
            whose if self.own else "",
            columns=["class", "held-out cells", "found (recall)", "right (precision)"],
            rows=[
                [row.name, f"{row.cells:,}", _percent(row.recall), _percent(row.precision)]
                for row in self.classes
            ],
        )

    def _chosen(self) -> str:
        default = "the study's default, which no other candidate was clearly better than"
        return (
            f"Before the model was published, the sites tried "
            f"{count(self.candidates, 'candidate')} on {self.cells:,} cells that nothing was "
            f"trained on. Chosen: {default if self.is_default else self.candidate}. It is right on "
            f"{self.accuracy:.1f} % of these cells{self._give_or_take()}."
        )

    def _give_or_take(self) -> str:
        if not self.tolerance:
            return ""
        why = (
            "there is noise in what they count"
            if self.noisy
            else "for candidates that differ on very few cells of a site, the site gives the same "
            "numbers"
        )
        return f", give or take {self.tolerance:,} cells: {why}"

    def _sure(self) -> str:
        t = self.temperature
        corrected = (
            "Its probabilities needed no correction"
            if t == 1.0
            else f"Its probabilities were made {'more cautious' if t > 1.0 else 'surer'} "
            f"(temperature {t:.2g})"
        )
        off = 100.0 * self.calibration_error
        return f"{corrected}; on these cells they are off by {off:.1f} points on average."


class NotJudged(Section, frozen=True, kw_only=True):
    """The reason why sites have not judged the model."""

    why: str

    def text(self) -> Text:
        """One sentence."""
        words = f"The model is the study's default, and not calibrated: {self.why}."
        return Text.of("Not judged by held-out cells", words)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} %"
