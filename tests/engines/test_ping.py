"""`fedhull client --ping` against TLS servers in this process: what works is listed, and of what
does not the first thing is named."""

import json
import socket
import ssl
import threading
from contextlib import contextmanager, suppress

import pytest
from commands import fedhull
from federations import draft, free_port

from fedhull.engines.certificates import Certificate

NAMES = ["lab-a", "lab-b", "lab-c"]


def make_kits(folder, engine, port):
    pytest.importorskip({"nvflare": "nvflare", "flower": "flwr"}[engine])
    folder.mkdir()
    (folder / "study.toml").write_text(draft(NAMES))
    kits = folder / "kits"
    words = ["provision", folder / "study.toml", "--out", kits, "--engine", engine]
    done = fedhull(*words, "--port", port)
    assert done.returncode == 0, done.stderr
    return kits


@pytest.fixture(scope="module", params=["nvflare", "flower"])
def study(request, tmp_path_factory):
    """The engine, the port of its server, its kits, and kits of another study."""
    folder, port = tmp_path_factory.mktemp(request.param), free_port()
    kits = [make_kits(folder / name, request.param, port) for name in ("ours", "others")]
    return request.param, port, *kits


def keys_of(engine, kits, participant="server"):
    """Authority, certificate and key, as files."""
    if engine == "flower":
        return [kits / "server" / name for name in ("ca.pem", "server.crt", "server.key")]
    owner = "server" if participant == "server" else "client"
    startup = kits / participant / "startup"
    return [startup / name for name in ("rootCA.pem", f"{owner}.crt", f"{owner}.key")]


def tls(engine, kits, participant="server", authority=None):
    """A server's context, as the engine has it."""
    trusted, certificate, key = keys_of(engine, kits, participant)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if engine == "nvflare":
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authority or trusted)
    return context


@contextmanager
def listening(port, context=None):
    """A server that takes one connection after the other and says nothing; without a context, one
    that does not speak TLS."""
    with socket.create_server(("127.0.0.1", port)) as door:
        thread = threading.Thread(target=_serve, args=(door, context), daemon=True)
        thread.start()
        yield
        door.shutdown(socket.SHUT_RDWR)
        thread.join()


def _serve(door, context):
    while True:
        try:
            plain, _ = door.accept()
        except OSError:
            return
        with suppress(OSError), plain:
            if context is None:
                plain.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                plain.recv(1000)
            else:
                with context.wrap_socket(plain, server_side=True) as secure:
                    secure.recv(1)


def ping(study, *words):
    engine, _, kits, _ = study
    done = fedhull("client", kits / "lab-a", "--ping", "--engine", engine, *words)
    assert "Traceback" not in done.stderr
    return done


def test_what_works_is_listed_with_how_long_certificates_are_valid(study):
    engine, port, kits, _ = study
    with listening(port, tls(engine, kits)):
        done = ping(study)
        found = json.loads(ping(study, "--json").stdout)
    assert done.returncode == 0, done.stderr
    for words in (f"Reached localhost:{port}", "name resolution", "TCP", "TLSv1", "valid until"):
        assert words in done.stdout
    assert ("accepts this site's" in done.stdout) == (engine == "nvflare")
    owners = {each["owner"] for each in found["certificates"]}
    assert "localhost" in owners
    assert ("lab-a" in owners) == (engine == "nvflare")
    assert all(each["days_left"] in (359, 360) for each in found["certificates"])


def test_neither_data_nor_consent_are_touched(study):
    engine, port, kits, _ = study
    before = sorted(path.name for path in (kits / "lab-a").iterdir())
    with listening(port, tls(engine, kits)):
        assert ping(study, "--data", "nowhere.csv").returncode == 0
    assert sorted(path.name for path in (kits / "lab-a").iterdir()) == before


def failure(study, *lead):
    """What is said to have failed."""
    done = ping(study, "--json")
    assert done.returncode == 3
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == "ServerUnreachable"
    assert f"fedhull: {error['message']}" in done.stderr
    return error["message"]


def test_a_name_that_nobody_knows(study, monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert failure(study).startswith("name resolution: no address for localhost")


def test_a_port_where_nobody_listens(study):
    assert failure(study).startswith("TCP: localhost, port")


def test_a_server_that_does_not_speak_tls(study):
    with listening(study[1]):
        assert failure(study).startswith("TLS: what answers at localhost")


def test_a_server_of_another_study(study):
    engine, port, _, others = study
    with listening(port, tls(engine, others)):
        assert failure(study).startswith("certificate: that of the server")


def test_a_certificate_of_our_own_that_has_ended(study, monkeypatch):
    engine, port, kits, _ = study
    monkeypatch.setattr(Certificate, "days_left", lambda self, now=None: -1)
    with listening(port, tls(engine, kits)):
        assert "expired on" in failure(study)


def test_a_server_that_does_not_accept_ours(study):
    engine, port, kits, others = study
    if engine != "nvflare":
        pytest.skip("only FLARE asks sites for certificates")
    (authority, *_) = keys_of(engine, others)
    with listening(port, tls(engine, kits, authority=authority)):
        assert "does not accept this kit's" in failure(study)


def test_a_site_in_the_place_of_the_server(study):
    engine, port, kits, _ = study
    if engine != "nvflare":
        pytest.skip("Flower's sites have no certificates")
    with listening(port, tls(engine, kits, participant="lab-b")):
        assert failure(study).startswith("certificate:")


def test_with_files_the_mail_folder_is_tried(tmp_path):
    (tmp_path / "study.toml").write_text(draft(NAMES))
    kits = tmp_path / "kits"
    fedhull("provision", tmp_path / "study.toml", "--out", kits, "--engine", "files")
    words = ["client", kits / "lab-a", "--ping"]
    shown = fedhull(*words).stdout
    for said in ("mail folder of lab-a", "is there, can be read and written, and is", "Nobody was"):
        assert said in shown
    assert "Reached" not in shown
    found = json.loads(fedhull(*words, "--json").stdout)
    assert found["where"] == str(kits / "lab-a" / "mail")
    assert not list((kits / "lab-a" / "mail").iterdir())
    done = fedhull(*words, "--mail", tmp_path / "not-mounted")
    assert done.returncode == 3
    assert "files: the folder" in done.stderr
    assert not (tmp_path / "not-mounted").exists()
