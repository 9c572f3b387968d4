"""The page as a file: what is in it, what cannot get in, what its words may claim."""

import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from fedhull.cli.app import app
from fedhull.errors import InvalidInput
from fedhull.kits.results import write_report
from fedhull.learn.lorentz import LorentzClassifier
from fedhull.report import alignment as al
from fedhull.report import claims, classes, hulls, render
from fedhull.report import encoder_sections as en
from fedhull.report import matches as ma
from fedhull.report import sections as s
from fedhull.report.classes import account_of_outcome, own_points
from fedhull.report.classifier import count_tests, pool_tests
from fedhull.report.glossary import terms
from fedhull.report.page import AnyPage, AnySection, page_from_json, page_to_json
from fedhull.report.render import MODULES
from fedhull.report.sections import (
    EVERYBODY,
    Confusion,
    SharedBin,
    Tradeoff,
    TradeoffRow,
    WhoLearnsWhat,
)
from fedhull.report.verdict import NotJudged, Verdict

DOCS = Path(__file__).parent.parent.parent / "docs"


class Parsed(HTMLParser):
    """Scripts, styles and tags, as a browser would see them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.scripts, self.styles, self.policy, self.title = [], [], [], "", ""
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        given = dict(attributes)
        self._inside = tag
        if tag == "script":
            self.scripts.append([given, ""])
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts[-1][1] += data
        elif self._inside == "style":
            self.styles.append(data)
        elif self._inside == "title":
            self.title += data


def content_of(text: str) -> dict:
    (raw,) = (body for given, body in Parsed(text).scripts if given.get("id") == "content")
    return json.loads(raw)


def section_of(content: dict, kind: str) -> dict | None:
    """The section of this kind, in plain values."""
    return next((each for each in content["sections"] if each["section"] == kind), None)


def report_of(folder: Path) -> dict:
    return json.loads((folder / "result.json").read_text())["report"]


@pytest.fixture(scope="session")
def page(simulated):
    return simulated.page("<b>A study</b> & more")


@pytest.fixture(scope="session")
def text(page):
    return render.render(page)


# What is in the file


def test_the_policy_allows_this_style_and_this_script_and_nothing_else(text):
    parsed = Parsed(text)
    (script,) = (body for given, body in parsed.scripts if given.get("type") == "module")
    (style,) = parsed.styles
    for kind, inlined in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(inlined.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in parsed.policy
    assert parsed.policy.startswith("default-src 'none'; ")
    assert "unsafe" not in parsed.policy


def test_names_from_data_are_data(text):
    parsed = Parsed(text)
    assert len(parsed.scripts) == 2
    assert "img" not in parsed.tags
    assert parsed.title == "<b>A study</b> & more"
    names = section_of(content_of(text), "disc")["classes"]
    assert "<script>window.hacked = 1</script>" in names
    assert "a & b \u2028 {{script}}" in names
    assert "\u2028" not in text


def test_the_file_refers_to_nothing_outside(text):
    addresses = re.findall(r"https?://[^\s\"']+", text)
    assert set(addresses) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"""\b(src|href)=""", re.sub(r'id="content">.*', "", text))
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|innerHTML|eval\(", text)


def test_an_ordinary_page_is_small(text):
    assert len(text.encode()) < 150_000


def test_modules_share_one_scope_without_clashes():
    folder = files("fedhull.report") / "page"
    assert {f"{name}.js" for name in MODULES} == {
        file.name for file in folder.iterdir() if file.name.endswith(".js")
    }
    names = []
    for module in MODULES:
        source = (folder / f"{module}.js").read_text()
        names += re.findall(r"^(?:export )?(?:function|const|let|class) (\w+)", source, re.M)
        for imported in re.findall(r'^import .* from "\./(\w+)\.js";$', source, re.M):
            assert module == "main" or MODULES.index(imported) < MODULES.index(module)
    assert len(names) == len(set(names))
    assert not re.search(r"^(import|export) ", render._script(), re.M)


# What a page may hold


def test_a_page_survives_its_way_through_a_result_file(page):
    assert page_from_json(json.loads(json.dumps(page_to_json(page))), "it") == page


# The pages that each section of one reader only may be on; all others are for everybody.
OF_ONE_READER = {
    "own-points": "site", "own-matches": "site", "own-alignment": "site", "classes-left": "site",
    "own-cells": "site", "found-classes": "coordinator", "scatter": "coordinator",
    "anchor-quality": "coordinator", "held": "simulation", "scores": "simulation",
    "tradeoff": "simulation", "match-map": "simulation", "alignments": "simulation",
}  # fmt: skip


def tag(kind) -> str:
    return kind.__struct_config__.tag


def _examples() -> dict:
    """One section of each kind."""
    table = s.Table(columns=["a"], rows=[["b"]])
    disc, match = s.Space(curvature=1.0), {"certainty": 80}
    found = al.Alignment(
        site="lab-a", rounds=[al.Fit(before=1.0, after=0.5)], curvature=1.0, shift=[0.1, 0.0],
        turn=[[1.0, 0.0], [0.0, 1.0]],
    )  # fmt: skip
    model = {"kind": "grid", "classes": ["a"], "size": 1, "columns": "AA=="}
    row = s.ClassRow(
        name="a", cells=9, tested=1, guarded=0, groups=1, corners=3, smallest=5, single=0,
        withheld="",
    )  # fmt: skip
    made = [
        s.WhoLearnsWhat(seen=["a"], hidden=[], unprotected=[]),
        s.Held(title="held", sites={"lab-a": "1 of 2"}),
        s.Disc(space=disc, classes=["a"], colours={"a": "#000000"}, model=model),
        s.OwnPoints(xy=bytes(8), columns=bytes(1), of=1),
        s.Anchors(space=disc, xy=bytes(8)),
        s.Steps(steps=[s.Step(picture="table", title="a", words="b")]),
        s.SharedBin(bin="1", value="2", labels=[1], codes=["2"]),
        s.Scores(scores=[s.Score(name="FL", mean=1.0, ci95=0.0, trials=1)]),
        s.Accuracy(correct=1, tested=2),
        s.Tradeoff(rows=[], epsilon=0.1),
        s.Confusion(names=["a"], confusion=[[1]], reliability=[]),
        s.ClassesLeft(words="a", columns={"cells": "cells"}, rows=[row]),
        s.Noise(unit="cell", words=["a"], lines=[]),
        s.Text(title="a", table=table),
        ma.AgreedNames(),
        ma.OwnMatches(rows=[ma.OwnMatch(name="a", number=0, sites=2, **match)]),
        ma.FoundClasses(rows=[ma.FoundClass(name="a", sites=1, cells=5, least=80, doubtful=1)]),
        ma.MatchMap(rows=[ma.MapRow(number=0, name="a", slots=[])]),
        al.OwnAlignment(times=1, found=found),
        al.Scatter(values=[1.0, 0.5]),
        al.Alignments(times=1, scatter=[1.0, 0.5], sites=[found]),
        Verdict(
            cells=9, unnamed=1, tolerance=1, candidates=2, candidate="b", is_default=False,
            accuracy=90.0, log_loss=0.1, temperature=1.5, calibration_error=0.01, reach=3.0,
            classes=[],
        ),
        NotJudged(why="nobody was asked"),
        en.NeighboursKept(kept=None, own=False),
        en.AnchorQuality(neighbours_kept=0.9),
        en.EncoderRounds(rounds=[en.EncoderRound(of="genes")], own=False),
        en.OwnCells(cells=1, held_out=0, missing=0, rare=0, min_cells=5),
        en.EncoderFile(sha256="0" * 64),
    ]  # fmt: skip
    return {tag(type(section)): section for section in made}


EXAMPLES = _examples()


def test_every_section_says_who_may_see_it():
    kinds = {tag(kind): kind for kind in AnySection.__args__}
    assert len(kinds) == len(AnySection.__args__)
    for name, viewer in OF_ONE_READER.items():
        assert kinds[name].viewers == {viewer}
    assert kinds["accuracy"].viewers == {"coordinator", "site"}
    assert kinds["shared-bin"].viewers == {"coordinator", "simulation"}
    others = kinds.keys() - OF_ONE_READER.keys() - {"accuracy", "shared-bin"}
    assert all(kinds[name].viewers == EVERYBODY for name in others)


@pytest.mark.parametrize("page_type", AnyPage.__args__, ids=tag)
@pytest.mark.parametrize("kind", AnySection.__args__, ids=tag)
def test_a_page_refuses_sections_that_its_reader_may_not_see(page, page_type, kind):
    empty = msgspec.structs.asdict(msgspec.structs.replace(page, sections=[]))
    section = EXAMPLES[tag(kind)]
    content = page_to_json(page_type(**empty)) | {"sections": [msgspec.to_builtins(section)]}
    if page_type.viewer in kind.viewers:
        made = page_type(**empty | {"sections": [section]})
        assert page_from_json(json.loads(json.dumps(content)), "it") == made
        assert render.render(made)
        return
    with pytest.raises(InvalidInput, match=f"page of a {page_type.viewer} has no place for"):
        page_type(**empty | {"sections": [section]})
    with pytest.raises(InvalidInput, match=r"damaged.*has no place for"):
        page_from_json(content, "it")


def test_points_cannot_be_smuggled_into_the_coordinators_page(federated):
    content = report_of(federated["server"])
    page_from_json(content, "it")
    points = {"xy": "AAAA", "columns": "AA", "of": 1}
    disc = section_of(content, "disc")
    others = [each for each in content["sections"] if each is not disc]
    hull = disc["hulls"][0] | {"points": [[0.1, 0.2]]}
    for smuggled in (
        content | {"points": points},
        content | {"sections": [*others, disc, {"section": "own-points"} | points]},
        content | {"sections": [*others, disc | {"points": points}]},
        content | {"sections": [*others, disc | {"hulls": [hull]}]},
    ):
        with pytest.raises(InvalidInput, match="damaged"):
            page_from_json(smuggled, "it")


def test_the_coordinators_page_knows_hulls_by_label_and_sites_by_name_but_not_which_is_whose(
    federated,
):
    content = content_of((federated["server"] / "report.html").read_text())
    disc = section_of(content, "disc")
    assert {tuple(sorted(hull)) for hull in disc["hulls"]} == {
        ("column", "label", "place", "rings", "sectors")
    }
    assert [site["name"] for site in content["sites"]] == ["lab-a", "lab-b", "lab-c"]
    assert {key for site in content["sites"] for key in site} == {"name", "fate", "taking_part"}
    assert disc["classes"] == [f"class {i + 1}" for i in range(6)]
    assert "lineage" not in json.dumps(content)
    assert any(each.get("title") == "Accuracy" for each in content["sections"])


def test_a_sites_page_shows_its_own_points_which_its_result_does_not_hold(federated):
    folder = federated["lab-b"]
    assert section_of(report_of(folder), "own-points") is None
    content = content_of((folder / "report.html").read_text())
    points, disc = section_of(content, "own-points"), section_of(content, "disc")
    shown = np.frombuffer(base64.b64decode(points["xy"]), dtype="<f4").reshape(-1, 2)
    data = np.load(folder.parents[3] / "lab-b.npz")
    assert np.array_equal(shown, data["x"].astype("<f4"))
    columns = np.frombuffer(base64.b64decode(points["columns"]), dtype=np.uint8)
    assert [disc["classes"][c] for c in columns] == data["y"].tolist()
    assert {hull["place"] for hull in disc["hulls"]} == {disc["hulls"][0]["place"]}
    for name in ("report.html", "result.json"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600


def test_a_sites_hulls_are_those_that_the_coordinator_decoded(federated):
    decoded = [hull["bins"] for hull in section_of(report_of(federated["server"]), "disc")["hulls"]]
    sent = [
        hull["bins"]
        for name in ("lab-a", "lab-b", "lab-c")
        for hull in section_of(report_of(federated[name]), "disc")["hulls"]
    ]
    assert sorted(decoded) == sorted(sent)


def test_a_site_counts_the_bytes_that_its_audit_log_has(federated):
    raw = (federated["lab-a"] / "audit.jsonl").read_text()
    log = [json.loads(line) for line in raw.splitlines()]
    content = report_of(federated["lab-a"])
    for key, direction in (("bytes_up", "sent"), ("bytes_down", "received")):
        assert content[key] == sum(x["bytes"] for x in log if x["direction"] == direction) > 0


def test_a_site_whose_data_are_gone_gets_a_page_without_points(federated, tmp_path):
    for name in ("result.json", "consent.json"):
        raw = (federated["lab-c"] / name).read_text()
        (tmp_path / name).write_text(raw.replace("lab-c.npz", "gone.npz"))
    page = write_report(tmp_path)
    assert section_of(content_of(page.read_text()), "own-points") is None


def test_more_points_than_a_page_carries_are_thinned_out(monkeypatch):
    monkeypatch.setattr(classes, "MOST_POINTS", 100)
    points = own_points(np.zeros((250, 2)), [300] * 250)
    assert (len(points.xy), len(points.columns), points.of) == (84 * 8, 84, 250)


def test_damaged_and_older_reports_are_refused_with_a_sentence(page, tmp_path):
    content = page_to_json(page)
    with pytest.raises(InvalidInput, match="version 1 is needed, got 7"):
        page_from_json(content | {"version": 7}, "it")
    with pytest.raises(InvalidInput, match="damaged"):
        page_from_json(content | {"sections": "none"}, "it")
    result = tmp_path / "result.json"
    for raw, sentence in (
        ("?", "is not JSON"),
        ("[]", "not a fedhull result"),
        ("{}", "not a fedhull result"),
    ):
        result.write_text(raw)
        with pytest.raises(InvalidInput, match=sentence):
            write_report(result)


# What its words may claim


def test_a_study_of_two_says_that_each_can_subtract(simulated, page):
    # one of three has vanished
    assert claims.TWO_WITH_HULLS in page.find(WhoLearnsWhat).unprotected
    outcome = simulated.trials[0].session.outcome
    *before, last = outcome.opened
    everybody = dataclasses.replace(last, survivors=sorted(outcome.study.clients))
    whole = account_of_outcome(dataclasses.replace(outcome, opened=[*before, everybody])).learned()
    assert claims.TWO_WITH_HULLS not in whole.unprotected
    assert claims.UPLOAD_OF_VANISHED not in whole.hidden
    assert claims.VANISHED not in whole.seen
    assert claims.VANISHED in account_of_outcome(outcome).learned().seen


def test_the_first_sentence_uses_no_word_of_ours(page, federated):
    ours = [form for term in terms() for form in (term.term, *term.forms)]
    pages = [page, *(page_from_json(report_of(federated[who]), "it") for who in federated)]
    for each in pages:
        first = each.lead.split(". ")[0].lower()
        assert not any(re.search(rf"\b{re.escape(word.lower())}\b", first) for word in ours)


def test_the_figures_are_the_simulations(simulated, page):
    shown = {figure.label: figure.value for figure in page.figures}
    first = simulated.trials[0]
    assert shown["sites in the sum"] == "2 of 3"
    assert f"{first.points_sent:,} of {first.points_total:,}" in shown.values()
    assert simulated.to_json()["seconds"]["trade-off"] == first.seconds["trade-off"]
    rows = page.find(Tradeoff).rows
    assert rows[1].accuracy == first.accuracy["FL"]
    assert [row.epsilon for row in rows] == [0.01, 0.1, 0.3, 1.0, 3.0]


def test_wider_bins_that_do_as_well_and_reveal_less_are_named():
    def told(*numbers):
        rows = [
            TradeoffRow(epsilon=epsilon, accuracy=accuracy, points_sent=sent, points_total=900)
            for epsilon, accuracy, sent in numbers
        ]
        return hulls.wider(rows, own, judged=True)

    own = 0.1
    better = told((own, 90.0, 50), (3 * own, 92.5, 40), (10 * own, 91.0, 30))
    assert better.startswith("Wider bins of ε = 0.3 do better here and reveal less: 92.5 %")
    assert "90.0 %, with 40 instead of 50 corners" in better
    assert " do as well " in told((own, 90.0, 50), (3 * own, 90.0, 40))
    for others in ([(3 * own, 89.0, 40)], [(3 * own, 92.0, 51)], [(own / 10, 99.0, 40)], []):
        assert told((own, 90.0, 50), *others) == ""
    assert told((3 * own, 99.0, 1)) == ""


def test_the_glossary_says_each_word_once_in_forms_that_a_page_can_look_for():
    forms = [form.lower() for each in terms() for form in (each.term, *each.forms)]
    assert len(forms) == len(set(forms))
    assert all(re.fullmatch(r"[\w -]+", form) for form in forms)
    assert all(each.meaning.endswith(".") and each.meaning[0].isupper() for each in terms())
    assert [each.term for each in terms()] == sorted(each.term for each in terms())


def test_the_confusion_matrix_counts_every_test_point_once(simulated, page):
    counts = np.array(page.find(Confusion).confusion)
    tested = sum(len(trial.test) for trial in simulated.trials)
    assert counts.sum() == tested == sum(r.points for r in page.find(Confusion).reliability)
    accuracy = 100 * np.trace(counts) / tested
    assert accuracy == pytest.approx(simulated.accuracy["FL"]["mean"])


def test_pooled_reliability_is_that_of_all_points_together(simulated):
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.4, 0.4, (400, 2))
    classes = np.unique(simulated.model.classes_)
    y = rng.choice(classes, 400)
    halves = [count_tests(simulated.model, x[i], y[i]) for i in np.split(np.arange(400), 2)]
    together, pooled = count_tests(simulated.model, x, y), pool_tests(halves)
    assert pooled.confusion == together.confusion
    for one, two in zip(pooled.reliability, together.reliability, strict=True):
        assert one.points == two.points
        assert one.accuracy == pytest.approx(two.accuracy)
        assert one.confidence == pytest.approx(two.confidence)


@pytest.mark.parametrize("unknown", ["0", "zzz, a name longer than any of the model's"])
def test_points_of_a_class_that_the_model_does_not_know_are_counted_as_of_that_class(
    simulated, unknown
):
    classes = simulated.model.classes_
    x = np.random.default_rng(0).uniform(-0.4, 0.4, (40, 2))
    y = np.array([unknown] * 15 + [str(classes[0])] * 25)
    tests = count_tests(simulated.model, x, y)
    assert sorted(tests.names) == sorted([unknown, *map(str, classes)])
    counts = dict(zip(tests.names, map(sum, tests.confusion), strict=True))
    assert counts[unknown] == 15
    assert counts[str(classes[0])] == 25
    assert not any(row[tests.names.index(unknown)] for row in tests.confusion)


def test_names_that_are_numbers_to_a_site_are_counted_beside_words():
    model = LorentzClassifier().fit([[-0.5, 0.0], [0.5, 0.0]], ["1", "class 2"])
    tests = count_tests(model, np.array([[-0.4, 0.0], [0.4, 0.0]]), np.array([1, 1]))
    assert tests.names == ["1", "class 2"]
    assert tests.confusion == [[1, 1], [0, 0]]
    assert sum(level.points * level.accuracy for level in tests.reliability) == 1


def test_the_codes_of_the_fullest_bin_add_up_to_its_number(page, federated):
    server = page_from_json(report_of(federated["server"]), "it")
    for shared in (page.find(SharedBin), server.find(SharedBin)):
        assert sum(map(int, shared.codes)) == int(shared.value)
        assert len(shared.codes) == len(shared.labels) >= 1


# The command


def test_the_report_command_takes_a_result_or_its_folder(federated, tmp_path):
    for given in (federated["server"], federated["server"] / "result.json"):
        out = tmp_path / "page.html"
        run = CliRunner().invoke(app, ["report", str(given), "--out", str(out), "--json"])
        assert run.exit_code == 0
        assert json.loads(run.stdout) == {"report": str(out)}
        assert content_of(out.read_text())["page"] == "coordinator"


def test_there_are_three_types_of_pages():
    assert [tag(cls) for cls in AnyPage.__args__] == ["coordinator", "site", "simulation"]
    assert [cls.private for cls in AnyPage.__args__] == [False, True, False]
