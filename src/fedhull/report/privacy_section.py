"""What noise hides, and how much of it there is."""

from fedhull.report.content import Section, Table
from fedhull.report.moment_content import MomentPage
from fedhull.report.page_file import AnyPage

TITLE = "What noise hides"


def privacy(page: AnyPage) -> Section | None:
    """The promise in words, and the noise behind it."""
    if not isinstance(page, MomentPage) or page.moments.promise is None:
        return None
    promise = page.moments.promise
    return Section(
        title=TITLE,
        paragraphs=promise.words,
        table=Table(
            columns=["what is read", "noise", f"what one {promise.unit} can change"],
            rows=[
                [row.what, f"± {row.deviation:,.3g}", f"{row.change:,.3g}"] for row in promise.noise
            ],
        ),
    )
