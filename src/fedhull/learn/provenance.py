"""What a model file carries beside the classifier: where it comes from, and its encoder.

Neither is ever published by a server: they are added where a file is written, and taken off again
before what a server has published is checked.
"""

import hashlib
from typing import Annotated, Any

import msgspec

from fedhull.errors import InvalidInput
from fedhull.learn.judged import Count, Percent

# A default encoder has less than 1 MB, an autoencoder of 2,000 genes 5 MB; in a file, each byte
# takes 4/3.
MOST_BYTES = 32 * 2**20
PROVENANCE, ENCODER_FILE = "provenance", "encoder_file"

Word = Annotated[str, msgspec.Meta(max_length=200)]


class Provenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In which study a model was learned: its name, its hash and what sites sent, how many `sites`
    were on its roster and which of them are in the sum, as far as whoever writes the file knows;
    the `accuracy` in percent that the ballot has found, on so many held-out `cells`; by which
    version of `fedhull` and on which day (UTC) the file was written."""

    study: Word
    study_hash: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
    summary: Word
    sites: Count
    survivors: list[Word] | None = None
    accuracy: Percent | None = None
    cells: Count | None = None
    fedhull: Word
    date: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\d\Z")]


class Carried(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file may hold beside the classifier; `encoder_file` is the content of the encoder's
    own file, in base64."""

    provenance: Provenance | None = None
    encoder_file: bytes | None = None

    @classmethod
    def by(cls, model: Any) -> "Carried":
        """What a model that was loaded, or that a simulation has made, carries."""
        return cls(
            provenance=getattr(model, "provenance_", None),
            encoder_file=getattr(model, "encoder_file_", None),
        )

    def put_on(self, model: Any) -> Any:
        """The model, with this as its attributes `provenance_` and `encoder_file_`."""
        if self.encoder_file is not None:
            named = getattr(model, "encoder_", None)
            if hashlib.sha256(self.encoder_file).hexdigest() != named:
                raise InvalidInput(f"its encoder is not the one that it names, {named}")
        model.provenance_, model.encoder_file_ = self.provenance, self.encoder_file
        return model

    def added_to(self, content: dict[str, Any]) -> dict[str, Any]:
        """The content of a file with this at its end; what is not known is left out, and so is an
        encoder that is too large."""
        encoder = self.encoder_file
        fits = encoder is not None and len(encoder) <= MOST_BYTES
        kept = msgspec.structs.replace(self, encoder_file=encoder if fits else None)
        added = msgspec.to_builtins(kept)
        if self.provenance is not None:
            added[PROVENANCE] = {k: v for k, v in added[PROVENANCE].items() if v is not None}
        return content | {key: value for key, value in added.items() if value is not None}


def split(content: Any) -> tuple[Any, dict[str, Any]]:
    """The content of a file without what it carries, and that."""
    if not isinstance(content, dict):
        return content, {}
    keys = (PROVENANCE, ENCODER_FILE)
    rest = {key: value for key, value in content.items() if key not in keys}
    return rest, {key: content[key] for key in keys if key in content}
