"""FLARE startup kits: certificates, and a site policy that lets nothing but fedhull run."""

import json
import shutil
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nvflare.apis.utils.format_check import name_check
from nvflare.lighter.entity import Project
from nvflare.lighter.impl.cert import CertBuilder
from nvflare.lighter.impl.signature import SignatureBuilder
from nvflare.lighter.impl.static_file import StaticFileBuilder
from nvflare.lighter.impl.workspace import WorkspaceBuilder
from nvflare.lighter.provisioner import Provisioner

from fedhull.disk import write_json, write_text
from fedhull.engines.nvflare.job import CONTROLLER, EXECUTOR, write_job
from fedhull.errors import EngineFailure, InvalidInput
from fedhull.kits.provision import AUTHORITY, SERVER, Kits

PROJECT, ORGANISATION = "fedhull", "fedhull"
ADMIN = "coordinator@fedhull.org"
ADMIN_FOLDER, JOB_FOLDER = "admin", "job"
_HEARTBEAT_TIMEOUT = 30

# What FLARE administrators may do at a site: send it the study's job and stop it. They may not ship
# code, look into the site's folders or restart anything there.
SITE_POLICY = {
    "format_version": "1.0",
    "permissions": {
        "project_admin": {
            "submit_job": "any",
            "manage_job": "any",
            "view": "any",
            "clone_job": "none",
            "download_job": "none",
            "operate": "none",
            "shell_commands": "none",
            "byoc": "none",
        }
    },
}


def add_startup_kits(kits: Kits, host: str, port: int) -> None:
    """Add FLARE's startup kit to every kit, the administrator's to the coordinator's, and put the
    certificate authority's key into a folder of its own."""
    _check_names(kits, host)
    project = Project(PROJECT, kits.study.name, props={"api_version": 3})
    project.set_server(host, ORGANISATION, {"fed_learn_port": port, "admin_port": port})
    for name in kits.study.clients:
        project.add_client(name, ORGANISATION, {"allow_log_streaming": False})
    project.add_admin(ADMIN, ORGANISATION, {"role": "project_admin"})
    with TemporaryDirectory(dir=kits.folder) as workspace:
        builders = [
            WorkspaceBuilder(template_file=["master_template.yml"]),
            StaticFileBuilder(config_folder="config"),
            CertBuilder(),
            SignatureBuilder(),
        ]
        with redirect_stdout(StringIO()):
            context = Provisioner(workspace, builders).provision(project)
        made = Path(workspace) / PROJECT
        if context.get("build_error") or not (made / "prod_00").is_dir():
            raise EngineFailure("FLARE could not make its startup kits")
        for name in kits.study.clients:
            _move(made / "prod_00" / name, kits.folder / name)
            _tighten(kits.folder / name / "local", EXECUTOR)
        _move(made / "prod_00" / host, kits.folder / SERVER)
        _tighten(kits.folder / SERVER / "local", CONTROLLER)
        store_in_kit((kits.folder / SERVER).resolve())
        _move(made / "prod_00" / ADMIN, kits.folder / SERVER / ADMIN_FOLDER)
        write_job(kits.folder / SERVER / JOB_FOLDER, kits.study)
        _move(made / "state", kits.folder / AUTHORITY)
    authority = kits.folder / AUTHORITY
    authority.chmod(0o700)
    (authority / "cert.json").chmod(0o600)
    write_text(
        authority / "README.md",
        "# The study's certificate authority\n"
        "Whoever has this folder can make certificates for anybody in this study.\n"
        "Take it off this machine; neither the server nor a site needs it.\n",
    )


def _check_names(kits: Kits, host: str) -> None:
    for name in kits.study.clients:
        if name_check(name, "client")[0]:
            raise InvalidInput(
                f"on NVIDIA FLARE a site's name must be letters, digits, '-' and '_', got {name!r}"
            )
    if name_check(host, "server")[0]:
        raise InvalidInput(f"--server must be a host name that all sites can reach, got {host!r}")


def _move(source: Path, target: Path) -> None:
    target.mkdir(exist_ok=True)
    for item in source.iterdir():
        if item.name != "readme.txt":
            shutil.move(item, target / item.name)
    for key in target.rglob("*.key"):
        key.chmod(0o600)


def _tighten(local: Path, only_class: str) -> None:
    """FLARE's defaults, but: one class may run, logs stay here, storage stays in the kit."""
    resources: dict[str, Any] = json.loads((local / "resources.json.default").read_text())
    resources["class_allow_list"] = [only_class]
    resources["class_list_enforcement_mode"] = "enforce"
    resources["components"] = [part for part in resources["components"] if "log" not in part["id"]]
    if only_class == EXECUTOR:
        resources["allow_log_streaming"] = False
        write_json(local / "authorization.json", SITE_POLICY)
    else:
        resources["servers"][0]["heart_beat_timeout"] = _HEARTBEAT_TIMEOUT
    write_json(local / "resources.json", resources)


def store_in_kit(kit: Path) -> None:
    """Keep what FLARE stores at the server in the kit, wherever that is now, and not in the
    system's temporary folder."""
    path = kit / "local" / "resources.json"
    resources = json.loads(path.read_text())
    storage = resources["snapshot_persistor"]["args"]["storage"]["args"]
    storage["root_dir"] = str(kit / "flare" / "snapshots")
    for part in resources["components"]:
        if part["id"] == "job_manager":
            part["args"]["uri_root"] = str(kit / "flare" / "jobs")
    write_json(path, resources)
