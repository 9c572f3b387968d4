"""An encoder study: the sites train one encoder together; no cell and no hull leaves them."""

from typing import Annotated, Any

import msgspec

from fedhull.codes.mean import MOST_SITES
from fedhull.errors import InvalidInput
from fedhull.protocol.study import Agreement, Part, Sha256, Study, parse_toml


class Encoder(Part, frozen=True, kw_only=True):
    """Which encoder is trained, and for how long.

    `start` is the SHA-256 of the encoder file that everybody begins with; `epochs` are passes of
    each site over its own cells in each of the `rounds`.
    """

    start: Sha256
    rounds: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 20
    epochs: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)] = 0


class EncoderStudy(Agreement, frozen=True, kw_only=True, dict=True):
    """A study that trains an encoder by federated averaging, one session for each round."""

    encoder: Encoder

    def __post_init__(self) -> None:
        if len(self.clients) > MOST_SITES:
            raise InvalidInput(
                f"an encoder study has at most {MOST_SITES:,} clients, got {len(self.clients):,}"
            )
        super().__post_init__()


AnyStudy = Study | EncoderStudy


def study_from_plain(content: dict[str, Any]) -> AnyStudy:
    """The study in the tables of a TOML file: one with an [encoder] is an encoder study."""
    kind: type[AnyStudy] = EncoderStudy if "encoder" in content else Study
    return kind.from_plain(content)


def study_from_toml(text: str) -> AnyStudy:
    """The study, of whichever kind, in a TOML file."""
    return study_from_plain(parse_toml(text))
