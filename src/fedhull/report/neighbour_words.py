"""What the page of an encoder study of three sums says, exactly as strong as the threat model says
it."""

from fedhull.report.class_words import NOT_AUDITED
from fedhull.report.content import Section, Table
from fedhull.report.neighbour_content import (
    NeighbourCoordinatorPage,
    NeighbourPage,
    NeighbourSitePage,
    NeighbourSum,
)
from fedhull.report.words import (
    Figure,
    bytes_figure,
    colluding,
    count,
    dropouts,
    figure,
    sessions,
)

# Rows of the table under "Encoder studies of three sums" in docs/threat-model.md; a test compares
# them.
SEEN = (
    "who takes part in which sum, when, message sizes",
    "settings of the study",
)
GENES = (
    "first, over one set of ≥ {threshold} sites, which the server chooses: the number of their "
    "cells and, for each listed gene, how many of these sites measure it, how many cells express "
    "it, and the sums of its values and of their squares, as normalised counts and as the "
    "logarithms of these"
)
AXES = (
    "second, over one set of ≥ {threshold} sites, which the server chooses: the number of their "
    "cells, and the sums of the logarithms of each chosen gene and of the products of each two"
)
ANCHORS = (
    "third, of one set of ≥ {threshold} sites, which the server chooses: all anchors, which are "
    "means along the axes of groups of at least {group} cells, and the number of cells in all "
    "of them"
)
COUNT = (
    "over all sites that are there at the end: how many of the anchors nearest to held-out cells "
    "are still nearest in the disc, and of how many"
)
SEEN_IF_ONE_DROPPED_OUT = (
    "the number of cells of a site that drops out on the way and, if it is in one sum and not in "
    "the next, their mean: almost exactly of each chosen gene, or roughly along the axes"
)
HIDDEN = (
    "one site's sums, number of cells or number of anchors, unless it drops out on the way",
    "whose an anchor is, and which anchors come from the same site",
    "cells, gene counts of a cell, labels, names of genes beyond those listed",
)
RARE = (
    "genes that fewer than {min_cells} cells of a site express: in what leaves that site, they "
    "count as not expressed"
)
# Sentences of "What is not protected", in the same place.
COLLUSION = (
    "A server that colludes with {sites} or more of the sites can work out what another site "
    "uploaded."
)
PRODUCTS = (
    "The products. Whoever knows the profile of a type of cell can test from the sums of products "
    "whether there are such cells, even if they are few. Masks do not hide that, and no noise is "
    "added: this is not differential privacy."
)
OWN_GENES = (
    "Cells with genes of their own. If r cells, over all sites, alone express r or more of the "
    "chosen genes, the sums of products determine these cells."
)
ANCHORS_TELL = (
    "The anchors. They show which groups of like cells there are, and every participant gets them "
    "in the encoder."
)
DROPOUTS = (
    "Dropouts. If a site is in one sum and not in the next, the difference of the two totals gives "
    "its number of cells exactly, unless others drop out with it. If it is in the first and not in "
    "the second, the difference also gives, to many digits, the mean and deviation of each chosen "
    "gene over its cells. If it is in the second and not in the third, it gives roughly the mean "
    "of its cells along the axes, unless there is a correction. A site that drops out after it has "
    "announced its number of cells, but before it uploads, reveals that number too."
)
SMALL_COHORT = (
    "Small cohorts. With two sites in a sum, each can subtract its own part from what is published "
    "of it: it learns how many cells the other has and their means, or which anchors are the "
    "other's."
)
OWN_RESULT = (
    "This page and result.json say how many cells this site holds, how many genes it lacks or "
    "finds in too few of its cells, and how well the encoder does on them. Showing them to the "
    "coordinator reveals this."
)

_SUMS = {
    "genes": "1. genes: which of them vary",
    "axes": "2. products of genes: the axes",
    "anchors": "3. anchors: which cells are alike",
}


def kicker(page: NeighbourPage) -> str:
    """What kind of page this is."""
    if isinstance(page, NeighbourSitePage):
        return f"Encoder study, report for {page.name}"
    return "Encoder study, report for the coordinator"


def lead(page: NeighbourPage) -> str:
    """The study in four sentences."""
    return (
        f"{count(len(page.sites), 'site')} made an encoder together from three sums. "
        f"{_stayed(page)}No cell left any site: each sent, masked, sums over its cells, of genes "
        f"and of products of genes, and then anchors, each the mean of at least "
        f"{count(page.group, 'cell')}. The server saw only sums over all sites, and all sites' "
        f"anchors without knowing whose they are."
    )


def figures(page: NeighbourPage) -> list[Figure]:
    """The numbers at the top: value, what it is, a note."""
    shown = []
    if page.n_in_sum:
        shown.append(
            figure(
                f"{page.n_in_sum} of {len(page.sites)}",
                "sites stayed to the end",
                dropouts(page.n_gone, "on the way"),
            )
        )
    shown += [
        figure(
            f"{page.n_anchors:,}",
            "anchors",
            f"each the mean of {count(page.group, 'cell')} or more",
        ),
        figure(
            f"{page.genes:,}",
            f"genes, {count(page.axes, 'axis', 'axes')}",
            f"chosen from {page.listed:,} listed genes",
        ),
    ]
    if isinstance(page, NeighbourSitePage):
        kept_out = f"{page.held_out:,} more were held out" if page.held_out else "none held out"
        shown.append(figure(f"{page.cells:,}", "of your cells in the sums", kept_out))
    elif page.sums[-1].cells is not None:
        shown.append(figure(f"{page.sums[-1].cells:,}", "cells behind the anchors", "at all sites"))
    if page.kept is not None:
        whose = "you" if page.private else "sites"
        shown.append(
            figure(
                f"{page.kept.percent:.1f} %",
                "of nearest anchors stay nearest",
                f"for cells that {whose} held out",
            )
        )
    return [*shown, *bytes_figure(page)]


def seen(page: NeighbourPage) -> list[str]:
    """What the server could see."""
    rows = [GENES, AXES, ANCHORS, *([COUNT] if page.private or page.kept else [])]
    dropped_out = [SEEN_IF_ONE_DROPPED_OUT] if page.n_gone else []
    filled = [row.format(threshold=page.threshold, group=page.group) for row in rows]
    return [*SEEN, *filled, *dropped_out]


def hidden(page: NeighbourPage) -> list[str]:
    """What the server could not see, on its own."""
    rare = [RARE.format(min_cells=page.min_cells)] if page.min_cells > 1 else []
    return [*HIDDEN, *rare]


def unprotected(page: NeighbourPage) -> list[str]:
    """What nobody should take to be protected."""
    own = []
    if isinstance(page, NeighbourSitePage):
        own = [OWN_RESULT, *([sessions(page.earlier_sessions)] if page.earlier_sessions else [])]
    cohort = [SMALL_COHORT] if any(each.sites == 2 for each in page.sums) else []
    collusion = COLLUSION.format(sites=colluding(page))
    return [*own, PRODUCTS, OWN_GENES, ANCHORS_TELL, DROPOUTS, collusion, *cohort, NOT_AUDITED]


def cards(page: NeighbourPage) -> list[Section]:
    """How good the encoder is, what it was made from, and what comes next."""
    own = [_own_cells(page)] if isinstance(page, NeighbourSitePage) else []
    return [_quality(page), _sums(page), *own, _next(page)]


def _stayed(page: NeighbourPage) -> str:
    """A site that came late does not know."""
    if not page.n_in_sum:
        return ""
    return (
        f"{page.n_in_sum} of them stayed to the end. "
        if page.n_gone
        else "All of them stayed to the end. "
    )


def _quality(page: NeighbourPage) -> Section:
    """By cells that the encoder has not seen, and by the anchors themselves."""
    if page.kept is None:
        words = [
            "How well the encoder does on held-out cells is not known: "
            + (
                "this site held none out."
                if page.private
                else "a site did not answer, or no site held cells out."
            )
        ]
    else:
        whose = "cells that you held out" if page.private else "cells that sites held out"
        known = "" if page.private else " The coordinator knows only the sum over these sites."
        words = [
            f"Of the anchors nearest to {whose}, {page.kept.kept:,} of {page.kept.of:,} are among "
            f"the nearest in the disc as well: {page.kept.percent:.1f} %.{known}"
        ]
    if not isinstance(page, NeighbourCoordinatorPage):
        return Section(title="How well neighbours are kept", paragraphs=words)
    quality = page.quality
    rows = [["nearest anchors kept", f"{100 * quality.neighbours_kept:.1f} %"]]
    if quality.distance_correlation is not None:
        rows.append(["correlation of distances", f"{quality.distance_correlation:.2f}"])
    if quality.distortion is not None:
        rows.append(["mean error of a distance", f"{100 * quality.distortion:.0f} %"])
    return Section(
        title="How well neighbours are kept",
        paragraphs=[*words, "And of the anchors themselves, from the axes to the disc:"],
        table=Table(columns=["", "anchors"], rows=rows),
    )


def _sums(page: NeighbourPage) -> Section:
    """A site knows less of them than the coordinator."""
    words = (
        "A site knows how many sites are in the last sum, and how many cells are behind the first "
        "two."
        if page.private
        else "The server learns how many cells stand behind each sum, all sites together."
    )
    return Section(
        title="The three sums",
        paragraphs=[words],
        table=Table(columns=["sum", "sites", "cells"], rows=[_row(each) for each in page.sums]),
    )


def _row(of: NeighbourSum) -> list[str]:
    return [_SUMS[of.of], *("–" if n is None else f"{n:,}" for n in (of.sites, of.cells))]


def _own_cells(page: NeighbourSitePage) -> Section:
    return Section(
        title="Your own cells",
        paragraphs=[
            "Genes that you lack, and those that too few of your cells express, count as not "
            "expressed in what left."
        ],
        table=Table(
            columns=["", "number"],
            rows=[
                ["cells in the sums", f"{page.cells:,}"],
                ["cells held out", f"{page.held_out:,}"],
                ["chosen genes that you lack", f"{page.missing:,}"],
                [f"genes that fewer than {page.min_cells} cells express", f"{page.rare:,}"],
            ],
        ),
    )


def _next(page: NeighbourPage) -> Section:
    return Section(
        title="The encoder, and what comes next",
        paragraphs=[
            "encoder.npz, in the folder of this run, is the same for everybody, bit for bit. "
            "Compare its SHA-256 with the other participants'.",
            "In a study of hulls or moments every site can now place its cells with it. "
            "“fedhull provision study.toml --encoder encoder.npz” puts its hash into the study. "
            "That study asks for its own consent. docs/encoder.md describes each step.",
        ],
        table=Table(columns=["file", "SHA-256"], rows=[["encoder.npz", page.encoder]]),
    )
