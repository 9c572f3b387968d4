"""What the page of an encoder study says, exactly as strong as the threat model says it."""

from fedhull.report.content import EncoderPage, EncoderSitePage
from fedhull.report.words import figure, size

SEEN = (
    "who takes part, when, message sizes",
    "settings of the study",
    "in each round, the sum of the weights that ≥ {threshold} sites have trained, times their "
    "numbers of cells, the sum of their losses, and how many cells they hold together",
)
HIDDEN = (
    "any cell, gene count or label",
    "one site's weights, loss or number of cells, as long as it stays to the end or leaves before "
    "its first upload",
)
UNPROTECTED = (
    "The encoder itself. It is a model of all sites' cells together, and models remember: whoever "
    "has the means of all rounds may test guesses about a cell or a rare type of cell. This is not "
    "differential privacy.",
    "A site that leaves between two rounds. The sums before and after differ by about its weights, "
    "and by exactly its number of cells.",
    "fedhull has not been audited.",
)


def kicker(page: EncoderPage) -> str:
    """What kind of page this is."""
    if isinstance(page, EncoderSitePage):
        return f"Encoder study: report for {page.name}"
    return "Encoder study: report for the coordinator"


def lead(page: EncoderPage) -> str:
    """The study in two sentences."""
    return (
        f"{len(page.sites)} sites trained one encoder together, in {len(page.rounds)} rounds; "
        f"{page.n_in_sum} of them stayed to the end. No cell left any site: what left were "
        f"{page.weights:,} masked weights in each round, of which the coordinator saw the sum."
    )


def figures(page: EncoderPage) -> list[dict[str, str]]:
    """The numbers at the top: value, what it is, a note."""
    shown = [
        figure(f"{page.n_in_sum} of {len(page.sites)}", "sites to the end"),
        figure(f"{len(page.rounds)}", "rounds", f"{page.weights:,} weights, {page.genes:,} genes"),
    ]
    if isinstance(page, EncoderSitePage):
        shown.append(figure(f"{page.cells:,}", "cells of yours were trained on"))
    else:
        shown.append(figure(f"{page.rounds[-1].cells:,}", "cells in the last round, all sites"))
    loss = page.rounds[-1].loss
    if loss is not None:
        shown.append(figure(f"{loss:.3f}", "loss per cell and gene", "mean of the last round"))
    if page.bytes_up is not None:
        whose = "sent by you" if isinstance(page, EncoderSitePage) else "sent by a site, at most"
        down = f"{size(page.bytes_down)} down" if page.bytes_down is not None else ""
        shown.append(figure(size(page.bytes_up), whose, down))
    return shown


def seen(page: EncoderPage) -> list[str]:
    """What the server could see."""
    return [row.format(threshold=page.threshold) for row in SEEN]


def hidden(page: EncoderPage) -> list[str]:
    """What the server could not see, on its own."""
    return list(HIDDEN)


def unprotected(page: EncoderPage) -> list[str]:
    """What nobody should believe to be protected."""
    return list(UNPROTECTED)
