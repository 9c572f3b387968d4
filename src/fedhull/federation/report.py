"""From what a participant has at the end of a study to its report page."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import fedhull
from fedhull.errors import FedhullError, InvalidInput
from fedhull.federation.consent import read_consent
from fedhull.federation.coordinator import Outcome
from fedhull.federation.frame import encoder_of, load_points
from fedhull.federation.kit import CONSENT, REPORT, RESULT, STUDY, read_text, write_bytes
from fedhull.federation.site import Site
from fedhull.learn.model import model_to_json
from fedhull.protocol.study import Study
from fedhull.report.content import (
    AnyPage,
    Check,
    CoordinatorPage,
    Hull,
    SharedBin,
    SiteLine,
    SitePage,
    Space,
    Sums,
    around,
    page_from_json,
)
from fedhull.report.html import own_points, render
from fedhull.report.testing import count_tests

# What a study that has come to its end has passed; the protocol stops where one of these fails.
SERVER_CHECKS = (
    "What sites said was signed with keys on the roster",
    "Enough sites signed the same list of survivors",
    "Restored secrets fit commitments and public keys",
    "The spare power sums agree with what was decoded",
    "The number of places in the sum is that of the sites",
)
SITE_CHECKS = (
    "What left is what somebody here had agreed to",
    "Shares were given only against enough signatures that agree with this site's own view",
    "This site uploaded once",
)


def write_report(result: Path, out: Path | None = None) -> Path:
    """The page of a result file, or of the folder that holds one, beside it or at `out`."""
    if result.is_dir():
        result = result / RESULT
    try:
        content = json.loads(read_text(result))
    except json.JSONDecodeError:
        raise InvalidInput(f"{result} is not JSON; name a result of fedhull's") from None
    page = page_from_json(content.get("report") if isinstance(content, dict) else None, str(result))
    out = out or result.with_name(REPORT)
    page = _with_own_points(page, result.parent)
    # a site's page holds the site's points: for its owner's eyes
    mode = 0o600 if isinstance(page, SitePage) else 0o644
    write_bytes(out, render(page).encode(), mode)
    return out


def coordinator_page(outcome: Outcome) -> CoordinatorPage:
    """What the coordinator may show."""
    names = [f"class {number + 1}" for number in np.unique(outcome.learned.groups)]
    return CoordinatorPage(
        **outcome_parts(outcome),
        sites=site_lines(outcome),
        checks=[Check(words=words, passed=True) for words in SERVER_CHECKS],
        classes=names,
        correct=outcome.correct,
        tested=outcome.tested,
        evaluators=len(outcome.evaluators),
    )


def site_page(site: Site, bytes_up: int, bytes_down: int) -> SitePage:
    """What a site may show, its own points apart: they are read when the page is written."""
    study, session, model = site.study, site.session, site.model
    numbers = sorted(json.loads(session.result or b"{}")["classes"])
    number_of = {name: number for number, name in site.names.items()}
    own = list(zip(session.label_of_class, site.holdings.classes, site.holdings.hulls, strict=True))
    names = np.sort(model.classes_)
    return SitePage(
        **study_parts(study, session.n_sums),
        model=model_to_json(model),
        hulls=[
            Hull(
                label=label,
                place=label // study.labels.classes,
                column=numbers.index(number_of[name]),
                bins=around(bins, study.quantizer),
            )
            for label, name, bins in own
        ],
        sites=[
            SiteLine(
                name=name,
                fate="in the sum" if name in session.survivors else "not in the sum",
                taking_part=name in session.survivors,
            )
            for name in sorted(study.clients)
        ],
        checks=[Check(words=words, passed=True) for words in SITE_CHECKS],
        classes=[str(name) for name in model.classes_],
        name=site.name,
        bytes_up=bytes_up,
        bytes_down=bytes_down,
        points_held=site.holdings.points_held,
        points_guarded=site.holdings.points_guarded,
        correct=site.correct,
        tested=site.tested,
        testing=count_tests(
            model, site.holdings.test_x, site.holdings.test_y.astype(names.dtype), names
        )
        if site.tested
        else None,
    )


def study_parts(study: Study, n_sums: int) -> dict[str, Any]:
    """What every page says about the study itself."""
    coding, geometry = study.coding, study.geometry
    return {
        "title": study.name,
        "study_hash": study.hash.hex(),
        "made_at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "made_by": f"fedhull {fedhull.__version__}",
        "space": Space(
            epsilon=geometry.epsilon, radius=geometry.radius, curvature=geometry.curvature
        ),
        "parameters": {
            "width of a bin, ε": f"{geometry.epsilon:g}",
            "radius, R": f"{geometry.radius:.6g}",
            "curvature": f"−{geometry.curvature:g}",
            "bins": f"{study.quantizer.n_bins:,}",
            "classes": f"{study.n_classes}",
            "guard": study.learning.guard,
            "grouping": study.learning.grouping,
            "method": study.learning.method,
            "label code": f"{coding.name}, {coding.field.bits} bits",
            "threshold": f"{study.threshold} of {len(study.clients)} sites",
        },
        "threshold": study.threshold,
        "sums": Sums(
            n_sums=n_sums,
            field_bits=coding.field.bits,
            modulus=str(coding.field.q),
            label_code=coding.name,
            labels=len(coding.code.codes),
        ),
    }


def outcome_parts(outcome: Outcome) -> dict[str, Any]:
    """What every page with the coordinator's view says: nothing that the server does not know."""
    study, total, learned = outcome.study, outcome.aggregate, outcome.learned
    columns = np.searchsorted(np.unique(learned.groups), learned.groups).tolist()
    shown = [
        Hull(
            label=label,
            place=label // study.labels.classes,
            column=column,
            bins=around(total.hulls[label], study.quantizer),
        )
        for label, column in zip(learned.labels, columns, strict=True)
    ]
    return study_parts(study, total.n_sums) | {
        "model": model_to_json(outcome.model),
        "hulls": shown,
        "shared_bin": _fullest_bin(outcome),
        "bytes_up": max(outcome.bytes_up.values()),
        "bytes_down": max(outcome.bytes_down.values()),
        "seconds": outcome.seconds,
    }


def site_lines(outcome: Outcome) -> list[SiteLine]:
    """Each site on the roster, and what became of it."""
    lines = []
    for name in sorted(outcome.study.clients):
        there, why = name in outcome.aggregate.survivors, outcome.failures.get(name)
        fate = "in the sum" if there else "not in the sum"
        if why is not None:
            fate += f", did not stay to the end: {why}" if there else f": {why}"
        lines.append(SiteLine(name=name, fate=fate, taking_part=there))
    return lines


def _fullest_bin(outcome: Outcome) -> SharedBin:
    """The bin where most labels meet: it shows best how sums of codes are taken apart."""
    labels_in: dict[int, list[int]] = {}
    for label, bins in sorted(outcome.aggregate.hulls.items()):
        for j in bins:
            labels_in.setdefault(j, []).append(label)
    fullest = max(sorted(labels_in), key=lambda j: len(labels_in[j]))
    codes = outcome.study.coding.code.codes
    return SharedBin(
        bin=str(fullest),
        value=str(outcome.aggregate.vector[fullest]),
        labels=labels_in[fullest],
        codes=[str(codes[label]) for label in labels_in[fullest]],
    )


def _with_own_points(page: AnyPage, folder: Path) -> AnyPage:
    """A site's page with the site's points, as long as its consent names a file that is there."""
    if not isinstance(page, SitePage) or not (folder / CONSENT).is_file():
        return page
    try:
        consent = read_consent(folder / CONSENT)
        study = Study.from_toml(read_text(folder.parents[1] / STUDY))
        encoder = encoder_of(folder.parents[1], study)
        x, y = load_points(encoder, consent.data, consent.label, consent.layer)
    except FedhullError:
        return page
    names, numbers = np.unique(y, return_inverse=True)
    column_of = {name: column for column, name in enumerate(page.classes)}
    columns = np.array([column_of.get(str(name), -1) for name in names])[numbers]
    known = columns >= 0
    return msgspec.structs.replace(page, points=own_points(x[known], columns[known]))
