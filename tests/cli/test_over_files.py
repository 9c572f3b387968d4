"""A study over files as people meet it: who is asked when, what is left to carry, which engine."""

import json
import shutil

import pytest
from commands import fedhull, invite
from federations import draft, make_data

NAMES = ["lab-a", "lab-b", "lab-c", "lab-d"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with kits for files, and data."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "study.toml").write_text(draft(NAMES))
    make_data(folder, NAMES)
    words = ["provision", folder / "study.toml", "--out", folder / "kits", "--engine", "files"]
    done = fedhull(*words)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def kits(made, tmp_path):
    return shutil.copytree(made / "kits", tmp_path / "kits")


def client(made, kits, name, *words, answer=""):
    data = ["--data", made / f"{name}.npz"]
    return fedhull("client", kits / name, *data, *words, answer=answer)


def error(done):
    return json.loads(done.stdout)["error"]


# When a site is asked


def test_before_the_first_request_nobody_is_asked(made, kits):
    done = client(made, kits, "lab-a", "--json", answer="y\nAda\n")
    assert done.returncode == 3
    assert "waiting for the coordinator's first request" in done.stderr
    assert "Do you agree" not in done.stderr
    assert not (kits / "lab-a" / "consent.json").exists()
    request = kits / "lab-a" / "mail" / "lab-a" / "1-advertise.request"
    assert error(done)["step"] == "advertise (step 1 of 8)"
    assert error(done)["waiting_for"] == ["coordinator"]
    assert error(done)["paths"] == [{"file": str(request), "from": "coordinator", "to": "lab-a"}]


def test_a_site_is_asked_once(made, kits):
    invite(kits, NAMES)
    first = client(made, kits, "lab-a", answer="y\nAda\n")
    assert first.returncode == 3
    assert "Do you agree" in first.stderr
    again = fedhull("client", kits / "lab-a")
    assert again.returncode == 3
    assert "Do you agree" not in again.stderr
    assert "next request" in again.stderr


def test_who_has_agreed_before_the_first_request_is_not_asked_again(made, kits):
    assert client(made, kits, "lab-a", "--consent-only", "--yes").returncode == 0
    early = fedhull("client", kits / "lab-a")
    assert (early.returncode, "first request" in early.stderr) == (3, True)
    invite(kits, NAMES)
    done = client(made, kits, "lab-a")
    assert done.returncode == 3
    assert "Do you agree" not in done.stderr
    assert (kits / "lab-a" / "mail" / "lab-a" / "1-advertise.reply").is_file()


def test_who_has_agreed_to_other_data_is_asked_again(made, kits):
    assert client(made, kits, "lab-a", "--consent-only", "--yes").returncode == 0
    invite(kits, NAMES)
    done = fedhull("client", kits / "lab-a", "--data", made / "lab-b.npz", answer="n\n")
    assert done.returncode == 5
    assert "Do you agree" in done.stderr


# The engine


def test_a_kit_knows_its_engine_and_another_is_refused(kits):
    assert (kits / "lab-a" / "engine.txt").read_text() == "files\n"
    for words in (["server", kits / "server"], ["client", kits / "lab-a", "--ping"],
                  ["status", kits / "lab-a"]):  # fmt: skip
        assert fedhull(*words, "--engine", "files").returncode in (0, 3)
        done = fedhull(*words, "--engine", "flower")
        assert done.returncode == 2
        assert "was made for, files, got flower" in done.stderr
    assert "--engine" not in (kits / "lab-a" / "README.md").read_text()


@pytest.mark.parametrize("name", ["server", "lab-a"])
def test_an_engine_that_is_not_installed_is_a_sentence(kits, name):
    (kits / name / "engine.txt").write_text("pigeons")
    done = fedhull("status", kits / name)
    assert done.returncode == 2
    assert "engine must be one of" in done.stderr


# What is left to do


def shared(made, kits, mail):
    """One call of the coordinator's, one of a site's, over a folder that all can reach."""
    return (
        lambda *words: fedhull("server", kits / "server", "--mail", mail, *words),
        lambda name: client(made, kits, name, "--mail", mail, "--yes"),
    )


def test_going_on_is_offered_where_it_helps(made, kits, tmp_path):
    serve, answer = shared(made, kits, tmp_path / "mail")
    first = serve("--json")
    assert "--go-on" not in first.stderr
    assert "at least 3 sites have to reply" in first.stderr
    assert error(first)["waiting_for"] == NAMES
    for name in NAMES[:2]:
        answer(name)
    assert "--go-on" not in serve().stderr
    answer("lab-c")
    waiting = serve("--json")
    assert "go on without them: --go-on" in waiting.stderr
    own = tmp_path / "mail" / "lab-d"
    assert error(waiting)["waiting_for"] == ["lab-d"]
    assert error(waiting)["step"] == "advertise (step 1 of 8)"
    assert error(waiting)["paths"] == [
        {"file": str(own / "1-advertise.request"), "from": "coordinator", "to": "lab-d"},
        {"file": str(own / "1-advertise.reply"), "from": "lab-d", "to": "coordinator"},
    ]
    assert serve("--go-on").returncode == 3
    assert (tmp_path / "mail" / "lab-a" / "2-share.request").is_file()


def test_a_site_that_has_answered_is_told_what_to_carry(made, kits, tmp_path):
    serve, _ = shared(made, kits, tmp_path / "mail")
    serve()
    done = client(made, kits, "lab-a", "--mail", tmp_path / "mail", "--yes", "--json")
    own = tmp_path / "mail" / "lab-a"
    assert error(done)["paths"] == [
        {"file": str(own / "1-advertise.reply"), "from": "lab-a", "to": "coordinator"},
        {"file": str(own / "2-share.request"), "from": "coordinator", "to": "lab-a"},
    ]


@pytest.mark.parametrize("ballot", [True, False])
def test_the_last_call_asks_to_carry_only_what_was_not_carried(made, tmp_path, ballot):
    extra = "" if ballot else "[learning]\nballot = false"
    (tmp_path / "study.toml").write_text(draft(NAMES, extra))
    kits = tmp_path / "kits"
    fedhull("provision", tmp_path / "study.toml", "--out", kits, "--engine", "files")
    serve, answer = shared(made, kits, tmp_path / "mail")
    while (done := serve()).returncode == 3:
        for name in NAMES:
            answer(name)
    assert done.returncode == 0, done.stderr
    # after a ballot sites do not answer what was published; without, they have read it
    assert ("Carry" in done.stderr) == ballot
    once_more = serve()
    assert once_more.returncode == 0
    assert "Carry" not in once_more.stderr


def test_the_mail_folder_is_remembered(made, kits, tmp_path):
    serve, answer = shared(made, kits, tmp_path / "mail")
    serve()
    for name in NAMES:
        answer(name)
    assert fedhull("server", kits / "server").returncode == 3
    assert (tmp_path / "mail" / "lab-a" / "2-share.request").is_file()
    assert fedhull("client", kits / "lab-a").returncode == 3
    assert (tmp_path / "mail" / "lab-a" / "2-share.reply").is_file()
    assert not (kits / "server" / "mail").exists()


@pytest.mark.parametrize("place", [b"a\0b", b"\xff"])
def test_a_damaged_note_of_the_mail_folder_is_a_sentence(kits, place):
    (kits / "lab-a" / "mail.path").write_bytes(place)
    done = fedhull("client", kits / "lab-a")
    assert done.returncode == 2
    assert "mail.path" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_new_session_deletes_messages_and_nothing_else(made, kits, tmp_path):
    serve, _ = shared(made, kits, tmp_path / "mail")
    serve()
    (tmp_path / "mail" / "lab-a" / "notes.txt").write_text("ours")
    (tmp_path / "mail" / "lab-a" / "2-share.request").write_text("old")
    serve("--again")
    assert {path.name for path in (tmp_path / "mail" / "lab-a").iterdir()} == {
        "notes.txt",
        "1-advertise.request",
    }
