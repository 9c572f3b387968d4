"""The page with data as they are: thirty classes, long names, a phone, paper."""

import base64
import json
import re

import numpy as np
import pytest
from browser import Opened

from fedhull import make_tree, simulate
from fedhull.report.glossary import terms
from fedhull.report.matches import OwnMatches
from fedhull.report.page import page_from_json

pytestmark = pytest.mark.slow

PAPER = 703  # pixels across A4 between its margins
LONG = "CD{0}+/CD45RA+/CD{1}− naive cytotoxic cells of the upper left lobe, {0}"
LABELS = """fedhull.viewer.labels.map(({ name, text, box }) => ({ name, text, box }))"""


@pytest.fixture(scope="module")
def crowded(folder):
    """Pages of hulls and of moments with thirty classes, most of them with long names, at sites
    with long names."""
    data = make_tree(1500, lineages=29, seed=1)
    known = np.unique(data.y)
    names = {n: LONG.format(i, 7 * i) if i % 3 else f"T {i}" for i, n in enumerate(known)}
    y = np.array([names[name] for name in data.y])
    owner = [f"Donor {i % 3} of the hospital of St. Elsewhere, left lung" for i in range(len(y))]
    given = {"clients": 3, "epsilon": 0.2, "partition": owner, "ballot": False}
    paths = {}
    for summary, more in (("hulls", {}), ("moments", {"align": 0, "agreed_names": True})):
        paths[summary] = folder / f"crowded-{summary}.html"
        simulate(data.x, y, summary=summary, **given, **more).write_report(paths[summary])
    return paths


def on_paper(opened):
    """The page as it is laid out for print."""
    media = {"media": "print", "features": []}
    opened.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    opened.until("document.querySelectorAll('.all-steps .on-paper').length > 0")
    opened.settle()


def off_paper(opened):
    opened.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def check_labels(opened):
    """No two of the names on the disc overlap, and none leaves the round drawing."""
    labels = opened.run(LABELS)
    boxes = np.array([label["box"] for label in labels])
    middle = opened.run("fedhull.viewer.canvas.clientWidth") / 2
    corners = boxes[:, [0, 1, 2, 1, 0, 3, 2, 3]].reshape(-1, 2)
    assert np.hypot(*(corners - middle).T).max() <= middle
    for i, one in enumerate(boxes):
        for other in boxes[i + 1 :]:
            across = min(one[2], other[2]) - max(one[0], other[0])
            down = min(one[3], other[3]) - max(one[1], other[1])
            assert min(across, down) <= 1e-9
    return labels


@pytest.mark.parametrize("summary", ["hulls", "moments"])
@pytest.mark.parametrize("width", [1400, 390])
def test_names_on_the_disc_neither_overlap_nor_leave_it(chromium, crowded, summary, width):
    opened = Opened(chromium, crowded[summary], width, 900)
    assert len(check_labels(opened)) >= (25 if width > 1000 else 12)
    middle = opened.run("fedhull.viewer.canvas.clientWidth") / 2
    opened.drag((middle, middle), (1.4 * middle, 0.7 * middle))
    check_labels(opened)
    opened.click("button[aria-label='Zoom in']")
    opened.settle()
    check_labels(opened)


def test_names_that_want_the_same_place_keep_apart(chromium, crowded):
    opened = Opened(chromium, crowded["hulls"])
    opened.run("fedhull.scene.namePlaces.forEach((_, i, all) => { all[i] = [0.1, 0]; })")
    opened.run("fedhull.viewer.time(false)")
    assert len(check_labels(opened)) == 30


def test_a_shortened_name_is_told_in_full_under_the_pointer(chromium, crowded):
    opened = Opened(chromium, crowded["hulls"], 1400, 900)
    short = next(label for label in opened.run(LABELS) if label["name"] != label["text"])
    whole = next(label for label in opened.run(LABELS) if label["name"] == label["text"])
    for label, title in ((short, short["name"]), (whole, "")):
        left, top, right, bottom = label["box"]
        spot = opened.at((left + right) / 2, (top + bottom) / 2)
        opened.actions().move_to_element_with_offset(*spot).perform()
        assert opened.run("fedhull.viewer.canvas.title") == title
    assert "…" in short["text"]
    assert short["text"][-2:] == short["name"][-2:]


def test_a_matrix_of_thirty_classes_fits_on_a_screen_and_on_paper(chromium, crowded):
    box = "document.querySelector('.confusion').parentElement"
    opened = Opened(chromium, crowded["hulls"], 1400, 900)
    assert opened.run("document.querySelectorAll('.confusion tbody tr').length") == 30
    assert opened.run(f"{box}.scrollWidth <= {box}.clientWidth")
    assert (
        opened.run("parseFloat(getComputedStyle(document.querySelector('.many td')).fontSize)") > 11
    )
    opened.resize(PAPER, 1000)
    on_paper(opened)
    try:
        assert opened.run("document.documentElement.scrollWidth") <= PAPER
        assert opened.run(f"{box}.scrollWidth <= {box}.clientWidth")
        # nothing in a cell is wider than the cell
        assert opened.run("[...document.querySelectorAll('.many td')]"
                          ".every((cell) => cell.scrollWidth <= cell.clientWidth + 1)")  # fmt: skip
    finally:
        off_paper(opened)


def test_on_a_phone_the_matrix_scrolls_in_its_own_box_and_rows_keep_their_names(chromium, crowded):
    opened = Opened(chromium, crowded["hulls"], 390, 800)
    assert opened.run("document.documentElement.scrollWidth") <= 390
    left = "document.querySelector('.confusion tbody th').getBoundingClientRect().left"
    before = opened.run(left)
    opened.run("document.querySelector('.confusion').parentElement.scrollBy(300, 0)")
    assert opened.run(left) == pytest.approx(before, abs=1)
    heads = opened.run("[...document.querySelectorAll('.confusion thead th')].map((h) => "
                       "[h.textContent, h.title])")  # fmt: skip
    rows = opened.run("[...document.querySelectorAll('.confusion tbody th')].map((h) => "
                      "[h.querySelector('b').textContent, h.title])")  # fmt: skip
    assert heads == rows
    assert [number for number, _ in rows] == [str(n) for n in range(1, 31)]


def test_sites_have_the_names_of_the_owners_in_the_data(chromium, crowded):
    opened = Opened(chromium, crowded["hulls"])
    heads = opened.run("[...document.querySelectorAll('.sites tbody th')].map((h) => h.title)")
    assert heads == [f"Donor {i} of the hospital of St. Elsewhere, left lung" for i in range(3)]
    assert "site-0001" not in opened.run("document.body.innerText")


def test_a_class_has_one_colour_on_all_pages_of_the_same_data(chromium, crowded):
    colours = {}
    for summary, path in crowded.items():
        opened = Opened(chromium, path)
        colours[summary] = opened.run(
            "Object.fromEntries(fedhull.scene.classes.map(({ name, colour }) => [name, colour]))"
        )
        swatches = opened.run(
            """Object.fromEntries([...document.querySelectorAll(".confusion tbody th")]
                .map((row) => [row.title, row.querySelector(".swatch").style.backgroundColor]))"""
        )
        for name, colour in colours[summary].items():
            rgb = ", ".join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
            assert swatches[name] == f"rgb({rgb})"
        assert len(set(colours[summary].values())) == 30
    assert colours["hulls"] == colours["moments"]


def test_coordinator_and_sites_give_a_class_the_same_colour_whatever_they_call_it(
    chromium, federated
):
    shown = "Object.fromEntries(fedhull.scene.classes.map(({ name, colour }) => [name, colour]))"
    known = Opened(chromium, federated["server"] / "report.html").run(shown)
    for site in ("lab-a", "lab-b"):
        opened = Opened(chromium, federated[site] / "report.html")
        own, content = opened.run(shown), json.loads((federated[site] / "result.json").read_text())
        matches = page_from_json(content["report"], "it").find(OwnMatches).rows
        assert len(matches) > 2
        for match in matches:
            assert own[match.name] == known[f"class {match.number + 1}"]


def test_the_chart_of_accuracies_has_numbers_on_its_axis(chromium, simulated, folder):
    simulated.write_report(folder / "axis.html")
    opened = Opened(chromium, folder / "axis.html")
    numbers = opened.run("[...document.querySelectorAll('.scores tfoot text')]"
                         ".map((node) => Number(node.textContent))")  # fmt: skip
    assert numbers[-1] == 100
    assert len(numbers) >= 3
    assert np.diff(numbers).min() == np.diff(numbers).max() > 0


def test_the_ring_beyond_the_radius_is_explained(chromium, crowded):
    opened = Opened(chromium, crowded["hulls"])
    assert "radius R" in opened.run("document.querySelector('#disc .note').textContent")


def test_all_steps_are_printed_and_nothing_is_folded(chromium, federated, crowded):
    for path in (federated["lab-a"] / "report.html", crowded["moments"]):
        opened = Opened(chromium, path)
        visible = "[...document.querySelectorAll('.on-paper')].filter((x) => x.offsetHeight > 0)"
        assert opened.run(f"{visible}.length") == 0
        made = opened.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
        assert base64.b64decode(made["data"]).startswith(b"%PDF")
        tabs = "[...document.querySelectorAll('.stepper nav em')].map((tab) => tab.textContent)"
        titles = opened.run(tabs)
        assert opened.run("document.querySelectorAll('.on-paper').length") == len(titles) >= 4
        opened.resize(PAPER, 1000)
        on_paper(opened)
        try:
            heads = opened.run(f"{visible}.map((x) => x.querySelector('h3').textContent)")
            assert heads == [f"{i}. {title}" for i, title in enumerate(titles, start=1)]
            assert opened.run(
                f"{visible}.every((x) => x.querySelector('.picture').childElementCount)"
            )
            assert opened.run("[...document.querySelectorAll('details')].every((x) => x.open)")
            assert opened.run("document.documentElement.scrollWidth") <= PAPER
            assert opened.run("document.querySelector('.stepper').offsetHeight") == 0
        finally:
            off_paper(opened)


@pytest.mark.parametrize("who", ["server", "lab-a"])
def test_unknown_words_are_explained_where_they_come_first_and_at_the_end(
    chromium, federated, framed, who
):
    meanings = {each.term: each.meaning for each in terms()}
    for study in (federated, framed):
        opened = Opened(chromium, study[who] / "report.html")
        listed = dict(
            opened.run(
                """[...document.querySelectorAll(".glossary div")].map((entry) =>
                    [...entry.children].map((part) => part.textContent))"""
            )
        )
        assert listed.items() <= meanings.items()
        assert {"mask", "threshold", "dropout"} <= set(listed)
        marked = opened.run(
            """[...document.querySelectorAll("abbr.word")].map((word) => [
                word.textContent, word.title,
                document.getElementById(word.getAttribute("aria-describedby")).textContent,
                word.closest("section, header, .telling").id])"""
        )
        assert len(marked) > 15
        for word, title, described, _ in marked:
            assert title == described
            assert title in listed.values()
            (term,) = (t for t in terms() if t.meaning == title)
            assert word.lower() in {form.lower() for form in (term.term, *term.forms)}
        once = [(title, place) for _, title, _, place in marked]
        assert len(once) == len(set(once))


def test_every_word_of_the_glossary_that_a_page_uses_is_listed(chromium, summed):
    opened = Opened(chromium, summed["server"] / "report.html")
    text = opened.run(
        """[...document.querySelectorAll("#top p, #summary li, #more p, #results p")]
            .map((node) => node.textContent).join(" | ")"""
    )
    listed = opened.run("[...document.querySelectorAll('.glossary dt')].map((x) => x.textContent)")
    for each in terms():
        forms = "|".join(re.escape(form) for form in (each.term, *each.forms))
        if re.search(rf"(?<![\w-])({forms})(?![\w-])", text, re.IGNORECASE):
            assert each.term in listed
