"""The part of a sum in which every site says, unnamed, how many cells its classes have and where
they lie: a slot for each place, and one for each label."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fedhull.codes.field import Field
from fedhull.codes.power_sums import SlotCoding, signed, unsigned
from fedhull.errors import InvalidInput, UnknownLabelSum
from fedhull.study.classes.pseudonym import SLOT_WIDTH, Pseudonym, Told, checked_secret
from fedhull.study.classes.told import length_told, understand
from fedhull.study.study import Study

Bins = Mapping[int, Sequence[int]]


@dataclass(frozen=True, repr=False)
class SlotTotal:
    """What the server learns: for each place the secret that it shares with whoever has it, and for
    each label how many cells stand behind it and their sketch."""

    secrets: dict[int, tuple[int, ...]] = field(default_factory=dict)
    sketches: dict[int, list[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class SlotSums:
    """How slots travel: two vectors, one over places and one over labels. What is said of a label
    is the count of its cells and their sketch or, if they are `placed`, where they lie."""

    study: Study
    placed: bool = False

    @property
    def of_places(self) -> SlotCoding:
        """Secrets and tags."""
        return SlotCoding(self.study.places, SLOT_WIDTH)

    @property
    def of_labels(self) -> SlotCoding:
        """Counts and sketches, or counts and where cells lie."""
        return SlotCoding(
            self.study.places * self.study.labels.classes, 1 + length_told(self.placed)
        )

    def layout(self, participants: int) -> tuple[tuple[Field, int], ...]:
        """The field and the length of either vector."""
        return (
            (self.of_places.field, self.of_places.length(participants)),
            (self.of_labels.field, self.of_labels.length(self._labels(participants))),
        )

    def encode(
        self,
        drawn: Pseudonym,
        sketches: Mapping[int, Sequence[int]],
        participants: int,
        hulls: Bins | None = None,
    ) -> list[list[int]]:
        """Both vectors of a site that says this of its labels, and beside it has sent `hulls`."""
        slot = drawn.slot(_told(sketches, hulls))
        numbers = {label: unsigned(sketch) for label, sketch in sketches.items()}
        return [
            self.of_places.encode({drawn.place: slot}, participants),
            self.of_labels.encode(numbers, self._labels(participants)),
        ]

    def decode(
        self,
        vectors: Sequence[Sequence[int]],
        survivors: int,
        participants: int,
        hulls: Bins | None = None,
    ) -> SlotTotal:
        """What the sites say, if each has used labels of one place, its own."""
        of_places, of_labels = vectors
        slots = self.of_places.decode(of_places, participants)
        found = self.of_labels.decode(of_labels, self._labels(participants))
        sketches = {label: signed(numbers) for label, numbers in found.items()}
        self._check_places(sketches, slots, survivors, participants)
        if hulls is not None and hulls.keys() != sketches.keys():
            raise UnknownLabelSum("the sum has hulls without counts, or counts without hulls")
        self._check_told(sketches)
        secrets: dict[int, tuple[int, ...]] = {}
        for place, slot in slots.items():
            mine = self.study.labels_of(place)
            of_place = {label: sketches[label] for label in mine if label in sketches}
            secret = checked_secret(slot, place, _told(of_place, hulls))
            if secret is None:
                raise UnknownLabelSum(
                    "what the sum says of one place is not what its site has sent: another site "
                    "has added to it; nobody can tell which"
                )
            secrets[place] = secret
        return SlotTotal(secrets, sketches)

    def _labels(self, participants: int) -> int:
        return participants * self.study.labels.classes

    def _check_told(self, told: Mapping[int, Sequence[int]]) -> None:
        """What is said of every label must be what cells can make, unless there is noise in it."""
        if not told or self.study.privacy is not None:
            return
        try:
            understand(list(told.values()), self.placed, self.study.learning.seed)
        except InvalidInput as problem:
            raise UnknownLabelSum(f"the sum has a sketch of no cells: {problem}") from None

    def _check_places(
        self,
        labels: Mapping[int, Sequence[int]],
        slots: Mapping[int, Sequence[int]],
        survivors: int,
        participants: int,
    ) -> None:
        """There are as many places as sites, and nothing is said outside them."""
        if len(slots) != survivors:
            raise UnknownLabelSum(
                f"{len(slots)} places are in use, but {survivors} sites uploaded; some site has "
                f"used more than one, or one that is not its own"
            )
        strays = set(map(self.study.place_of, labels)) - slots.keys()
        ordered = not self.study.draws_places
        if strays or (ordered and max(slots, default=0) >= participants):
            raise UnknownLabelSum("the sum has a label of a place that no site has")


def _told(sketches: Mapping[int, Sequence[int]], hulls: Bins | None) -> dict[int, Told]:
    """What a site's tag is over."""
    bins = {} if hulls is None else hulls
    return {label: (bins.get(label, ()), sketch) for label, sketch in sketches.items()}
