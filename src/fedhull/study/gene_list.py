"""The public list of genes that sites may have, and how a site's own genes are found in it."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from fedhull.disk import read_bytes
from fedhull.errors import InvalidInput
from fedhull.text import check_visible, shortened

MOST_GENES, _LONGEST_NAME = 100_000, 100
_ENSEMBL = re.compile(r"ENS[A-Z]{0,6}G\d{11}(\.\d+)?")


@dataclass(frozen=True)
class GeneList:
    """Names of genes, in an order that all participants agree on."""

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not 2 <= len(self.names) <= MOST_GENES:
            raise InvalidInput(
                f"a list of genes must have between 2 and {MOST_GENES:,} names, got "
                f"{len(self.names):,}"
            )
        for name in self.names:
            check_visible(name, "the name of a gene")
            if not 0 < len(name) <= _LONGEST_NAME:
                raise InvalidInput(
                    f"the name of a gene must have between 1 and {_LONGEST_NAME} characters, got "
                    f"{shortened(name)}"
                )
        if len(self.place) < len(self.names):
            twice = next(g for i, g in enumerate(self.names) if self.place[g] != i)
            raise InvalidInput(f"a list of genes must not name one twice, but has {twice!r} twice")

    @classmethod
    def from_bytes(cls, content: bytes, what: str = "the list of genes") -> "GeneList":
        """The list in a text file: a name in each line; lines that begin with # are left out."""
        try:
            lines = [line.strip() for line in content.decode("utf-8").splitlines()]
        except UnicodeDecodeError:
            raise InvalidInput(f"{what} must be a text file with a gene in each line") from None
        return cls(tuple(line for line in lines if line and not line.startswith("#")))

    def to_bytes(self) -> bytes:
        """The content of such a file."""
        return ("\n".join(self.names) + "\n").encode("utf-8")

    @property
    def hash(self) -> str:
        """SHA-256 of the list's file, in hexadecimal."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @cached_property
    def place(self) -> dict[str, int]:
        """Position of each gene in the list."""
        return {name: i for i, name in enumerate(self.names)}

    def find(self, genes: Sequence[str]) -> np.ndarray:
        """Positions of a site's genes in the list, −1 for those not in it."""
        return np.array([self.place.get(str(gene), -1) for gene in genes])

    def check(self, genes: Sequence[str]) -> None:
        """Raise InvalidInput if the list has fewer than half of a site's genes, and the site fewer
        than half of the list's: then they are called by other names."""
        found = int((self.find(genes) >= 0).sum())
        if 2 * found >= min(len(genes), len(self.names)):
            return
        own, theirs = _kind(genes), _kind(self.names)
        why = "genes are matched by name; are both of the same species?"
        if own != theirs:
            why = (
                f"yours are {own} and the list has {theirs}; in an AnnData object, set var_names "
                f"to the column of var that has {theirs}"
            )
        raise InvalidInput(
            f"of your {len(genes):,} genes ({', '.join(map(shortened, genes[:3]))}, …) only "
            f"{found:,} are among the {len(self.names):,} of the study "
            f"({', '.join(map(shortened, self.names[:3]))}, …): {why}"
        )


def read_genes(path: str | Path) -> GeneList:
    """The list in a text file, or the genes of an .h5ad."""
    if Path(path).suffix != ".h5ad":
        return GeneList.from_bytes(read_bytes(path), str(path))
    from fedhull.data.files import open_h5ad  # slow to import

    return GeneList(tuple(map(str, open_h5ad(path, backed=True).var_names)))


def _kind(genes: Sequence[str]) -> str:
    some = [str(gene) for gene in genes[:1000]]
    ensembl = [name for name in some if _ENSEMBL.fullmatch(name)]
    if 2 * len(ensembl) < len(some):
        return "gene symbols"
    versions = sum("." in name for name in ensembl)
    return f"Ensembl identifiers with{'' if 2 * versions >= len(ensembl) else 'out'} versions"
