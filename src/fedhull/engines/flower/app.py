"""The Flower app of a study: two names from the installed package, and no code. A site runs no
other."""

import hashlib
import io
import tomllib
import zipfile
import zlib

PUBLISHER, NAME, VERSION = "fedhull", "fedhull-study", "1.0.0"
_PROJECT = "pyproject.toml"
_MANIFEST = ".info/CONTENT"
# Settings come with the run, so that the app is the same for everybody.
PYPROJECT = f"""\
[project]
name = "{NAME}"
version = "{VERSION}"
dependencies = []
[tool.flwr.app]
publisher = "{PUBLISHER}"
[tool.flwr.app.components]
serverapp = "fedhull.engines.flower.apps:server"
clientapp = "fedhull.engines.flower.apps:client"
[tool.flwr.app.config]
kit = ""
wait = 0.0
timeout = 0.0
"""


def build() -> bytes:
    """Pack the app for Flower."""
    from flwr.cli.build import build_fab_from_files

    content: bytes = build_fab_from_files({_PROJECT: PYPROJECT.encode()})[0]
    return content


def is_ours(app_id: str, version: str, sha256: str, content: bytes) -> bool:
    """True if an app sent by a server is this one, under its own name: Flower loads by name and
    hash."""
    if (app_id, version) != (f"{PUBLISHER}/{NAME}", VERSION):
        return False
    if hashlib.sha256(content).hexdigest() != sha256:
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            # readers disagree about a name that is there twice
            if sorted(archive.namelist()) != [_MANIFEST, _PROJECT]:
                return False
            if archive.getinfo(_PROJECT).file_size > len(PYPROJECT) + 1000:
                return False
            # Flower formats the settings anew when it packs
            return tomllib.loads(archive.read(_PROJECT).decode()) == tomllib.loads(PYPROJECT)
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError):
        return False
