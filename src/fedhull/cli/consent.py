"""What a person at a site is shown, and asked, before anything leaves."""

import sys
from typing import TYPE_CHECKING

from fedhull.cli.console import err
from fedhull.errors import InvalidInput

if TYPE_CHECKING:
    from fedhull.embed.autoencoder import AutoencoderEmbedder
    from fedhull.embed.cells import Cells
    from fedhull.federation.holdings import Holdings
    from fedhull.federation.kit import Kit
    from fedhull.protocol.encoder_study import EncoderStudy
    from fedhull.protocol.study import Study

# The share of points above which a site is warned before it agrees.
_MUCH = 0.5


def ask_consent(
    kit: "Kit",
    data: str | None,
    label: str,
    layer: str | None,
    yes: bool,
    again: bool,
    quiet: bool,
) -> None:
    """Show what would be sent, ask, and leave the consent for the session to find."""
    from fedhull.federation.consent import (
        ask_for,
        ask_for_training,
        load_holdings,
        load_training_cells,
    )
    from fedhull.federation.encoder_site import check_cells
    from fedhull.federation.frame import encoder_of
    from fedhull.federation.participant import start_of
    from fedhull.protocol.encoder_study import EncoderStudy

    study = kit.study
    if data is None:
        raise InvalidInput("--data must name the file with your points, or cells")
    if isinstance(study, EncoderStudy):
        start, cells = start_of(kit, study), load_training_cells(data, layer)
        check_cells(start, cells)
        if not (quiet and yes):
            _explain_training(kit, study, start, cells)
        _agree(kit, yes, again)
        ask_for_training(study, cells, data, layer).give(kit)
        return
    encoder = encoder_of(kit.folder, study)
    holdings = load_holdings(study, data, label, encoder, layer)
    if not (quiet and yes):
        _explain(kit, study, holdings)
    _agree(kit, yes, again)
    ask_for(study, holdings, data, label, layer).give(kit)


def _explain_training(
    kit: "Kit", study: "EncoderStudy", start: "AutoencoderEmbedder", cells: "Cells"
) -> None:
    """On what would be trained, what leaves, how often, and what may be read from it."""
    settings, missing = study.encoder, start.preparation.missing(cells)
    n_weights = sum(array.size for array in start.weights.values())
    tell(
        f"Encoder study '{study.name}', hash {study.hash.hex()}, coordinated by the holder of key "
        f"{study.coordinator or 'none'}; you are {kit.name}, one of {len(study.clients)} sites.\n"
        f"You hold {len(cells):,} cells. The encoder {settings.start} looks at "
        f"{len(start.preparation.genes):,} genes, of which your cells lack {len(missing):,}. It "
        f"would be trained on this machine, {settings.epochs} epochs in each of "
        f"{settings.rounds} rounds. No cell, gene count or label leaves.\n"
        f"In each round {n_weights:,} trained weights, times your number of cells, and that number "
        f"would leave, masked. The coordinator opens their sum over all sites of the round, at "
        f"least {study.threshold}, and nothing else; every site gets the mean.\n"
        f"What the sum may tell: it is a model of all sites' cells together, and models remember. "
        f"Whoever has the means of all rounds may test guesses about a cell or a rare type of "
        f"cell. If a site drops out, the sums before and after it differ by about its weights, and "
        f"by exactly its number of cells. This is not differential privacy."
    )


def _explain(kit: "Kit", study: "Study", holdings: "Holdings") -> None:
    """How many of how many points leave, in what form, to whom."""
    share = holdings.points_sent / holdings.points_held
    tell(
        f"Study '{study.name}', hash {study.hash.hex()}, coordinated by the holder of key "
        f"{study.coordinator or 'none'}; you are {kit.name}, one of {len(study.clients)} sites.\n"
        f"{_placed_words(study)}"
        f"You hold {holdings.points_held + len(holdings.test_y):,} points in "
        f"{len(holdings.classes)} classes. {len(holdings.test_y):,} stay here as a test set, the "
        f"guard '{study.learning.guard}' leaves {holdings.points_guarded:,} out.\n"
        f"{holdings.points_sent:,} of the other {holdings.points_held:,} points ({share:.1%}) "
        f"would leave: the corners of the hulls of your classes, each rounded to a bin of width "
        f"{study.geometry.epsilon:g}, without names and labels, masked.\n"
        f"The coordinator sees the sum over all sites, from which it reads all sites' hulls, but "
        f"not whose they are. It also gets one masked count: how many of your test points the "
        f"model gets right, which it can only read as a sum over sites."
    )
    if share > _MUCH:
        tell(
            f"Careful: that is {share:.0%} of them. Where a class has few points, most are corners."
        )


def _placed_words(study: "Study") -> str:
    if study.embedding is None:
        return ""
    return (
        f"Your cells are placed in the disc on this machine, by the study's encoder "
        f"{study.embedding.encoder} (SHA-256).\n"
    )


def _agree(kit: "Kit", yes: bool, again: bool) -> None:
    if kit.has_uploaded and not again:
        raise InvalidInput(
            "this kit has already uploaded in this study. Whoever sees two sums over different "
            "sites can subtract them; if the coordinator has told you why a second session is "
            "needed, and you agree, use --again"
        )
    if yes:
        return
    err.print("Do you agree to send this? [y/N]: ", end="", markup=False, highlight=False)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InvalidInput("you did not agree; nothing was sent (--yes agrees without asking)")


def tell(sentence: str) -> None:
    """A sentence for the person at the terminal, on standard error."""
    err.print(sentence, highlight=False, markup=False, soft_wrap=True)
