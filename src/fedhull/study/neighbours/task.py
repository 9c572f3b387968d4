"""The task of an encoder study of three sums."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fedhull.data.files import read_column
from fedhull.errors import InvalidInput
from fedhull.protocol.keys import Identity, Randomness
from fedhull.protocol.messages import published_content
from fedhull.study.cells import load_cells_of_site
from fedhull.study.encoder_study import NeighbourStudy
from fedhull.study.neighbours.coordinator import NeighbourCoordinator
from fedhull.study.neighbours.genes import GeneList
from fedhull.study.neighbours.holdings import FEWEST_HELD_OUT, NeighbourHoldings, hold
from fedhull.study.neighbours.plan import plan_neighbours
from fedhull.study.neighbours.site import SUMS, NeighbourSite
from fedhull.study.plan import Plan
from fedhull.study.task import Source, Task


@dataclass(frozen=True)
class NeighbourTask(Task):
    """Which genes vary, along which axes, around which anchors: a sum for each."""

    study: NeighbourStudy
    genes: GeneList
    kind = "Encoder study"
    product = "encoder"
    needs_labels = False

    @classmethod
    def of(cls, study: NeighbourStudy, genes: bytes | None) -> "NeighbourTask":
        """The task, given the content of the file that lists the genes."""
        if genes is None:
            raise InvalidInput(f"this study needs {study.attachment.words}")
        if hashlib.sha256(genes).hexdigest() != study.encoder.genes:
            raise InvalidInput(
                f"this is not the study's list of genes, whose SHA-256 is {study.encoder.genes}; "
                f"ask the coordinator for the file"
            )
        return cls(study, GeneList.from_bytes(genes))

    @property
    def sums(self) -> int:
        """Three."""
        return len(SUMS)

    def read(self, source: Source) -> NeighbourHoldings:
        """The cells that the sums are over, and those that are kept out."""
        cells = load_cells_of_site(source)
        donors = None if source.donor is None else read_column(source.data, source.donor)
        return hold(self.study, self.genes, cells, donors)

    def holdings_from_bytes(self, raw: bytes) -> NeighbourHoldings:
        """The inverse of the holdings' `to_bytes`."""
        return NeighbourHoldings.from_bytes(raw)

    def site(
        self,
        name: str,
        identity: Identity,
        holdings: NeighbourHoldings,
        randomness: Randomness | None = None,
        checkpoint: bytes | None = None,
    ) -> NeighbourSite:
        """A site with these cells."""
        return NeighbourSite(
            self.study, name, identity, self.genes, holdings, randomness, checkpoint
        )

    def coordinator(self) -> NeighbourCoordinator:
        """The coordinator's side."""
        return NeighbourCoordinator(self.study, self.genes)

    def late(
        self,
        name: str,
        identity: Identity,
        holdings: NeighbourHoldings,
        receipt: bytes,
        publication: bytes,
    ) -> NeighbourSite:
        """A site that gets the encoder after the session."""
        site = self.site(name, identity, holdings, checkpoint=receipt)
        site.take_late(published_content(publication, self.study))
        return site

    def plan(self, holdings: NeighbourHoldings | None, corners: int = 0) -> Plan:
        """What the study would send, if a site holds this; with None, for any site."""
        return plan_neighbours(self.study, self.genes, holdings)

    def what_leaves(self, holdings: NeighbourHoldings) -> list[str]:
        """How many cells are added up, what leaves in each sum, and what may be read from it."""
        study, rules, settings = self.study, self.study.disclosure, self.study.encoder
        known = int((self.genes.find(holdings.cells.genes) >= 0).sum())
        n, kept_out = len(holdings.training), int(holdings.test.sum())
        rare = int(holdings.rare.sum())
        donors = f", of at least {rules.min_donors} donors" if holdings.donor is not None else ""
        lines = [
            f"You hold {len(holdings.cells):,} cells, of which {kept_out:,} are kept out. The "
            f"study lists {len(self.genes.names):,} genes; you have {known:,} of them, and those "
            f"that you lack count as not expressed. So do, in what leaves, {rare:,} genes that "
            f"fewer than {rules.min_cells} of your cells express.",
            "Three sums would leave, masked. The coordinator opens each over all sites that are in "
            f"it, at least {study.threshold}, and nothing else:",
            f"1. For each gene, whether you measure it, how many of your {n:,} cells express it, "
            f"and sums of its values and of their squares, as they are and logged.",
            f"2. For each pair of the up to {settings.n_genes:,} genes that vary most, the sum of "
            f"their products over your cells: what a principal component analysis has to know.",
            f"3. Anchors: the mean, along up to {settings.n_components} axes, of each group of at "
            f"least {rules.group_size} of your cells{donors}. The coordinator reads all sites' "
            f"anchors, but is not told whose they are; they are published in the encoder, to all "
            f"sites.",
            "What may be read from this: how genes vary together over all sites' cells, and so "
            "whether there are cells of a type whose profile is known, even if they are few; and "
            "which groups of like cells there are. No cell, gene count or label leaves. This is "
            "not differential privacy.",
        ]
        if kept_out:
            lines.append(
                f"Once the encoder is published, the coordinator gets one masked count: how many "
                f"of the anchors that are nearest to your {kept_out:,} cells that are kept out "
                f"still are in the disc, which it can only read as a sum over sites."
            )
        if settings.correction != "none":
            how = "moved" if settings.correction == "centre" else "moved and stretched"
            lines.append(
                f"Your cells are {how} as a whole along each axis, on this machine, so that they "
                f"lie where all sites' cells lie; nobody is told how."
            )
        return lines

    def doubts(self, holdings: NeighbourHoldings) -> list[str]:
        """Which of the listed genes the site does not measure, and whether it can judge."""
        doubts = []
        lacking = len(self.genes.names) - int((self.genes.find(holdings.cells.genes) >= 0).sum())
        if lacking:
            doubts.append(
                f"Your data lack {lacking:,} of the study's {len(self.genes.names):,} genes: they "
                f"are not chosen if the sites have enough others in common."
            )
        share = self.study.encoder.holdout
        if share and not holdings.test.any():
            doubts.append(
                f"No cells are kept out: {share:.0%} of your {len(holdings.cells):,} would be "
                f"fewer than {FEWEST_HELD_OUT}. This site does not judge the encoder."
            )
        return doubts

    def summarize(self, result: Mapping[str, Any]) -> str:
        """The encoder, what it stands on, and how well it keeps neighbours together."""
        words = (
            f"{result['genes']:,} genes, {result['axes']} axes, {result['anchors']:,} anchors. "
            f"Encoder: {result['encoder']} (SHA-256), the same for everybody."
        )
        kept = result["neighbours_kept"]
        if kept is not None:
            whose = "cells that you kept out" if "site" in result else "cells that sites kept out"
            words += (
                f"\nOf the anchors nearest to {whose}, {100 * kept:.1f} % still are in the disc."
            )
        if result.get("missing_genes"):
            words += (
                f"\nYour cells lack {result['missing_genes']:,} of the encoder's genes, which "
                f"count as not expressed."
            )
        return words
