"""The Flower app of a study: two names from the installed package and no code. A site runs this app
and no other."""

import hashlib
import io
import tomllib
import zipfile
import zlib

PUBLISHER, NAME, VERSION = "fedhull", "fedhull-study", "1.0.0"
_PROJECT = "pyproject.toml"
_MANIFEST = ".info/CONTENT"
# What differs between runs is given with the run, so that the app is the same for everybody.
PYPROJECT = f"""\
[project]
name = "{NAME}"
version = "{VERSION}"
dependencies = []
[tool.flwr.app]
publisher = "{PUBLISHER}"
[tool.flwr.app.components]
serverapp = "fedhull.engines.flower.server_app:app"
clientapp = "fedhull.engines.flower.client_app:app"
[tool.flwr.app.config]
kit = ""
wait = 0.0
timeout = 0.0
"""


def build() -> bytes:
    """The app as Flower moves it around."""
    from flwr.cli.build import build_fab_from_files

    content: bytes = build_fab_from_files({_PROJECT: PYPROJECT.encode()})[0]
    return content


def is_ours(app_id: str, version: str, sha256: str, content: bytes) -> bool:
    """Whether an app that a server has sent is the one above, under its own name: Flower looks for
    what it loads by name and hash."""
    if (app_id, version) != (f"{PUBLISHER}/{NAME}", VERSION):
        return False
    if hashlib.sha256(content).hexdigest() != sha256:
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            # of a name that is there twice, one reader may see the first and another the last
            if sorted(archive.namelist()) != [_MANIFEST, _PROJECT]:
                return False
            if archive.getinfo(_PROJECT).file_size > len(PYPROJECT) + 1000:
                return False
            return _says_the_same(archive.read(_PROJECT).decode())
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError):
        return False


def _says_the_same(project: str) -> bool:
    """Whether it holds our settings and nothing besides; Flower writes them anew when it packs."""
    return tomllib.loads(project) == tomllib.loads(PYPROJECT)
