"""FLARE startup kits: certificates, and a site policy that lets only fedhull run."""

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

from fedhull.disk import write_text
from fedhull.engines.nvflare.inspection import ADMIN_SCRIPTS, SCRIPTS, STORE
from fedhull.engines.nvflare.layout import (
    ADMIN,
    ADMIN_FOLDER,
    SERVER_KEYS,
    SERVER_START,
    SITE_KEYS,
    address_in,
)
from fedhull.engines.nvflare.workspace import (
    PROJECT,
    server_configuration,
    site_configuration,
    write_configuration,
    write_job,
)
from fedhull.errors import EngineFailure, InvalidInput
from fedhull.kits.provision import AUTHORITY, SERVER, Kits

ORGANISATION = "fedhull"
JOB_FOLDER = "job"


def add_startup_kits(kits: Kits, host: str, port: int, days: int) -> None:
    """Add FLARE's startup kit to every kit, the administrator's to the coordinator's, and move the
    certificate authority's key to its own folder. Certificates are valid for `days`."""
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
            _Certificates(root_valid_days=days),
            SignatureBuilder(),
        ]
        with redirect_stdout(StringIO()):
            context = Provisioner(workspace, builders).provision(project)
        output = Path(workspace) / PROJECT
        if context.get("build_error") or not (output / "prod_00").is_dir():
            raise EngineFailure("FLARE could not make its startup kits")
        for name in kits.study.clients:
            _move(output / "prod_00" / name, kits.folder / name, [*SITE_KEYS, *SCRIPTS])
            write_configuration(kits.folder / name, site_configuration(name, host, port))
        server = kits.folder / SERVER
        (output / "prod_00" / ADMIN).rename(output / "prod_00" / host / ADMIN_FOLDER)
        _move(output / "prod_00" / host, server, [*SERVER_KEYS, *SCRIPTS, *ADMIN_SCRIPTS])
        write_configuration(server, server_configuration(host, port, str(server / STORE)))
        store_in_kit(server.resolve())
        write_job(kits.folder / SERVER / JOB_FOLDER, kits.study)
        authority = kits.folder / AUTHORITY
        shutil.move(output / "state", authority)
    authority.chmod(0o700)
    (authority / "cert.json").chmod(0o600)
    write_text(
        authority / "README.md",
        "# The study's certificate authority\n"
        "With this folder, anybody can make certificates for this study.\n"
        "Take it off this machine; neither the server nor a site needs it.\n",
    )


class _Certificates(CertBuilder):  # type: ignore[misc]
    """FLARE's certificates, all valid as long as the authority's; FLARE itself ends a participant's
    after 360 days at most."""

    def _generate_cert(self, *who: Any, **settings: Any) -> Any:
        if self.root_cert is not None:  # a participant's
            settings["not_valid_after"] = self.root_cert.not_valid_after_utc
        return CertBuilder._generate_cert(*who, **settings)


def _check_names(kits: Kits, host: str) -> None:
    for name in kits.study.clients:
        if name_check(name, "client")[0]:
            raise InvalidInput(
                f"on NVIDIA FLARE a site's name must be letters, digits, '-' and '_', got {name!r}"
            )
    if name_check(host, "server")[0]:
        raise InvalidInput(f"--server must be a host name that all sites can reach, got {host!r}")


def _move(source: Path, kit: Path, names: list[str]) -> None:
    """Move FLARE's keys, certificates and scripts to a kit; its configuration is ours."""
    for name in names:
        (kit / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(source / name, kit / name)
        if name.endswith(".key"):
            (kit / name).chmod(0o600)


def store_in_kit(kit: Path) -> None:
    """Have FLARE's own server store its jobs in the kit, wherever that is now, instead of the
    system's temporary folder."""
    host, port = address_in(kit, SERVER_START)
    write_configuration(kit, server_configuration(host, port, str(kit / STORE)))
