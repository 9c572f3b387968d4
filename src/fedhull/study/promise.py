"""Checks that a study can succeed: settings that contradict each other are refused when it is
made, before anything is sent, not after the sum has been opened."""

import datetime
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from fedhull.codes.coding import pair_room
from fedhull.codes.field import MOST_BITS
from fedhull.codes.power_sums import SLOT_FIELD
from fedhull.disc.points import check_curvature
from fedhull.errors import InvalidInput
from fedhull.learn.guard import Edit, Group, Trim
from fedhull.registry import name_of
from fedhull.text import check_visible, shortened

if TYPE_CHECKING:
    from fedhull.study.study import Study

# The largest upload that all engines carry in one message.
LARGEST_UPLOAD = 2_000_000_000
# Binary codes have a bit for each label: this many are built in a moment.
_MOST_BINARY_LABELS = 4_096
# Bose–Chowla codes beyond these would take seconds or hours to construct.
_MOST_MEETING, _MOST_BOSE_CHOWLA = 12, 1_000
# A study's radius, as a share of the disc's own.
_SMALLEST_SHARE = 1e-9
_FOR_TWO_CLASSES, _FOR_KNOWN_NUMBERS = ("kernighan-lin",), ("kernighan-lin", "spectral")
_FOR_HULLS = _FOR_KNOWN_NUMBERS


def check_promise(study: "Study") -> None:
    """Raise InvalidInput if the settings of a study leave no way for it to succeed."""
    if study.privacy is not None:
        _check_privacy(study)
    if study.has_bins:
        _check_bins(study)
    _check_classes(study)
    if study.has_bins:
        _check_guard(study)
        _check_code(study)
        _check_upload(study)
    elif study.places * study.labels.classes >= SLOT_FIELD.q:
        raise InvalidInput(
            f"[labels] classes = {study.labels.classes:,} at each of {len(study.clients):,} sites "
            f"are more than can be numbered; lower classes"
        )


def check_disc(radius: float, curvature: float) -> None:
    """Raise InvalidInput if a radius is next to nothing in the disc of this curvature."""
    share = radius * math.sqrt(check_curvature(curvature))
    if radius == 0.0:
        return  # it is not stated
    if share >= 1.0:
        raise InvalidInput(
            f"radius must be below the disc's own, 1/√k = {curvature**-0.5:.6g}, got {radius!r}; "
            f"choose one that covers all participants' points"
        )
    if share < _SMALLEST_SHARE:
        raise InvalidInput(
            f"radius = {radius:g} is too small for curvature = {curvature:g}, whose disc has "
            f"radius {curvature**-0.5:.6g}; choose one that covers all participants' points"
        )


def check_texts(part: Any) -> None:
    """Raise InvalidInput if a text anywhere in a study holds what cannot be seen."""
    for path, text in _texts(part, ""):
        check_visible(text, path)


def check_names(**parts: Any) -> None:
    """Raise InvalidInput for what TOML can say but no part is called: dates and times."""
    for setting, part in parts.items():
        if isinstance(part, datetime.date | datetime.time):
            raise InvalidInput(f"{setting} must be the name of a part, as text, got {part}")


def most_bins_for(clients: int) -> int:
    """Maximum number of bins that each site may fill, whatever the field, if all that `clients`
    sites send has to fit into one message."""
    return LARGEST_UPLOAD * 8 // MOST_BITS // 2 // max(clients, 1)


def _check_privacy(study: "Study") -> None:
    if study.has_bins:
        raise InvalidInput(
            "[privacy] is for sums, in which noise can hide a cell; corners of hulls cannot be "
            "hidden: set [learning] summary = 'moments', or leave [privacy] out"
        )
    if study.learning.align > 0:
        raise InvalidInput(
            f"[learning] align = {study.learning.align} publishes centres of classes, which with "
            f"[privacy] would take more noise than they are good for; leave align out"
        )


def _check_bins(study: "Study") -> None:
    if not study.geometry.radius:
        raise InvalidInput(
            "a study of hulls must say which radius holds all participants' points: set [geometry] "
            "radius, for instance 0.99"
        )
    if study.quantizer.n_rings < 2:
        geometry = study.geometry
        raise InvalidInput(
            f"epsilon = {geometry.epsilon:g} is too large for radius = {geometry.radius:g}: all "
            f"bins would lie in one ring, and no two hulls could be told apart; make epsilon "
            f"smaller"
        )


def _check_classes(study: "Study") -> None:
    at_a_site, in_all, learning = study.labels.classes, study.n_classes, study.learning
    sites = len(study.clients)
    if not study.has_bins and learning.grouping in _FOR_HULLS:
        raise InvalidInput(
            f"grouping = {learning.grouping!r} sorts hulls, and with summary = "
            f"{learning.summary!r} there are none; use grouping 'matching'"
        )
    if n_names := len(study.classes.names):
        if {at_a_site, in_all or at_a_site} != {n_names} or at_a_site < 2:
            raise InvalidInput(
                f"[classes] names has {n_names} names, so [labels] classes must be as many, at "
                f"least 2, and [learning] classes as many or left out; got {at_a_site} and "
                f"{in_all}"
            )
        return
    if in_all == 0:
        if learning.grouping in _FOR_KNOWN_NUMBERS:
            raise InvalidInput(
                f"grouping = {learning.grouping!r} has to know how many classes there are over all "
                f"sites: set [learning] classes, or use grouping 'matching', which finds it"
            )
        return
    if in_all < 2:
        raise InvalidInput(
            f"a study needs at least two classes to tell apart, got [learning] classes = {in_all}"
        )
    if in_all < at_a_site:
        raise InvalidInput(
            f"[labels] classes = {at_a_site} lets a site have more classes than the [learning] "
            f"classes = {in_all} of all sites together; lower the first or raise the second"
        )
    if in_all > at_a_site * sites:
        raise InvalidInput(
            f"[learning] classes = {in_all} cannot be found: {sites} sites with at most [labels] "
            f"classes = {at_a_site} each have {at_a_site * sites} at most; raise the second or "
            f"lower the first"
        )
    if learning.grouping in _FOR_TWO_CLASSES and in_all != 2:
        raise InvalidInput(
            f"grouping = {name_of(learning.grouping)!r} is for two classes, but [learning] classes "
            f"= {in_all}; use grouping 'matching' or 'spectral'"
        )


def _check_guard(study: "Study") -> None:
    smallest, guard = study.disclosure.group_size, study.guard
    # a part of somebody else's may group cells as well; what it does is checked at the site
    known = [part for part in guard.parts if isinstance(part, Edit | Trim | Group)]
    if len(known) < len(guard.parts) or smallest == 1:
        return
    sizes = [part.size or 1 for part in known if isinstance(part, Group)]
    if max(sizes, default=1) < smallest:
        raise InvalidInput(
            f"guard = {shortened(str(guard))} lets points leave that are the mean of fewer cells "
            f"than the {smallest} of [disclosure]; put 'group' into the guard, without number, or "
            f"set min_cells = 1 (--min-cells 1) if single cells may leave"
        )


def _check_code(study: "Study") -> None:
    code, n_labels = study.labels.code, study.labels.classes * len(study.clients)
    words = (
        f"[labels] classes = {study.labels.classes} of {len(study.clients)} sites make {n_labels:,}"
        f" labels"
    )
    if code.startswith("bose-chowla"):
        h = int(code.partition(":")[2])
        if h > _MOST_MEETING or n_labels * h > _MOST_BOSE_CHOWLA:
            raise InvalidInput(
                f"{words}, for which code = {code!r} would take too long to construct; use code "
                f"'pairs', or H of at most {_MOST_MEETING} with H times labels at most "
                f"{_MOST_BOSE_CHOWLA:,}"
            )
    pairs_do = pair_room(n_labels, study.quantizer.n_bins) >= study.spread[0]
    if n_labels > _MOST_BINARY_LABELS and (code == "binary" or (code == "auto" and not pairs_do)):
        raise InvalidInput(
            f"{words}, but code = 'binary' is for at most {_MOST_BINARY_LABELS:,}"
            + ("; use code 'pairs'" if pairs_do else ", and there are too many bins for 'pairs'; ")
            + ("" if pairs_do else "lower classes, or make epsilon larger")
        )
    assert study.coding.planes > 0  # made here, so that what cannot be built is refused here


def _check_upload(study: "Study") -> None:
    size = study.coding.field.packed_size(study.sums_for(study.most_corners))
    if size > LARGEST_UPLOAD:
        most = study.protocol.most_bins
        fitting = max(1, math.floor(most * LARGEST_UPLOAD / size) - 8)
        raise InvalidInput(
            f"most_bins = {most:,} for each of {len(study.clients):,} sites would allow uploads of "
            f"{size:,} bytes, but a message holds at most {LARGEST_UPLOAD:,}; use most_bins = "
            f"{fitting:,} or fewer sites"
        )


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """All texts in a study, and where they stand."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _texts(getattr(value, name), f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, path)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(key, f"a name in {path}")
            yield from _texts(inner, f"{path}.{key}")
