"""What the page of an encoder study says, exactly as strong as the threat model says it."""

from itertools import groupby

from fedhull.report.autoencoder_content import AutoencoderPage, AutoencoderSitePage
from fedhull.report.content import Section, Table
from fedhull.report.words import (
    Figure,
    bytes_figure,
    colluding,
    count,
    dropouts,
    figure,
    sessions,
)

# Rows of the table under "Encoder studies that train an autoencoder" in docs/threat-model.md; a
# test compares them.
SEEN = (
    "who takes part in which round, when, message sizes",
    "settings of the study",
)
SUM = (
    "in each round, over one set of ≥ {threshold} sites, which the server chooses: the sum of "
    "their trained weights and losses, each times the site's number of cells, and the sum of these "
    "numbers"
)
SEEN_IF_ONE_DROPPED_OUT = (
    "the number of cells of a site that drops out between two rounds, and approximately its "
    "weights and loss"
)
HIDDEN = (
    "one site's weights, loss or number of cells, if it is in the sum of every round or of none",
    "cells, gene counts, labels, names of genes beyond those of the start",
)
# Sentences of "What is not protected", in the same place.
MEANS = (
    "The means are models of the sites' cells, and every participant gets one for each round. "
    "Whoever has them can test guesses as to whether a particular cell, or a rare type of cell, "
    "was among those trained on. Masks do not hide that, and no noise is added: this is not "
    "differential privacy."
)
DROPOUTS = (
    "Dropouts. If a site is in the sum of one round and not in the next, the difference of the two "
    "sums gives its number of cells exactly, unless others drop out with it, and its weights and "
    "loss approximately."
)
COLLUSION = (
    "A server that colludes with {sites} or more of the sites can work out what another site "
    "uploaded."
)
SMALL_COHORT = (
    "Small cohorts. With two sites in a sum, each can subtract its own part from the mean once it "
    "has guessed how many cells the other holds."
)
OWN_RESULT = (
    "This page and result.json say how many cells this site holds, and its own loss in each round. "
    "Showing them to the coordinator reveals this."
)
NOT_AUDITED = "fedhull has not been audited."


def kicker(page: AutoencoderPage) -> str:
    """What kind of page this is."""
    if isinstance(page, AutoencoderSitePage):
        return f"Encoder study, report for {page.name}"
    return "Encoder study, report for the coordinator"


def lead(page: AutoencoderPage) -> str:
    """The study in three sentences."""
    stayed = f"{page.n_in_sum} of them" if page.n_gone else "All of them"
    return (
        f"{count(len(page.sites), 'site')} trained an encoder together in "
        f"{count(len(page.rounds), 'round')}. {stayed} stayed to the end. No cell left any site: "
        f"in each round a site sent {page.weights:,} trained weights, its training loss and its "
        f"number of cells, masked, and the server saw only their sums over the sites."
    )


def figures(page: AutoencoderPage) -> list[Figure]:
    """The numbers at the top: value, what it is, a note."""
    last = page.rounds[-1]
    shown = [
        figure(
            f"{page.n_in_sum} of {len(page.sites)}",
            "sites stayed to the end",
            dropouts(page.n_gone, "on the way"),
        ),
        figure(
            f"{len(page.rounds):,}", "rounds", f"{page.weights:,} weights, {page.genes:,} genes"
        ),
    ]
    if isinstance(page, AutoencoderSitePage):
        shown.append(figure(f"{page.cells:,}", "of your cells", "trained on, never sent"))
    elif last.cells is not None:
        shown.append(figure(f"{last.cells:,}", "cells in the last round", "at all sites in it"))
    if last.loss is not None:
        shown.append(figure(f"{last.loss:.3f}", "mean loss per cell and gene", "in the last round"))
    return [*shown, *bytes_figure(page)]


def seen(page: AutoencoderPage) -> list[str]:
    """What the server could see."""
    dropped_out = [SEEN_IF_ONE_DROPPED_OUT] if _shrank(page) else []
    return [*SEEN, SUM.format(threshold=page.threshold), *dropped_out]


def hidden(page: AutoencoderPage) -> list[str]:
    """What the server could not see, on its own."""
    return list(HIDDEN)


def unprotected(page: AutoencoderPage) -> list[str]:
    """What nobody should take to be protected."""
    own = []
    if isinstance(page, AutoencoderSitePage):
        own = [OWN_RESULT, *([sessions(page.earlier_sessions)] if page.earlier_sessions else [])]
    cohort = [SMALL_COHORT] if any(each.sites == 2 for each in page.rounds) else []
    collusion = COLLUSION.format(sites=colluding(page))
    return [*own, MEANS, DROPOUTS, collusion, *cohort, NOT_AUDITED]


def cards(page: AutoencoderPage) -> list[Section]:
    """What stands beside the chart of the loss: who was in which round, and what comes next."""
    return [_rounds(page), _next(page)]


def _rounds(page: AutoencoderPage) -> Section:
    """Rounds with the same sites, and so the same cells, in one row."""
    numbered = list(enumerate(page.rounds, 1))
    with_cells = all(each.cells is not None for each in page.rounds)
    rows = []
    for (sites, cells), stretch in groupby(numbered, lambda item: (item[1].sites, item[1].cells)):
        numbers = [number for number, _ in stretch]
        span = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"
        rows.append([span, f"{sites}", *([f"{cells:,}"] if with_cells else [])])
    return Section(
        title="Sites and cells in the sum" if with_cells else "Sites in the sum",
        paragraphs=["The server learns how many cells the sites in a round hold together."]
        if with_cells
        else [],
        table=Table(columns=["rounds", "sites", *(["cells"] if with_cells else [])], rows=rows),
    )


def _next(page: AutoencoderPage) -> Section:
    return Section(
        title="The encoder, and what comes next",
        paragraphs=[
            "encoder.npz, in the folder of this run, is the same for everybody, bit for bit. "
            "Compare its SHA-256 with the other participants'.",
            "In a study of hulls every site can now place its cells with it. "
            "“fedhull provision study.toml --encoder encoder.npz” puts its hash into the study. "
            "That study asks for its own consent. docs/encoder.md describes each step.",
        ],
        table=Table(
            columns=["file", "SHA-256"],
            rows=[["encoder.npz", page.encoder], ["start.npz", page.start]],
        ),
    )


def _shrank(page: AutoencoderPage) -> bool:
    """Whether a site was in a sum and not in a later one."""
    return page.rounds[-1].sites < page.rounds[0].sites
