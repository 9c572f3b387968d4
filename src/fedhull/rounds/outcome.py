"""Results of a study of classes, for the coordinator and for a site."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from fedhull.disc.isometry import Isometry
from fedhull.learn.centres import Centres
from fedhull.learn.content import Carried, Judged, Provenance
from fedhull.learn.model import model_to_json
from fedhull.rounds.counts import Counts
from fedhull.rounds.disclosure import Disclosure
from fedhull.rounds.holdings import ClassHoldings
from fedhull.rounds.matching import Match, is_doubtful
from fedhull.rounds.round import Known, Opened, Passed, Record, disclosures
from fedhull.study.study import Study

MODEL = "model.json"
# Reasons why no site has judged the model before it was published.
NOT_ASKED = "the study has no ballot"
LOST_IN_NOISE = "the sites hold out too few cells for their votes to stand out from the noise"
TOO_FEW = "the sites have too few held-out cells to judge by"
TOO_MANY = "there are too many classes for a ballot"
CAME_TO_NOTHING = "a site that was asked did not answer, or there are too few held-out cells"
LEARNED_AGAIN = "the model was learned again from the sum, and sites were not asked about it"


def unanswered(silent: Sequence[str]) -> str:
    """The reason why the sum of the sites' judgements could not be opened, if these have not
    answered."""
    if silent:
        return f"{', '.join(silent)} did not answer when candidates were proposed"
    return "a site that was asked to judge candidates objected, or answered something else"


@dataclass(frozen=True, repr=False)
class Stamp:
    """On which day (UTC, as YYYY-MM-DD) and by which version of fedhull a file is written, and the
    content of the file that the study names, if it names one."""

    date: str
    fedhull: str
    attached: bytes | None = None

    @cached_property
    def attached_hash(self) -> str | None:
        """By which a study names the file."""
        return None if self.attached is None else hashlib.sha256(self.attached).hexdigest()


@dataclass(frozen=True)
class Vote:
    """The sites' judgement of the model's candidates, and the sites asked; or the reason why there
    is none."""

    judged: Judged | None = None
    judges: list[str] = field(default_factory=list)
    missed: str = ""

    @property
    def counts(self) -> Counts | None:
        """The held-out cells that are classified correctly, and all, if that is known."""
        if self.judged is None:
            return None
        return Counts(self.judged.correct, self.judged.cells, self.judges)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        if self.judged is None:
            return {"held": False, "why_not": self.missed}
        return {"held": True, "why_not": None} | msgspec.to_builtins(self.judged)


@dataclass(frozen=True, repr=False, kw_only=True)
class ClassOutcome:
    """The coordinator's result: the model, whose classes are numbers, which every site names in its
    own words; what it was learned from; the sites' judgement before it was published, its accuracy,
    and the costs of the study."""

    study: Study
    round: Any
    rounds: Sequence[Any]
    known: Known
    opened: list[Opened]
    learned: Any
    model: Any
    vote: Vote
    counts: Counts
    learning_seconds: dict[str, float]
    record: Record

    def __repr__(self) -> str:
        return (
            f"ClassOutcome({self.study.name!r}, {len(self.survivors)} of "
            f"{len(self.study.clients)} sites)"
        )

    @property
    def survivors(self) -> list[str]:
        """The sites in the last sum."""
        return self.opened[-1].survivors

    @property
    def total(self) -> Any:
        """The last sum, as the summary decodes it."""
        return self.opened[-1].total

    @property
    def match(self) -> Match | None:
        """The match of labels, if they were matched."""
        return self.learned.match

    @property
    def centres(self) -> list[Centres]:
        """The centres of all classes that were published for sites to align themselves to."""
        return [each.total for each in self.opened if isinstance(each.total, Centres)]

    @property
    def scatter(self) -> list[float]:
        """Scatter of cells about the centres of their classes, root mean square over all sites,
        each time that the centres were summed: all that is known of how well the sites fit
        together."""
        curvature = self.study.geometry.curvature
        return [
            float(np.sqrt(c.counts @ c.scatter() / max(c.counts.sum(), 1) / curvature))
            for c in self.centres
        ]

    @property
    def model_centres(self) -> Centres | None:
        """The centres of the model's classes that were published last, if any were and their
        numbers are still those of the model."""
        kept = self.round.keeps_numbers or self.study.classes.names
        if not self.centres or not kept:
            return None
        return self.centres[-1].only(self.model.classes_)

    @property
    def seconds(self) -> dict[str, float]:
        """The seconds of each step, and of learning."""
        return self.record.seconds | self.learning_seconds

    @property
    def names(self) -> list[str]:
        """The coordinator's names of the model's classes: as agreed, or by their numbers."""
        return list(map(self.study.classes.name_of, self.model.classes_.tolist()))

    @property
    def disclosures(self) -> list[Disclosure]:
        """Everything that has left any site."""
        return disclosures(self.rounds)

    def published(self) -> bytes:
        """The final publication."""
        return self.round.write(self.round.publication(self.model, self.learned))

    def is_exact(self, sites: Mapping[str, Any]) -> bool:
        """True if the opened sum is that of what the sites have put in, to the last bit; only a
        rehearsal can tell."""
        return self.round.is_exact(self, sites)

    def fewest_cells(self, holdings: Iterable[ClassHoldings]) -> int:
        """The fewest cells behind anything that left, if the sites in the sum hold this."""
        return self.round.fewest_cells(self.total, holdings)

    def files(self, stamp: Stamp | None = None) -> dict[str, bytes]:
        """The model's file; where names are agreed, it speaks them. With a stamp it says where it
        comes from, and carries the study's encoder."""
        model = copy(self.model)
        model.classes_ = self.study.classes.in_words(model.classes_)
        file = model_file(model, self.study, self.model_centres, stamp, self.survivors)
        return {MODEL: file}

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        study, record = self.study, self.record
        return {
            "study": study.name,
            "study_hash": study.hash.hex(),
            "summary": study.learning.summary,
            "clients": sorted(study.clients),
            "survivors": self.survivors,
            "failures": record.failures,
            "accuracy": self.counts.accuracy,
            "correct": self.counts.correct,
            "tested": self.counts.tested,
            "evaluators": self.counts.evaluators,
            "ballot": self.vote.to_json(),
            "classes": len(self.model.classes_),
            "matches": [] if self.match is None else msgspec.to_builtins(self.match.classes()),
            "scatter": self.scatter,
            "bytes_up": record.bytes_up,
            "bytes_down": record.bytes_down,
            "seconds": self.seconds,
            **self.round.describe(self.total),
            **self._matched_before,
        }

    @property
    def matched_sites(self) -> list[str]:
        """The sites in the round that matched classes, if it was not the last."""
        return self.opened[0].survivors if self.match is not None and self.opened[1:] else []

    @property
    def _matched_before(self) -> dict[str, Any]:
        return {"matched_sites": self.matched_sites} if self.round.keeps_numbers else {}


@dataclass(frozen=True, repr=False, kw_only=True)
class ClassSiteOutcome:
    """A site's result: the model in its own words, the entry of each of its classes, and its
    alignment; `tally` holds its counts for the candidates, if it was asked, and `veto` its
    objection to them."""

    study: Study
    round: Any
    rounds: Sequence[Any]
    name: str
    holdings: ClassHoldings
    sent: ClassHoldings
    sent_classes: list[Any]
    pseudonym: Any
    finding: Any
    centres: Centres | None
    isometry: Isometry | None
    alignments: list[Any]
    tally: Any
    veto: Exception | None
    survivors: list[str]
    passed: list[Passed]

    @property
    def model(self) -> Any:
        """The published classifier, which calls its classes what the site does."""
        return self.finding.model

    @property
    def names(self) -> dict[int, Any]:
        """{number of a class: the site's name for it}."""
        return self.finding.names

    @property
    def entries(self) -> list[Any]:
        """The entry of each class that was sent."""
        return self.finding.entries

    @property
    def label_of_class(self) -> list[int]:
        """The label under which each of the site's classes was sent, in the site's order."""
        return [] if self.pseudonym is None else self.pseudonym.labels

    @property
    def disclosures(self) -> list[Disclosure]:
        """Everything that has left this site."""
        return disclosures(self.rounds, self.holdings)

    def size_of(self, name: str) -> int | None:
        """The numbers that the site sent in a round of this name, as far as a site that came late
        remembers it."""
        passed = next((each for each in self.passed if each.name == name), None)
        return None if passed is None else passed.size or None

    @property
    def why_unjudged(self) -> str:
        """The reason why the model was not judged before it was published, as far as a site knows;
        empty if it was."""
        if self.model.judged_ is not None:
            return ""
        return CAME_TO_NOTHING if self.study.learning.ballot else NOT_ASKED

    def files(self, stamp: Stamp | None = None) -> dict[str, bytes]:
        """The model, in the site's words, for the cells of this site. A site that has missed the
        end of the session does not know who else was in the sum."""
        model = self.model
        if self.isometry is not None:
            # scikit-learn, on which it stands, is slow to import
            from fedhull.learn.aligned import AlignedClassifier

            model = AlignedClassifier(model, self.isometry, self.name, self.study.hash.hex())
        return {MODEL: model_file(model, self.study, self.centres, stamp, self.survivors)}

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and words."""
        study, found = self.study, self.finding
        return {
            "study": study.name,
            "study_hash": study.hash.hex(),
            "site": self.name,
            "summary": study.learning.summary,
            "classes": {str(number): name for number, name in sorted(self.names.items())},
            "matches": [
                {
                    "name": str(name),
                    "class": entry.number,
                    "sites": entry.sites,
                    "certainty": None if entry.percent is None else entry.percent / 100.0,
                    "doubtful": is_doubtful(entry.percent),
                }
                for name, entry in zip(self.sent_classes, self.entries, strict=False)
                if entry.known
            ],
            "ballot": Vote(self.model.judged_, missed=self.why_unjudged).to_json()
            | {
                "counted": 0 if self.tally is None else self.tally.n_cells,
                "objection": None if self.veto is None else str(self.veto),
            },
            "alignment": [[each.before, each.after] for each in self.alignments],
            "correct": found.correct,
            "tested": found.tested,
            "accuracy": 100.0 * found.correct / found.tested if found.tested else None,
            **self.round.describe_site(self.sent, self.holdings),
        }


def model_file(
    model: Any,
    study: Study,
    centres: Centres | None = None,
    stamp: Stamp | None = None,
    survivors: Sequence[str] | None = None,
) -> bytes:
    """The file of a model that was learned in a study; `survivors` are the sites in the sum, if
    they are known."""
    content = model_to_json(model, study.attached, centres)
    if stamp is not None:
        judged: Judged | None = getattr(model, "judged_", None)
        provenance = Provenance(
            study=study.name,
            study_hash=study.hash.hex(),
            summary=study.learning.summary,
            sites=len(study.clients),
            survivors=sorted(survivors) if survivors else None,
            accuracy=None if judged is None else judged.accuracy,
            cells=None if judged is None else judged.cells,
            fedhull=stamp.fedhull,
            date=stamp.date,
        )
        encoder = stamp.attached if study.attached == stamp.attached_hash else None
        content = Carried(provenance=provenance, encoder_file=encoder).added_to(content)
    return (json.dumps(content, indent=1) + "\n").encode()
