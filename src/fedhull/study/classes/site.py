"""A site in a study of classes: it goes through the study's sums, and makes the published model its
own, in its own words."""

from abc import abstractmethod
from typing import Any

import msgspec
import numpy as np

from fedhull.disc.isometry import Isometry
from fedhull.errors import BadMessage, FedhullError
from fedhull.learn.centres import Centres
from fedhull.learn.site_alignment import align_site
from fedhull.learn.tally import Tally
from fedhull.protocol.client import ClientState
from fedhull.protocol.keys import Identity, Randomness, digest
from fedhull.protocol.summation import Contribution, Layout, Vector
from fedhull.study.classes.ballot import Ballot, judge, read_ballot
from fedhull.study.classes.centre_sum import CentreContribution, CentreNews, CentreSummation
from fedhull.study.classes.holdings import ClassHoldings, moved
from fedhull.study.classes.match_sum import MatchContribution, MatchNews, MatchSummation
from fedhull.study.classes.matching import is_doubtful
from fedhull.study.classes.outcome import CAME_TO_NOTHING, MODEL, NOT_ASKED, Vote, model_file
from fedhull.study.classes.pseudonym import Entry, Pseudonym
from fedhull.study.classes.publication import in_own_words, read_entries, read_publication
from fedhull.study.classes.spoiled import Spoiled
from fedhull.study.classes.standing import LAST, MATCH, Fit, Standing, Told, stages_of
from fedhull.study.noise import noise_of
from fedhull.study.site import Site
from fedhull.study.stamp import Stamp
from fedhull.study.study import Study


class ClassSite(Site):
    """First the site says what its classes are like, if that has to be found out, and aligns itself
    to the centres of all classes, if the study asks for it; a summary says what it adds to the last
    sum. After the last message, `model` is the published classifier in the site's own words,
    `names` says which class of the server's is which of the site's, `entries` what became of each
    of the site's classes, and `correct` of `tested` held-out points were classified as the site had
    labelled them. `tally` is what the site has counted of candidates, if it was asked.

    If it is told nonsense about its own classes, a site that stayed away from the next sum would
    show whose classes they are. It takes part as if nothing were wrong, and adds noise: nobody can
    open that sum, or tell because of whom.

    With the `randomness` and the `checkpoint` of an earlier object, and the messages since, a site
    takes the same course.
    """

    study: Study

    def __init__(
        self,
        study: Study,
        name: str,
        identity: Identity,
        holdings: Any,
        randomness: Randomness | None = None,
        checkpoint: bytes | None = None,
    ):
        self.holdings: ClassHoldings = holdings
        self.noise = noise_of(study)
        self.standing = Standing() if checkpoint is None else Standing.from_bytes(checkpoint)
        self.stages = stages_of(study)
        self.model: Any = None
        self.names: dict[int, Any] = {}
        self.entries: list[Entry] = []
        self.tally: Tally | None = None
        self.correct = 0
        self.tested = len(holdings.test_y)
        # the classes of the model as the server numbers them
        self.numbers = np.empty(0, dtype=int)
        super().__init__(
            study, name, identity, len(self.stages), randomness, sums_done=self.standing.done
        )
        self._object()

    @abstractmethod
    def last_contribution(self) -> Contribution:
        """What the site adds to the last sum."""

    @property
    def sent(self) -> ClassHoldings:
        """What the site has sent of, where its isometry moves its cells."""
        return self.holdings

    @property
    def sent_classes(self) -> list[Any]:
        """The classes of which something was sent under labels, in the order of labels."""
        return self.holdings.classes

    @property
    def stage(self) -> str:
        """Which sum is next or under way, or was the last."""
        return self.stages[min(self.sums_done, self.n_sums - 1)]

    @property
    def isometry(self) -> Isometry | None:
        """By what the site moves its cells; None leaves them where they are. Nobody is told."""
        return self.standing.isometry

    @property
    def n_classes(self) -> int:
        """How many classes there are over all sites, once that is known."""
        told = self.standing.told
        return len(self.study.agreed) if told is None else told.n_classes

    @property
    def class_numbers(self) -> list[list[int]]:
        """The numbers of each of the site's classes, once they are known."""
        if self.standing.told is None:
            return self.holdings.agreed_numbers(self.study.agreed)
        return [[entry.number] if entry.known else [] for entry in self.standing.told.entries]

    @property
    def model_centres(self) -> Centres | None:
        """The centres of the model's classes that were published last, if any were."""
        packed = self.standing.centres
        if not packed:
            return None
        among = self.centre_numbers
        centres = Centres.unpacked(np.array(packed, dtype=np.int64), self.n_classes)
        return centres.only([among.get(number, -1) for number in self.numbers.tolist()])

    @property
    def centre_numbers(self) -> dict[int, int]:
        """{number of a class of the model: its number among the centres}."""
        return {number: number for number in self.numbers.tolist()}

    @property
    def pseudonym(self) -> Pseudonym | None:
        """What the site goes by: in this sum, or in that in which it said what its classes are
        like."""
        drawn = self.session.drawn
        return drawn if isinstance(drawn, Pseudonym) else self.standing.went_by

    @property
    def label_of_class(self) -> list[int]:
        """Under which label each of the site's classes was sent, in the site's order."""
        return [] if self.pseudonym is None else self.pseudonym.labels

    @property
    def receipt(self) -> bytes | None:
        """Where the site stood when it uploaded, and what it goes by."""
        if not self.session.uploaded and not self.sums_done:
            return None
        drawn = b"" if self.pseudonym is None else self.pseudonym.to_bytes()
        return msgspec.structs.replace(self.standing, pseudonym=drawn).to_bytes()

    @property
    def checkpoint(self) -> bytes | None:
        """What is to be kept when a sum other than the last has just ended."""
        between = 0 < self.sums_done < self.n_sums and self.session.state is ClientState.READY
        return self.standing.to_bytes() if between else None

    def contribution(self) -> Contribution:
        """What the site adds to the next sum."""
        made = self._contribution()
        told = self.standing.told
        return Spoiled(made) if told is not None and told.objection else made

    def _contribution(self) -> Contribution:
        study, held = self.study, self.holdings
        if self.stage == MATCH:
            sketches = held.places(study) if study.alignments else held.sketches
            if self.noise is not None:
                n_slots, key = study.labels.classes, self.noise_key("slots")
                sketches = self.noise.slots(sketches, n_slots, key)
            return MatchContribution(MatchSummation(study), sketches)
        if self.stage == LAST:
            return self.last_contribution()
        numbers, n_classes = self.class_numbers, self.n_classes
        summation = CentreSummation(study, self.sums_done + 1, n_classes, self.standing.basis)
        once = [mine if len(mine) == 1 else [] for mine in numbers]
        return CentreContribution(
            summation,
            held.counts(once, n_classes),
            lambda: held.centres(study, numbers, n_classes, self.isometry),
        )

    def noise_key(self, purpose: str, shown: bytes = b"") -> bytes:
        """What the site's noise is drawn from: the same, should it have to go on after a stop, and
        another for anything else that it is `shown`, so that no noise is ever on two sums."""
        return self._randomness.token(f"noise in {purpose} {digest(shown).hex()}")

    def ballot_layout(self, proposed: bytes) -> Layout:
        """As many numbers as the candidates and their classes take."""
        try:
            return self._ballot(proposed).layout
        except BadMessage:
            return Layout(())

    def judge(self, proposed: bytes) -> Vector:
        """How the candidates do on the site's held-out points."""
        self._check_told()
        ballot, held = self._ballot(proposed), self.holdings
        number = self.numbers_in(ballot)
        numbers = np.array([number.get(name, -1) for name in held.test_y.tolist()], dtype=np.int64)
        tested, cells = (moved(x, self.isometry) for x in (held.test_x, held.x))
        self.tally = judge(self.study, ballot, tested, numbers, cells)
        counted = self.tally.packed()
        if self.noise is not None:
            n_candidates, n_classes = len(ballot.models), len(ballot.classes)
            key = self.noise_key("votes", proposed)
            counted += self.noise.votes(n_candidates, n_classes, key)
        return ballot.vector(counted)

    def numbers_in(self, ballot: Ballot) -> dict[Any, int]:
        """{a class of the site's: its number among those of the candidates}."""
        known = zip(self.holdings.classes, self.class_numbers, strict=True)
        return {name: mine[0] for name, mine in known if len(mine) == 1}

    def _ballot(self, proposed: bytes) -> Ballot:
        """What is proposed, once, after the last sum."""
        if not self.study.learning.ballot or self.stage != LAST:
            raise BadMessage("the server asks for a judgement that the study does not provide for")
        return read_ballot(self.study, proposed)

    def take(self, published: bytes) -> tuple[int, int] | None:
        """Which class is which, the centres of all classes, or the model."""
        if self.stage == LAST:
            self._check_told()
            return self._use(published)
        if self.stage == MATCH:
            self._take_match(published)
        else:
            self._take_centres(published)
        self.standing.sizes.append(self.session.size)
        self.standing.basis = digest(published)
        self.standing.done += 1
        return None

    def _take_match(self, published: bytes) -> None:
        pseudonym, news = self.pseudonym, MatchNews.from_bytes(published)
        assert pseudonym is not None
        # what is wrong for everybody may be refused by everybody
        if news.n_classes > self.study.labels.classes * len(self.study.clients):
            raise BadMessage(
                f"the server says that there are {news.n_classes} classes, more than all sites "
                f"together can have"
            )
        self.standing.pseudonym = pseudonym.to_bytes()
        self.standing.told = _read(self.study, news, pseudonym, len(self.holdings.classes))
        self._object()

    def _take_centres(self, published: bytes) -> None:
        # what are no centres, all sites refuse alike; what they cannot align themselves to depends
        # on their cells, so they stay where they are, and on to the next sum
        total = CentreNews.centres_in(published, self.n_classes)
        if (total.counts > np.array(self.session.totals)).any():
            # else a class that this site has alone could be passed off as everybody's
            raise BadMessage("the server publishes centres of more cells than sites have announced")
        x, number = self.holdings.numbered(self.class_numbers)
        curvature = self.study.geometry.curvature
        try:
            self._check_told()
            found = align_site(x, number, total, self.isometry, curvature)
        except (FedhullError, ArithmeticError, np.linalg.LinAlgError):
            return
        self.standing.centres = total.packed().tolist()
        self.standing.moved_by = found.isometry.to_json()
        self.standing.fits.append(Fit(found.before, found.misfit))

    def _use(self, published: bytes, complete: bool = True) -> tuple[int, int]:
        """Name the model's classes, and try it on the held-out points. A model that is `complete`
        knows each of the site's classes."""
        held = self.holdings
        read = read_publication(self.study, published, self.pseudonym, self.sent_classes, complete)
        model = read.model
        if self.tested:
            right = self._true_numbers(read.names, read.entries) == model.predict(
                moved(held.test_x, self.isometry)
            )
            self.correct = int(right.sum())
        self.numbers = model.classes_
        model.classes_ = in_own_words(model, read.names)
        self.model, self.names, self.entries = model, read.names, read.entries
        # counts without noise are nobody's to have
        return (self.correct, self.tested) if self.noise is None else (0, 0)

    def take_late(self, published: bytes, receipt: bytes) -> None:
        """What a site makes of a publication that it has missed, given its receipt."""
        self.standing = Standing.from_bytes(receipt)
        self._use(published, complete=False)
        self.sums_done = self.n_sums

    def files(self, stamp: Stamp | None = None) -> dict[str, bytes]:
        """The model, in the site's words, for the cells of this site. A site that has missed the
        end of the session does not know who else was in the sum."""
        isometry, model = self.isometry, self.model
        if isometry is not None:
            # scikit-learn, on which it stands, is slow to import
            from fedhull.learn.aligned import AlignedClassifier

            model = AlignedClassifier(model, isometry, self.name, self.study.hash.hex())
        survivors = self.session.survivors
        return {MODEL: model_file(model, self.study, self.model_centres, stamp, survivors)}

    def result(self) -> dict[str, Any]:
        """Plain numbers and words."""
        return {
            "study": self.study.name,
            "study_hash": self.study.hash.hex(),
            "site": self.name,
            "summary": self.study.learning.summary,
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
            "alignment": [[fit.before, fit.after] for fit in self.standing.fits],
            "correct": self.correct,
            "tested": self.tested,
            "accuracy": 100.0 * self.correct / self.tested if self.tested else None,
        }

    def _true_numbers(self, names: dict[int, Any], entries: list[Entry]) -> np.ndarray:
        """The server's number of each held-out point's class; −1 where it has none."""
        held = self.holdings
        number = {name: number for number, name in names.items()}
        sent = zip(self.sent_classes, entries, strict=False)
        number |= {name: entry.number for name, entry in sent}
        return np.array([number.get(name, -1) for name in held.test_y.tolist()])

    @property
    def why_unjudged(self) -> str:
        """Why the model was not judged before it was published, as far as a site knows; empty if it
        was."""
        if self.model.judged_ is not None:
            return ""
        return CAME_TO_NOTHING if self.study.learning.ballot else NOT_ASKED

    def _check_told(self) -> None:
        """Raise what is wrong with what the site was told of its classes."""
        told = self.standing.told
        if told is not None and told.objection:
            raise BadMessage(told.objection)

    def _object(self) -> None:
        try:
            self._check_told()
        except BadMessage as problem:
            self.complaint = problem


def _read(study: Study, news: MatchNews, pseudonym: Pseudonym, n: int) -> Told:
    """What the news says of the site's n classes, or what is wrong with that."""
    try:
        entries = read_entries(study, news.entries, pseudonym, news.bound_to)[:n]
        found = [entry.number for entry in entries if entry.known]
        numbers = set(found)
        if len(numbers) < len(found) or not numbers <= set(range(news.n_classes)):
            raise BadMessage("the server takes two of this site's classes for one, or for none")
    except FedhullError as problem:
        # any classes will do for numbers that noise is added to
        anything = [Entry(i % news.n_classes, None, 0) for i in range(n)]
        return Told(news.n_classes, anything, f"{problem}")
    return Told(news.n_classes, entries)
