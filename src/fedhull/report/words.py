"""What a data-protection officer reads first, exactly as strong as the threat model says it."""

from fedhull.report.content import AnyHullPage, CoordinatorPage, SimulationPage, SitePage

DESCRIPTIONS = {
    "FL": "FL, federated",
    "C": "C, the same method on pooled data",
    "CP": "CP, Poincaré SVM, pooled",
    "CE": "CE, Euclidean SVM, pooled",
    "FLP": "FLP, Poincaré SVM, federated (paper)",
    "FLE": "FLE, Euclidean SVM, federated",
    "CH-CP": "CH-CP, Poincaré SVM, pooled hulls",
    "CH-CE": "CH-CE, Euclidean SVM, pooled hulls",
    "majority": "always the largest class",
}

# Rows of the table "Who learns what" in docs/threat-model.md, in its words; a test compares them.
SEEN = (
    "who takes part, when, message sizes",
    "settings of the study",
    "the bins of each hull, and which hulls are one site's",
)
SUM = "the sum of the label vectors of one set of ≥ {threshold} sites, which the server chooses"
SEEN_IF_ONE_VANISHED = "that a site vanished, and that its place in the order is empty"
HIDDEN = (
    "which site a hull belongs to",
    "the order that assigns labels to sites",
    "one site's upload, unmasked",
    "points that are no corner of a hull",
    "how well the model does at one site",
)
HIDDEN_IF_ONE_VANISHED = "the upload of a site that was given up as vanished"
COLLUSION = (
    "A server that colludes with a site learns whose hull is whose: every site knows the order "
    "that assigns labels to sites."
)
UNPROTECTED = (
    "The hulls themselves. Corners are extreme, often rare, cells, each known to within a bin. "
    "This is not differential privacy.",
    "Several sessions over the same data. Each reveals a sum.",
    "fedhull has not been audited.",
)
OWN_RESULT = (
    "This page and result.json say which hulls are this site's. Whoever shows them to the "
    "coordinator tells it."
)
SMALL_COHORT = (
    "Small cohorts. With two sites in the sum, each can subtract its own hulls from what is "
    "published."
)

# The share of points above which the page says why it is so large.
_MUCH = 0.5


def kicker(page: AnyHullPage) -> str:
    """What kind of page this is."""
    if isinstance(page, SitePage):
        return f"Study report for {page.name}"
    if isinstance(page, CoordinatorPage):
        return "Study report for the coordinator"
    return "Report of a simulated study"


def lead(page: AnyHullPage) -> str:
    """The study in two sentences."""
    if isinstance(page, SitePage):
        return (
            f"{page.name} took part in a study of {len(page.sites)} sites. "
            f"{page.points_sent:,} of its {page.points_held:,} points left, each rounded to a bin "
            f"of width {page.space.epsilon:g}, masked, without names and labels."
        )
    simulated = isinstance(page, SimulationPage)
    where = " Everything ran on one machine, through the whole protocol." if simulated else ""
    return (
        f"One classifier was trained over the data of {page.n_in_sum} of {len(page.sites)} sites."
        f"{where} The server saw the sum over these sites: {len(page.hulls)} hulls with "
        f"{page.points_sent:,} corners in all, each known as a bin of width "
        f"{page.space.epsilon:g}."
    )


def figures(page: AnyHullPage) -> list[dict[str, str]]:
    """The numbers at the top: value, what it is, a note."""
    shown = [_sent(page), _bins(page), _bytes(page), _accuracy(page)]
    if not isinstance(page, SitePage):
        shown.insert(0, _sites(page))
    return [figure for figure in shown if figure]


def seen(page: AnyHullPage) -> list[str]:
    """What the server could see."""
    found = list(SEEN)
    found.insert(2, SUM.format(threshold=page.threshold))
    if page.n_gone:
        found.append(SEEN_IF_ONE_VANISHED)
    if not isinstance(page, SimulationPage) and page.tested:
        found.append(
            f"how well the model does, as the sum of the counts over ≥ {page.threshold} sites"
        )
    return found


def hidden(page: AnyHullPage) -> list[str]:
    """What the server could not see, on its own."""
    return [*HIDDEN, HIDDEN_IF_ONE_VANISHED] if page.n_gone else list(HIDDEN)


def unprotected(page: AnyHullPage) -> list[str]:
    """What nobody should believe to be protected."""
    cohort = [SMALL_COHORT] if page.n_in_sum == 2 else []
    own = [OWN_RESULT] if isinstance(page, SitePage) else []
    return [*own, COLLUSION, *cohort, *UNPROTECTED]


def count(n: int, one: str, many: str | None = None) -> str:
    """ "1 hull", "2,000 hulls"."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def size(n_bytes: int) -> str:
    """Bytes, as people read them."""
    if n_bytes < 1_000:
        return f"{n_bytes} B"
    return f"{n_bytes / 1e3:.1f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:.1f} MB"


def figure(value: str, label: str, note: str = "") -> dict[str, str]:
    """A number at the top of the page: value, what it is, a note."""
    return {"value": value, "label": label, "note": note}


def _sites(page: AnyHullPage) -> dict[str, str]:
    return figure(
        f"{page.n_in_sum} of {len(page.sites)}",
        "sites in the sum",
        f"{page.n_gone or 'nobody'} dropped out before",
    )


def _sent(page: AnyHullPage) -> dict[str, str]:
    if isinstance(page, CoordinatorPage):
        return figure(
            f"{page.points_sent:,}",
            "points received, as bins",
            "how many the sites hold, the coordinator does not know",
        )
    total = page.points_held if isinstance(page, SitePage) else page.points_total
    whose = "of your points left, as bins" if isinstance(page, SitePage) else "points left, as bins"
    share = page.points_sent / total
    notes = [f"the guard kept {page.points_guarded:,} out"] if page.points_guarded else []
    if share > _MUCH:
        notes.append("where a class has few points, most are corners")
    return figure(f"{page.points_sent:,} of {total:,}", f"{whose} ({share:.1%})", "; ".join(notes))


def _bins(page: AnyHullPage) -> dict[str, str]:
    note = f"{page.space.quantizer.n_bins:,} bins within radius {page.space.radius:.6g}"
    return figure(f"ε = {page.space.epsilon:g}", "width of a bin", note)


def _bytes(page: AnyHullPage) -> dict[str, str]:
    if page.bytes_up is None:
        return {}
    down = f"{size(page.bytes_down)} down" if page.bytes_down is not None else ""
    whose = "sent by you" if isinstance(page, SitePage) else "sent by a site, at most"
    return figure(size(page.bytes_up), whose, down)


def _accuracy(page: AnyHullPage) -> dict[str, str]:
    if isinstance(page, SimulationPage):
        score = page.scores[0]
        interval = f" ± {score.ci95:.1f}" if score.trials > 1 else ""
        return figure(
            f"{score.mean:.1f} %{interval}",
            "of test points classified correctly",
            count(score.trials, "trial"),
        )
    if not page.tested or page.correct is None:
        return figure("not known", "accuracy", "somebody who was asked did not answer, or nobody "
                       "held points out")  # fmt: skip
    where = (
        "you held out"
        if isinstance(page, SitePage)
        else (f"that {page.evaluators} sites had held out, known as a sum")
    )
    return figure(
        f"{100 * page.correct / page.tested:.1f} %",
        "classified correctly",
        f"{page.correct:,} of {page.tested:,} points {where}",
    )
