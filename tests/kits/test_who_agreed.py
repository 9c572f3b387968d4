"""Purpose, contact, last day and who agreed: in the prompt, the consent and the audit log."""

import json

import pytest
from by_mail import MailStudy
from commands import fedhull
from federations import draft, make_data

from fedhull.kits.audit import read_audit
from fedhull.kits.consent import account, read
from fedhull.kits.kit import Kit
from fedhull.kits.provision import make_kits

NAMES = ["lab-a", "lab-b", "lab-c"]
ABOUT = 'purpose = "A common atlas"\ncontact = "dpo@example.org"\nvalid_until = {}\n'


def make(tmp_path, last_day="2999-12-31"):
    make_kits(ABOUT.format(last_day) + draft(NAMES), tmp_path / "kits")
    return tmp_path / "kits" / "lab-a", make_data(tmp_path, NAMES)["lab-a"]


def agree(kit, data, *words, answer=""):
    return fedhull(
        "client", kit, "--data", data, "--engine", "files", "--consent-only", *words, answer=answer
    )


def test_the_person_sees_what_the_study_is_for_and_types_a_name(tmp_path):
    kit, data = make(tmp_path)
    asked = agree(kit, data, answer="y\nAda Lovelace\n")
    assert asked.returncode == 0, asked.stderr
    for words in ("Purpose: A common atlas.", "Contact: dpo@example.org.", "until: 2999-12-31."):
        assert words in asked.stderr
    given = read(kit / "consent.json")
    assert (given.by, given.user) == ("Ada Lovelace", account())
    assert given.host


def test_without_a_name_nobody_has_agreed(tmp_path):
    kit, data = make(tmp_path)
    refused = agree(kit, data, answer="y\n")
    assert refused.returncode == 2
    assert "nobody agreed by name" in refused.stderr
    assert not (kit / "consent.json").exists()


def test_with_yes_alone_the_account_has_agreed(tmp_path):
    kit, data = make(tmp_path)
    assert agree(kit, data, "--yes").returncode == 0
    assert read(kit / "consent.json").by == account()


def test_with_yes_the_name_is_an_option(tmp_path):
    kit, data = make(tmp_path)
    assert agree(kit, data, "--yes", "--agreed-by", "Grace Hopper").returncode == 0
    assert read(kit / "consent.json").by == "Grace Hopper"


def test_a_name_that_a_terminal_obeys_is_refused(tmp_path):
    kit, data = make(tmp_path)
    refused = agree(kit, data, "--yes", "--agreed-by", "Ada\x1b[2J")
    assert refused.returncode == 2
    assert "must be plain text" in refused.stderr
    assert not (kit / "consent.json").exists()


@pytest.mark.parametrize("words", [["client", "lab-a"], ["server", "server"]])
def test_nobody_takes_part_after_the_last_day(tmp_path, words):
    _, data = make(tmp_path, "2001-01-01")
    command, kit = words
    options = ["--data", data, "--yes"] if command == "client" else []
    refused = fedhull(command, tmp_path / "kits" / kit, "--engine", "files", *options)
    assert refused.returncode == 2
    assert "was valid until 2001-01-01" in refused.stderr
    assert "Ask dpo@example.org" in refused.stderr


class Told(MailStudy):
    def prepare(self, folder, extra):
        task = make_kits(ABOUT.format("2999-12-31") + draft(self.names), self.kits).task
        self.data = make_data(folder, self.names)
        for name in self.names:
            self.agree(name)
        return task, self.data


def test_the_audit_log_says_who_agreed_to_what(tmp_path):
    study = Told(tmp_path, NAMES)
    assert not study.serve()
    study.answer("lab-a")
    log = read_audit(study.results("lab-a") / "audit.jsonl")
    assert [entry.direction for entry in log if entry.step == "consent"] == ["agreed"]
    (agreed,) = (entry for entry in log if entry.direction == "agreed")
    assert (agreed.peer, agreed.user) == (account(), account())
    assert (agreed.purpose, agreed.contact) == ("A common atlas", "dpo@example.org")
    assert agreed.valid_until == "2999-12-31"
    sent = [
        json.loads(line)
        for line in (study.results("lab-a") / "audit.jsonl").read_text().splitlines()
    ]
    assert all("purpose" not in line for line in sent if line["direction"] == "sent")
    assert Kit.open(study.kits / "lab-a").study.purpose == "A common atlas"


def test_pages_say_what_a_study_is_for_and_a_sites_own_who_agreed(tmp_path):
    study = Told(tmp_path, NAMES)
    while not study.serve():
        for name in NAMES:
            study.answer(name)
    for name in NAMES:
        study.answer(name)
    for name in ("lab-a", "server"):
        page = json.loads((study.results(name) / "result.json").read_text())["report"]
        assert page["about"] == [
            "Purpose: A common atlas.",
            "Contact: dpo@example.org.",
            "Valid until: 2999-12-31.",
        ]
        html = (study.results(name) / "report.html").read_text()
        assert "What it is for, and who agreed" in html
        assert (f"Agreed to by {account()}" in html) == (name == "lab-a")
