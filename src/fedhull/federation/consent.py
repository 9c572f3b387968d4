"""Consent: what somebody at a site has agreed to send, for one session and no more."""

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from fedhull.data.files import open_h5ad
from fedhull.embed.annotated import cells_of
from fedhull.embed.cells import Cells
from fedhull.embed.embedder import CellEmbedder
from fedhull.errors import InvalidInput, MissingExtra, NoConsent
from fedhull.federation.frame import encoder_of, load_points
from fedhull.federation.holdings import Holdings, prepare
from fedhull.federation.kit import CONSENT, Kit, write_json
from fedhull.protocol.encoder_study import EncoderStudy
from fedhull.protocol.study import Study


@dataclass(frozen=True, kw_only=True)
class _Given:
    """To which study, for which file, when."""

    study: str
    data: str
    given_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def give(self, kit: Kit) -> None:
        """Put it where the session will look for it."""
        write_json(kit.folder / CONSENT, asdict(self))


@dataclass(frozen=True, kw_only=True)
class Consent(_Given):
    """Which data, and what of them: checked again when the session begins."""

    label: str
    points_sent: int
    points_held: int
    layer: str | None = None


@dataclass(frozen=True, kw_only=True)
class EncoderConsent(_Given):
    """On which cells to train in all rounds of an encoder study."""

    layer: str | None
    cells: int


C = TypeVar("C", Consent, EncoderConsent)


def load_holdings(
    study: Study,
    data: str,
    label: str,
    encoder: CellEmbedder | None = None,
    layer: str | None = None,
) -> Holdings:
    """What a site would take into the study, from its data file."""
    return prepare(study, *load_points(encoder, data, label, layer))


def ask_for(
    study: Study, holdings: Holdings, data: str, label: str, layer: str | None = None
) -> Consent:
    """The consent that a person would give to these holdings."""
    return Consent(
        layer=layer,
        study=study.hash.hex(),
        data=str(Path(data).resolve()),
        label=label,
        points_sent=holdings.points_sent,
        points_held=holdings.points_held,
    )


def load_training_cells(data: str, layer: str | None = None) -> Cells:
    """The cells of a file that a site would train an encoder on."""
    from fedhull.data.raw import load_cells  # slow to import, and studies of hulls do without

    if find_spec("jax") is None:
        raise MissingExtra("training an encoder needs JAX: pip install 'fedhull[embed]'")
    if Path(data).suffix == ".h5ad":
        if not Path(data).is_file():
            raise InvalidInput(f"{data} does not exist")
        return cells_of(open_h5ad(data), layer)
    if layer is not None:
        raise InvalidInput(f"--layer is for .h5ad files, not for {data}")
    return load_cells(data, label="label")[0]


def ask_for_training(
    study: EncoderStudy, cells: Cells, data: str, layer: str | None
) -> EncoderConsent:
    """The consent that a person would give to training on these cells."""
    return EncoderConsent(
        study=study.hash.hex(), data=str(Path(data).resolve()), layer=layer, cells=len(cells)
    )


def use_consent(kit: Kit, results: Path) -> Holdings:
    """Take the consent, so that it serves no second session, and load what it covers."""
    assert isinstance(kit.study, Study)
    consent = _take(kit, results, Consent)
    encoder = encoder_of(kit.folder, kit.study)
    holdings = load_holdings(kit.study, consent.data, consent.label, encoder, consent.layer)
    if (holdings.points_sent, holdings.points_held) != (consent.points_sent, consent.points_held):
        raise NoConsent(
            f"the data have changed since the consent was given: {holdings.points_sent} of "
            f"{holdings.points_held} points would leave, not {consent.points_sent} of "
            f"{consent.points_held}"
        )
    return holdings


def use_encoder_consent(kit: Kit, results: Path) -> Cells:
    """Take the consent to all rounds of an encoder study, and load the cells it covers."""
    consent = _take(kit, results, EncoderConsent)
    cells = load_training_cells(consent.data, consent.layer)
    if len(cells) != consent.cells:
        raise NoConsent(
            f"the data have changed since the consent was given: {len(cells)} cells would be "
            f"trained on, not {consent.cells}"
        )
    return cells


def withdraw(kit: Kit) -> None:
    """Take back a consent that has not been used."""
    (kit.folder / CONSENT).unlink(missing_ok=True)


def read_consent(path: Path) -> Consent:
    """The consent to a study of hulls in a file."""
    return _read(path, Consent)


def _read(path: Path, kind: type[C]) -> C:
    try:
        return kind(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        raise InvalidInput(f"{path} is damaged; run 'fedhull client' again") from None


def _take(kit: Kit, results: Path, kind: type[C]) -> C:
    taken = results / CONSENT
    try:
        if not taken.exists():  # else this session, taken up again, has its consent already
            # a rename succeeds for one session only, however many start at once
            (kit.folder / CONSENT).rename(taken)
    except FileNotFoundError:
        raise NoConsent(
            "nobody here has agreed to a session; 'fedhull client' shows what would leave and asks"
        ) from None
    consent = _read(taken, kind)
    if consent.study != kit.study.hash.hex():
        raise NoConsent("the consent was given for another study file")
    return consent
