"""The draft of a study, with a comment on whatever is to be decided."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import msgspec

from fedhull.study.study import Disclosure
from fedhull.study.summaries import HULLS

MODEL, ENCODER = "model", "encoder"


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What whoever starts a study has to say: what comes of it, a `model` or an `encoder`, what it
    is called and for, whom to ask, until when, and who takes part; for a model how many classes a
    site has at most, what sites send of them, and whether cells are placed by an encoder."""

    product: str = MODEL
    name: str
    purpose: str
    contact: str
    valid_until: date
    sites: Sequence[str]
    classes: int = 0
    summary: str = HULLS
    places_cells: bool = False
    min_cells: int = Disclosure.__struct_defaults__[0]


def commented_draft(choices: Choices) -> str:
    """The study's draft, a TOML file that `fedhull provision` takes, for a person to read."""
    parts = [_about(choices)]
    if choices.product == ENCODER:
        parts.append(_ENCODER)
    else:
        parts += [_labels(choices), _learning(choices)]
    return "\n".join([*parts, _disclosure(choices), _PROTOCOL, _roster(choices)])


def _about(choices: Choices) -> str:
    return f"""\
# What all participants of this study agree on. Everybody gets the same file, and its hash is in
# every message: nobody can change a word of it unseen. 'fedhull check' says if it can succeed.
name = {_toml(choices.name)}
purpose = {_toml(choices.purpose)}
contact = {_toml(choices.contact)}
# the last day on which anybody takes part
valid_until = {choices.valid_until}
"""


_ENCODER = """\
[encoder]
# made of three sums; 'fedhull provision --genes FILE' puts in the hash of the list of genes
genes = ""
# how many of the listed genes are used: those that vary most
n_genes = 2000
# "centre" or "scale" if sites measure differently and have like cells
correction = "none"
"""


def _labels(choices: Choices) -> str:
    return f"""\
[labels]
# the most classes that a site may have; each site may call them what it likes
classes = {choices.classes}
"""


def _learning(choices: Choices) -> str:
    words = ""
    if choices.summary == HULLS:
        words += """\
[geometry]
# width of a bin: larger is coarser, reveals less and learns less
epsilon = 0.05
# all points of all sites lie within this radius of the disc
radius = 0.98

"""
    if choices.places_cells:
        words += """\
[embedding]
# what places cells in the disc; 'fedhull provision --encoder FILE' puts in its SHA-256
encoder = ""

"""
    return f"""\
{words}[learning]
# what sites send of their classes: "hulls", or "moments", which need no [geometry]
summary = {_toml(choices.summary)}
# the share of its cells that a site keeps for testing
holdout = 0.15
# sites judge candidates on these before a model is published
ballot = true
{"" if choices.summary == HULLS else _PRIVACY}"""


_PRIVACY = """
# Noise that hides every single cell: take the marks off for differential privacy. A smaller epsilon
# hides more and costs more accuracy: 'fedhull plan' says how much, from a site's own data.
# [privacy]
# epsilon = 4.0
# delta = 1e-5
# "cell", or the column that says whose cells they are, which are then hidden together
# unit = "cell"
"""


def _disclosure(choices: Choices) -> str:
    return f"""\
[disclosure]
# nothing leaves that is made of fewer cells
min_cells = {choices.min_cells}
# nor of cells of fewer donors, at sites that name their column of donors
min_donors = 2
"""


_PROTOCOL = """\
[protocol]
# how many sites must stay to the end; 0 stands for two thirds, at least 3
threshold = 0
"""


def _roster(choices: Choices) -> str:
    sites = (f'{_toml(site) if "." in site else site} = ""\n' for site in choices.sites)
    return f"""\
# Who takes part. A site runs 'fedhull keygen NAME' and sends its public line, which goes between
# the quotes. Where they stay empty, 'fedhull provision' makes the key, and whoever runs it sees it.
[clients]
{"".join(sites)}"""


def _toml(text: str) -> str:
    return msgspec.json.encode(text).decode()
