"""The words on a page that a data-protection officer need not know, each in one sentence.

This is the only place that says what they mean: a page shows the sentence where a word comes first
in a section, and lists those that it uses at its end.
"""

from typing import Any, NamedTuple


class Term(NamedTuple):
    """A word, what it means, and the other forms in which it stands in a text."""

    term: str
    meaning: str
    forms: tuple[str, ...] = ()


TERMS = (
    Term(
        "anchor",
        "The mean of a group of like cells at one site; an encoder places new cells between "
        "anchors.",
        ("anchors",),
    ),
    Term(
        "axis",
        "A direction along which cells differ most in what their genes express, found from sums "
        "over all sites.",
        ("axes",),
    ),
    Term(
        "ballot",
        "Before a model is published, sites count how each of up to 16 candidates does on cells "
        "that they held out; only the sum of these counts is opened, and it decides.",
    ),
    Term(
        "bin",
        "A numbered tile of the disc; a point that leaves as a bin is known to lie somewhere in "
        "it, not where.",
        ("bins",),
    ),
    Term(
        "calibration",
        "Whether probabilities mean what they say: of the cells on which a model is 80 % sure, "
        "80 % should be right.",
        ("calibrated",),
    ),
    Term("candidate", "One of the models from which a ballot chooses.", ("candidates",)),
    Term(
        "collude",
        "To work together against the others, by passing on what was received in confidence.",
        ("colludes", "colluding", "collusion"),
    ),
    Term(
        "commitment",
        "A hash of a secret, given away beforehand: it tells nothing of the secret, but shows "
        "later whether a restored secret is the right one.",
        ("commitments",),
    ),
    Term(
        "corner",
        "A point at which the edge of a hull turns: an extreme cell of its class or, by default, "
        "the mean of at least five cells.",
        ("corners",),
    ),
    Term(
        "curvature",
        "How strongly the space that the disc shows is curved; that of flat paper is 0.",
    ),
    Term(
        "differential privacy",
        "A guarantee, bought with random noise, that a result hardly depends on any single cell: ε "
        "says how much it may, δ how often that may fail. Studies of moments can give it; a page "
        "that does not mention ε is of one that does not.",
    ),
    Term(
        "disc",
        "The Poincaré disc, a map of a curved space in which trees have room: distances grow "
        "towards its rim, which nothing reaches.",
        ("Poincaré disc",),
    ),
    Term(
        "dropout",
        "A site that stops answering on the way; the others finish without it if enough of them "
        "are left.",
        ("dropouts", "dropped out", "drops out", "vanished", "vanishes"),
    ),
    Term(
        "encoder",
        "What turns the gene counts of a cell into a point of the disc; the same at all sites.",
    ),
    Term(
        "epoch",
        "One pass of a training through all cells that it learns from.",
        ("epochs", "epochs per round"),
    ),
    Term(
        "feature",
        "A function of a cell's position, the same at all sites, of which a site sends only sums "
        "over its cells.",
        ("features",),
    ),
    Term(
        "geodesic",
        "The shortest way between two points of the disc, a straight line of its curved space.",
        ("geodesics",),
    ),
    Term(
        "grouping",
        "How the server finds out which classes of different sites are one and the same.",
    ),
    Term(
        "guard",
        "What a site does to its points before anything leaves: it leaves out some that stand "
        "apart, and puts others into groups whose means stand for them.",
    ),
    Term(
        "hash",
        "A fingerprint of a file or message: whoever changes the file changes its hash, and the "
        "file cannot be worked out from it.",
        ("hashes", "digest", "digests", "SHA-256"),
    ),
    Term(
        "held out",
        "Kept back by a site to test the model; nothing is learned from these cells.",
        ("held-out", "holdout", "held out at each site"),
    ),
    Term(
        "hull",
        "The smallest convex region that holds the points of a class; only its corners leave.",
        ("hulls", "convex hull", "convex hulls"),
    ),
    Term(
        "isometry",
        "A way of moving and turning the whole disc that changes no distance between cells.",
        ("isometries",),
    ),
    Term(
        "label code",
        "How labels, the numbers under which hulls travel instead of their names, are written so "
        "that a sum of them can be taken apart again.",
        ("label codes",),
    ),
    Term(
        "label vector",
        "A list with a place for every label in every bin, with a 1 where the label's hull has a "
        "corner.",
        ("label vectors",),
    ),
    Term(
        "mask",
        "Random numbers that a site adds to what it sends, so that its upload alone says nothing; "
        "masks cancel only in the sum over all sites.",
        ("masks", "masked"),
    ),
    Term(
        "moment",
        "A sum, over cells, of a feature or of a product of two features.",
        ("moments",),
    ),
    Term(
        "power sum",
        "The sum of a site's numbers, of their squares, of their cubes and so on; enough of them "
        "determine the numbers.",
        ("power sums",),
    ),
    Term(
        "precision",
        "Of the cells that the model takes for a class, the percentage that is of it.",
    ),
    Term(
        "recall",
        "Of the cells of a class, the percentage that the model finds.",
    ),
    Term(
        "ridge",
        "The regression that makes a classifier out of moments; a penalty keeps its numbers small.",
        ("ridge regression",),
    ),
    Term(
        "roster",
        "The list of sites in the study file, each with the public key that its signatures are "
        "checked with.",
    ),
    Term(
        "share",
        "A piece of a secret, held by another site: as many pieces as the threshold says restore "
        "it, fewer tell nothing.",
        ("shares",),
    ),
    Term(
        "sketch",
        "Eight sums over the cells of a class, rounded, by which the server recognises the same "
        "class at another site; they say roughly where the cells lie.",
        ("sketches",),
    ),
    Term(
        "survivor",
        "A site that stayed until its upload was in the sum.",
        ("survivors",),
    ),
    Term(
        "threshold",
        "How many sites have to stay: a sum over fewer is never opened.",
    ),
    Term(
        "weights",
        "The numbers that training adjusts; an encoder consists of them.",
    ),
)


def glossary() -> list[dict[str, Any]]:
    """All terms, as a page carries them."""
    return [
        {"term": each.term, "meaning": each.meaning, "forms": [each.term, *each.forms]}
        for each in TERMS
    ]
