"""The pages of encoder studies, exactly as strong as docs/threat-model.md: all that is read of
their outcomes and sites is read here."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from fedhull.report import claims
from fedhull.report.encoder_sections import (
    AnchorQuality,
    EncoderFile,
    EncoderRound,
    EncoderRounds,
    Kept,
    NeighboursKept,
    OwnCells,
)
from fedhull.report.head import (
    CAME_LATE,
    COORDINATOR_CHECKS,
    SITE_CHECKS,
    bytes_figure,
    collusion_words,
    passed,
    sessions,
    site_lines,
    sites_figure,
    study_head,
    upload_check,
)
from fedhull.report.page import AnySection, CoordinatorPage, Figure, SiteLine, SitePage
from fedhull.report.sections import Anchors, Space, WhoLearnsWhat
from fedhull.report.words import count, said
from fedhull.rounds.disclosure import sentences

ROUNDS = ("genes", "axes", "anchors")
_FATES = (
    "in no round", "in the first round only", "in the first two rounds only", "in all rounds"
)  # fmt: skip
_CORRECTIONS = {
    "none": "none",
    "centre": "sites move their cells",
    "scale": "sites move and stretch their cells",
}


@dataclass(frozen=True, repr=False, kw_only=True)
class EncoderAccount:
    """The outcome `of` an encoder study for its coordinator, and the texts of its page."""

    of: Any
    bytes_up: int
    bytes_down: int
    earlier: int = 0

    own: ClassVar[bool] = False
    whose: ClassVar[str] = "the coordinator"

    @cached_property
    def sites(self) -> list[SiteLine]:
        """Each site, and its rounds. Who has missed one is not asked again: they are the first."""
        of = self.of
        fates = {
            name: _FATES[sum(name in survivors for survivors in of.in_rounds)]
            for name in of.study.clients
        }
        return site_lines(of.study, fates, of.survivors, "", of.record.failures)

    @property
    def rounds(self) -> list[EncoderRound]:
        """Sites and cells of each round, as far as they are known."""
        known = zip(ROUNDS, self.of.in_rounds, self.of.cells, strict=True)
        return [EncoderRound(of=of, sites=len(sites), cells=cells) for of, sites, cells in known]

    @property
    def kept(self) -> Kept | None:
        """Neighbours of held-out cells."""
        return _kept(self.of.counts.correct, self.of.counts.tested)

    @property
    def n_in_sum(self) -> int:
        """Sites that stayed to the end."""
        return sum(site.taking_part for site in self.sites)

    @property
    def n_gone(self) -> int:
        """Sites that did not."""
        return len(self.sites) - self.n_in_sum

    @property
    def group(self) -> str:
        """Cells behind each anchor, at least."""
        return count(self.of.study.disclosure.group_size, "cell")

    def head(self) -> dict[str, Any]:
        """The head of the page, but for its checks."""
        return study_head(self.of.study) | {
            "kicker": f"Encoder study, report for {self.whose}",
            "lead": self.lead(),
            "figures": self.figures(),
            "parameters": self.parameters(),
            "sites": self.sites,
            "bytes_up": self.bytes_up,
            "bytes_down": self.bytes_down,
        }

    def sections(self, *more: AnySection) -> list[AnySection]:
        """Sections that both pages have, and those given."""
        encoder = self.of.encoder
        points = encoder.places / np.sqrt(encoder.curvature)
        return [
            self.learned(),
            Anchors(space=Space(curvature=encoder.curvature), xy=points.astype("<f4").tobytes()),
            NeighboursKept(kept=self.kept, own=self.own),
            *more,
            EncoderRounds(rounds=self.rounds, own=self.own),
            EncoderFile(sha256=encoder.hash),
        ]

    def lead(self) -> str:
        """The study in four sentences; the first needs no word of ours. A site that came late does
        not know who stayed."""
        stayed = f"{self.n_in_sum} of them" if self.n_gone else "All of them"
        stayed = f"{stayed} stayed to the end. " if self.n_in_sum else ""
        return (
            f"{count(len(self.sites), 'site')} made a map of their cells together. {stayed}No cell "
            f"left any site: each sent, masked, sums over its cells, of genes and of products of "
            f"genes, and then anchors, each the mean of at least {self.group}. The coordinator saw "
            f"only sums over all sites, and all sites' anchors without knowing whose they are."
        )

    def figures(self) -> list[Figure]:
        """The numbers at the top."""
        encoder = self.of.encoder
        genes, axes = len(encoder.preparation.genes), len(encoder.axes.components)
        stayed = sites_figure(self.sites, "sites stayed to the end", "on the way")
        kept = []
        if self.kept is not None:
            note = f"for cells that {'you' if self.own else 'sites'} held out"
            value = f"{self.kept.percent:.1f} %"
            kept = [Figure(value=value, label="of nearest anchors stay nearest", note=note)]
        return [
            *([stayed] if self.n_in_sum else []),
            Figure(
                value=f"{len(encoder.places):,}",
                label="anchors",
                note=f"each the mean of {self.group} or more",
            ),
            Figure(
                value=f"{genes:,}",
                label=f"genes, {count(axes, 'axis', 'axes')}",
                note=f"chosen from {self.of.listed:,} listed genes",
            ),
            self.cells_figure(),
            *kept,
            *bytes_figure(self.bytes_up, self.bytes_down, self.own),
        ]

    def cells_figure(self) -> Figure:
        """Cells that the encoder was made of."""
        return Figure(
            value=f"{self.of.cells[-1]:,}", label="cells behind the anchors", note="at all sites"
        )

    def parameters(self) -> dict[str, str]:
        """The settings as they came out."""
        study, encoder = self.of.study, self.of.encoder
        return {
            "genes listed": f"{self.of.listed:,}",
            "genes chosen": f"{len(encoder.preparation.genes):,}",
            "axes": f"{len(encoder.axes.components)}",
            "anchors": f"{len(encoder.places):,}",
            "neighbours": f"{study.encoder.n_neighbors} of each anchor",
            "smallest group": self.group,
            "correction": _CORRECTIONS[study.encoder.correction],
            "threshold": f"{study.threshold} of {len(study.clients)} sites",
        }

    def learned(self) -> WhoLearnsWhat:
        """The three lists."""
        study = self.of.study
        rules, sites = study.disclosure, [each.sites for each in self.rounds]
        return WhoLearnsWhat(
            seen=said(
                claims.WHO_IN_ROUNDS,
                claims.SETTINGS,
                *sentences(self.of.disclosures),
                claims.CELLS_OF_ONE_GONE if self.n_gone else "",
            ),
            hidden=said(
                claims.CELLS_OF_ONE,
                claims.WHOSE_ANCHOR,
                claims.SINGLE_CELLS,
                claims.RARE_GENES.format(min_cells=rules.min_cells) if rules.min_cells > 1 else "",
            ),
            unprotected=said(
                claims.OWN_CELLS if self.own else "",
                sessions(self.earlier) if self.earlier else "",
                claims.GENE_PRODUCTS,
                claims.OWN_GENES,
                claims.ANCHORS_TELL,
                claims.DROPOUTS_OF_CELLS,
                collusion_words(study),
                claims.TWO_WITH_CELLS if 2 in sites else "",
                claims.NOT_AUDITED,
            ),
        )


class EncoderSiteAccount(EncoderAccount):
    """The same for a site, which knows of other sites who is in the last round."""

    own: ClassVar[bool] = True

    @property
    def whose(self) -> str:  # type: ignore[override]
        """The site."""
        return self.of.name

    @cached_property
    def sites(self) -> list[SiteLine]:
        """Each site, and whether it was there at the end."""
        last = self.of.survivors
        out = "not in the last round" if last else CAME_LATE
        return site_lines(self.of.study, dict.fromkeys(last, "in the last round"), last, out, {})

    @property
    def rounds(self) -> list[EncoderRound]:
        """Cells of the first rounds, if they were published, and sites of the last."""
        cells = [*self.of.cells_in_sums, None, None, None]
        last = EncoderRound(of=ROUNDS[-1], sites=len(self.of.survivors) or None)
        first = zip(ROUNDS[:-1], cells, strict=False)
        return [*(EncoderRound(of=of, cells=n) for of, n in first), last]

    @property
    def kept(self) -> Kept | None:
        """Neighbours of the site's held-out cells."""
        return _kept(*self.of.agreeing)

    def cells_figure(self) -> Figure:
        """The site's cells."""
        held, held_out = self.of.holdings, int(self.of.holdings.test.sum())
        note = f"{held_out:,} more were held out" if held_out else "none held out"
        return Figure(value=f"{len(held.training):,}", label="of your cells in the sums", note=note)


def account_of_outcome(outcome: Any) -> EncoderAccount:
    """The coordinator's."""
    up, down = outcome.record.bytes_up, outcome.record.bytes_down
    return EncoderAccount(of=outcome, bytes_up=max(up.values()), bytes_down=max(down.values()))


def coordinator_page(outcome: Any) -> CoordinatorPage:
    """The page of the coordinator."""
    account = account_of_outcome(outcome)
    behind = f"Behind the anchors stand at least {account.group} each, on average"
    return CoordinatorPage(
        **account.head(),
        checks=passed(*COORDINATOR_CHECKS, behind),
        seconds=outcome.record.seconds,
        sections=account.sections(AnchorQuality(**outcome.quality)),
    )


def site_page(site: Any, bytes_up: int, bytes_down: int, earlier: int = 0) -> SitePage:
    """The page of a site."""
    site = site.outcome
    account = EncoderSiteAccount(of=site, bytes_up=bytes_up, bytes_down=bytes_down, earlier=earlier)
    held, same = site.holdings, "The encoder has the genes and axes that were published before it"
    own = OwnCells(
        cells=len(held.training),
        held_out=int(held.test.sum()),
        missing=len(site.encoder.preparation.missing(held.cells)),
        rare=int(held.rare.sum()),
        min_cells=site.study.disclosure.min_cells,
    )
    # a site that came late may not have heard of them
    heard = len(site.cells_in_sums) == len(ROUNDS) - 1
    return SitePage(
        **account.head(),
        checks=[
            *passed(*SITE_CHECKS),
            upload_check("This site uploaded at most once in each round", earlier),
            *passed(*([same] if heard else [])),
        ],
        sections=account.sections(own),
    )


def _kept(kept: int | None, of: int | None) -> Kept | None:
    return Kept(kept=kept, of=of) if of and kept is not None else None
