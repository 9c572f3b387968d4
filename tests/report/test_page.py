"""The page as a file: what is in it, what cannot get in, what its words may claim."""

import base64
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
from fedhull.report import html
from fedhull.report import hull_words as words
from fedhull.report.class_words import COLLUSION, NOT_AUDITED
from fedhull.report.glossary import TERMS
from fedhull.report.html import MODULES, own_points, render
from fedhull.report.hull_content import CoordinatorPage, SimulationPage, SitePage, Tradeoff
from fedhull.report.moment_content import (
    MomentCoordinatorPage,
    MomentSimulationPage,
    MomentSitePage,
)
from fedhull.report.page_file import AnyPage, page_from_json, page_to_json
from fedhull.report.testing import count_tests, pool_tests
from fedhull.report.words import SESSIONS, SEVERAL_SESSIONS

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


def report_of(folder: Path) -> dict:
    return json.loads((folder / "result.json").read_text())["report"]


@pytest.fixture(scope="session")
def page(simulated):
    return simulated.page("<b>A study</b> & more")


@pytest.fixture(scope="session")
def text(page):
    return render(page)


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
    names = content_of(text)["classes"]
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
    assert not re.search(r"^(import|export) ", html._script(), re.M)


# What a page may hold


def test_a_page_survives_its_way_through_a_result_file(page):
    assert page_from_json(json.loads(json.dumps(page_to_json(page))), "it") == page


def test_only_a_sites_page_has_a_place_for_points():
    others = (CoordinatorPage, SimulationPage, MomentCoordinatorPage, MomentSimulationPage)
    assert not any("points" in page.__struct_fields__ for page in others)
    assert all("points" in page.__struct_fields__ for page in (SitePage, MomentSitePage))


def test_points_cannot_be_smuggled_into_the_coordinators_page(federated):
    content = report_of(federated["server"])
    page_from_json(content, "it")
    for smuggled in (
        content | {"points": {"xy": "AAAA", "columns": "AA", "of": 1}},
        content | {"hulls": [content["hulls"][0] | {"points": [[0.1, 0.2]]}]},
    ):
        with pytest.raises(InvalidInput, match="damaged"):
            page_from_json(smuggled, "it")


def test_the_coordinators_page_knows_hulls_by_label_and_sites_by_name_but_not_which_is_whose(
    federated,
):
    content = content_of((federated["server"] / "report.html").read_text())
    assert {tuple(sorted(hull)) for hull in content["hulls"]} == {
        ("column", "label", "place", "rings", "sectors")
    }
    assert [site["name"] for site in content["sites"]] == ["lab-a", "lab-b", "lab-c"]
    assert all(site["points_held"] is None for site in content["sites"])
    assert content["classes"] == [f"class {i + 1}" for i in range(6)]
    assert "lineage" not in json.dumps(content)
    assert content["tested"] > 0


def test_a_sites_page_shows_its_own_points_which_its_result_does_not_hold(federated):
    folder = federated["lab-b"]
    assert report_of(folder)["points"] is None
    content = content_of((folder / "report.html").read_text())
    shown = np.frombuffer(base64.b64decode(content["points"]["xy"]), dtype="<f4").reshape(-1, 2)
    data = np.load(folder.parents[3] / "lab-b.npz")
    assert np.array_equal(shown, data["x"].astype("<f4"))
    columns = np.frombuffer(base64.b64decode(content["points"]["columns"]), dtype=np.uint8)
    assert [content["classes"][c] for c in columns] == data["y"].tolist()
    assert {hull["place"] for hull in content["hulls"]} == {content["hulls"][0]["place"]}
    for name in ("report.html", "result.json"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600


def test_a_sites_hulls_are_those_that_the_coordinator_decoded(federated):
    decoded = [hull["bins"] for hull in report_of(federated["server"])["hulls"]]
    sent = [
        hull["bins"]
        for name in ("lab-a", "lab-b", "lab-c")
        for hull in report_of(federated[name])["hulls"]
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
    assert content_of(page.read_text())["points"] is None


def test_more_points_than_a_page_carries_are_thinned_out(monkeypatch):
    monkeypatch.setattr(html, "MOST_POINTS", 100)
    points = own_points(np.zeros((250, 2)), [300] * 250)
    assert (len(points.xy), len(points.columns), points.of) == (84 * 8, 84, 250)


def test_damaged_and_older_reports_are_refused_with_a_sentence(page, tmp_path):
    content = page_to_json(page)
    with pytest.raises(InvalidInput, match="version 1 is needed, got 7"):
        page_from_json(content | {"version": 7}, "it")
    with pytest.raises(InvalidInput, match="damaged"):
        page_from_json(content | {"hulls": "none"}, "it")
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


@pytest.mark.parametrize("row", [*words.SEEN, words.SEEN_IF_ONE_VANISHED])
def test_what_the_server_sees_is_a_yes_in_the_threat_model(row):
    assert re.search(rf"^\| {re.escape(row)} \| \**yes", THREAT_MODEL, re.M)


@pytest.mark.parametrize("row", [*words.HIDDEN, words.HIDDEN_IF_ONE_VANISHED])
def test_what_the_server_does_not_see_is_a_no_in_the_threat_model(row):
    assert re.search(rf"^\| {re.escape(row)} \| no", THREAT_MODEL, re.M)


def test_what_is_not_protected_is_said_as_strongly_as_in_the_threat_model():
    plain = re.sub(r"\s+", " ", THREAT_MODEL.replace("*", ""))
    said = (words.THE_HULLS, SESSIONS, NOT_AUDITED, words.SMALL_COHORT)
    for claim in (*said, "which hulls are this site's"):
        for sentence in claim.split(". "):
            assert sentence.split(", each known")[0].rstrip(".") in plain
    assert "each known to within a bin" in plain
    assert SEVERAL_SESSIONS in plain
    assert words.SUM.format(threshold="t").removeprefix("the sum ") in plain
    assert "every site knows the order that assigns labels to sites" in plain
    assert COLLUSION.format(sites="min(2t − n, t − 1)").rstrip(".") in plain


THREAT_MODEL = (DOCS / "threat-model.md").read_text()


def test_a_study_of_two_says_that_each_can_subtract(page):
    assert words.SMALL_COHORT in words.unprotected(page)  # three, of which one has vanished
    alone = msgspec.structs.replace(
        page, sites=[msgspec.structs.replace(s, taking_part=True) for s in page.sites]
    )
    assert words.SMALL_COHORT not in words.unprotected(alone)
    assert words.HIDDEN_IF_ONE_VANISHED not in words.hidden(alone)
    assert words.SEEN_IF_ONE_VANISHED not in words.seen(alone)


def test_the_figures_are_the_simulations(simulated, page):
    shown = {figure["label"]: figure["value"] for figure in words.figures(page)}
    first = simulated.trials[0]
    assert shown["sites in the sum"] == "2 of 3"
    assert f"{first.points_sent:,} of {first.points_total:,}" in shown.values()
    assert simulated.to_json()["seconds"]["trade-off"] == first.seconds["trade-off"]
    assert page.tradeoff[1].accuracy == first.accuracy["FL"]
    assert [row.epsilon for row in page.tradeoff] == [0.01, 0.1, 0.3, 1.0, 3.0]


def test_wider_bins_that_do_as_well_and_reveal_less_are_named(page):
    def rows(*numbers):
        return msgspec.structs.replace(
            page,
            tradeoff=[
                Tradeoff(epsilon=epsilon, accuracy=accuracy, points_sent=sent, points_total=900)
                for epsilon, accuracy, sent in numbers
            ],
        )

    own = page.space.epsilon
    better = words.wider(rows((own, 90.0, 50), (3 * own, 92.5, 40), (10 * own, 91.0, 30)))
    assert better.startswith(
        f"Wider bins of ε = {3 * own:g} do better here and reveal less: 92.5 %"
    )
    assert "90.0 %, with 40 instead of 50 corners" in better
    assert " do as well " in words.wider(rows((own, 90.0, 50), (3 * own, 90.0, 40)))
    for others in ([(3 * own, 89.0, 40)], [(3 * own, 92.0, 51)], [(own / 10, 99.0, 40)], []):
        assert words.wider(rows((own, 90.0, 50), *others)) == ""
    assert words.wider(rows((3 * own, 99.0, 1))) == ""


def test_the_glossary_says_each_word_once_in_forms_that_a_page_can_look_for():
    forms = [form.lower() for each in TERMS for form in (each.term, *each.forms)]
    assert len(forms) == len(set(forms))
    assert all(re.fullmatch(r"[\w -]+", form) for form in forms)
    assert all(each.meaning.endswith(".") and each.meaning[0].isupper() for each in TERMS)
    assert [each.term for each in TERMS] == sorted(each.term for each in TERMS)


def test_the_confusion_matrix_counts_every_test_point_once(simulated, page):
    counts = np.array(page.testing.confusion)
    tested = sum(len(trial.test) for trial in simulated.trials)
    assert counts.sum() == tested == sum(r.points for r in page.testing.reliability)
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
    for shared in (page.shared_bin, page_from_json(report_of(federated["server"]), "").shared_bin):
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


def test_every_kind_of_page_is_tagged():
    assert {cls.__struct_config__.tag for cls in AnyPage.__args__} == {
        "coordinator",
        "site",
        "simulation",
        "moment-coordinator",
        "moment-site",
        "moment-simulation",
        "neighbour-coordinator",
        "neighbour-site",
    }
