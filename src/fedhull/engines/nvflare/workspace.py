"""What FLARE reads at a participant, all of it written by fedhull.

FLARE runs what its workspace says: components that configuration files name, modules that lie in
`local/custom`, whatever a log configuration calls. A kit comes from somebody else, so it is not
that workspace. Each run gets a new one, KIT/flare, with configuration from the installed package;
of the kit it has certificates, a host name and a port.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nvflare.fuel.utils.log_utils import default_log_dict

from fedhull.disk import read_bytes, write_bytes, write_json
from fedhull.engines.nvflare.job import CONTROLLER, EXECUTOR, FETCHER, PUBLISHER
from fedhull.engines.nvflare.layout import ADMIN, ADMIN_FOLDER, SERVER_START, SITE_START, WORKSPACE

PROJECT = "fedhull"
_RESOURCES = "local/resources.json"
# After so many seconds without a sign of it a site counts as lost: in kits, where FLARE's own
# client gives one every ten seconds, and under `fedhull server`, where it is one every four.
_KIT_TIMEOUT, _TIMEOUT = 30, 20
# Seconds in place of the latter, for tests that kill sites.
TIMEOUT_VARIABLE = "FEDHULL_FLARE_TIMEOUT"

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
_SERVER_POLICY = {"format_version": "1.0", "permissions": {"project_admin": "any"}}
_PARTS = "nvflare.app_common"
_MANAGER = "resource_managers.gpu_resource_manager.GPUResourceManager"

Configuration = Mapping[str, dict[str, Any]]


def site_configuration(name: str, host: str, port: int) -> Configuration:
    """{file: content} of everything that FLARE reads at a site, but keys and certificates."""
    server = {
        "name": PROJECT,
        "service": {"target": f"{host}:{port}", "scheme": "http"},
        "identity": host,
    }
    client = _tls("client") | {"fqsn": name, "is_leaf": True}
    gpus = {"num_of_gpus": 0, "mem_per_gpu_in_GiB": 0, "expiration_period": 300}
    components = [
        _part("resource_manager", _MANAGER, gpus),
        _part("resource_consumer", "resource_consumers.gpu_resource_consumer.GPUResourceConsumer"),
        _part("process_launcher", "job_launcher.client_process_launcher.ClientProcessJobLauncher"),
    ]
    resources = {
        "client": {"retry_timeout": 30, "compression": "Gzip"},
        "allow_log_streaming": False,
        "components": components,
    }
    return {
        SITE_START: {"format_version": 2, "servers": [server], "client": client},
        _RESOURCES: _only(EXECUTOR) | resources,
        "local/authorization.json": SITE_POLICY,
        "local/log_config.json": default_log_dict,
    }


def fetching_configuration(name: str, host: str, port: int) -> Configuration:
    """The same for a site that is there for a late result only: no job can start at it."""
    usual = site_configuration(name, host, port)
    fetcher = {"id": "fetcher", "path": FETCHER, "args": {}}
    resources = usual[_RESOURCES] | {"class_allow_list": [], "components": [fetcher]}
    return {**usual, _RESOURCES: resources}


def publishing_configuration(host: str, port: int, store: str) -> Configuration:
    """The same as `server_configuration` for FLARE under `fedhull server`: with somebody there who
    hands out what is published, and for sites that give more signs of life."""
    usual = server_configuration(host, port, store)
    publisher = {"id": "publisher", "path": PUBLISHER, "args": {}}
    resources = dict(usual[_RESOURCES])
    (server,) = resources["servers"]
    timeout = int(os.environ.get(TIMEOUT_VARIABLE, _TIMEOUT))
    resources["servers"] = [server | {"heart_beat_timeout": timeout}]
    resources["components"] = [*resources["components"], publisher]
    return {**usual, _RESOURCES: resources}


def server_configuration(host: str, port: int, store: str) -> Configuration:
    """{file: content} of everything that FLARE reads at the server, but keys and certificates, with
    the administrator's part in a folder of its own; `store` is where it keeps jobs."""
    server = _tls("server") | {
        "name": PROJECT,
        "service": {"target": f"{host}:{port}", "scheme": "http"},
        "admin_server": host,
        "admin_port": port,
    }
    snapshots = {
        "path": f"{_PARTS}.storages.filesystem_storage.FilesystemStorage",
        "args": {"root_dir": f"{store}/snapshots", "uri_root": "/"},
    }
    jobs = {"uri_root": f"{store}/jobs", "job_store_id": "job_store"}
    components = [
        _part("job_scheduler", "job_schedulers.job_scheduler.DefaultJobScheduler", {"max_jobs": 4}),
        {
            "id": "job_manager",
            "path": "nvflare.apis.impl.job_def_manager.SimpleJobDefManager",
            "args": jobs,
        },
        _part("job_store", "storages.filesystem_storage.FilesystemStorage"),
        _part("process_launcher", "job_launcher.server_process_launcher.ServerProcessJobLauncher"),
    ]
    resources = {
        "servers": [
            {
                "admin_storage": "transfer",
                "max_num_clients": 100,
                "heart_beat_timeout": _KIT_TIMEOUT,
                "admin_timeout": 10.0,
            }
        ],
        "snapshot_persistor": {
            "path": f"{_PARTS}.state_persistors.storage_state_persistor.StorageStatePersistor",
            "args": {"uri_root": "/", "storage": snapshots},
        },
        "components": components,
    }
    admin = {
        "project_name": PROJECT,
        "username": ADMIN,
        "server_identity": host,
        "scheme": "http",
        "host": host,
        "port": port,
        "connection_security": "mtls",
        "uid_source": "user_input",
        "with_file_transfer": True,
        "upload_dir": "transfer",
        "download_dir": "transfer",
        "client_key": "client.key",
        "client_cert": "client.crt",
        "ca_cert": "rootCA.pem",
    }
    session = {
        "idle_timeout": 900.0,
        "login_timeout": 10.0,
        "with_debug": False,
        "authenticate_msg_timeout": 2.0,
        "prompt": "> ",
    }
    return {
        SERVER_START: {"format_version": 2, "servers": [server]},
        _RESOURCES: _only(CONTROLLER) | resources,
        "local/authorization.json": _SERVER_POLICY,
        "local/log_config.json": default_log_dict,
        f"{ADMIN_FOLDER}/startup/fed_admin.json": {"format_version": 1, "admin": admin},
        f"{ADMIN_FOLDER}/local/resources.json": {"format_version": 1, "admin": session},
    }


def _tls(owner: str) -> dict[str, Any]:
    return {
        "ssl_private_key": f"{owner}.key",
        "ssl_cert": f"{owner}.crt",
        "ssl_root_cert": "rootCA.pem",
        "connection_security": "mtls",
    }


def _only(name: str) -> dict[str, Any]:
    """A job may name this class, and no other."""
    return {
        "format_version": 2,
        "class_list_enforcement_mode": "enforce",
        "class_allow_list": [name],
    }


def _part(name: str, path: str, args: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"id": name, "path": f"{_PARTS}.{path}", "args": dict(args or {})}


def write_configuration(folder: Path, configuration: Configuration) -> None:
    """Put FLARE's configuration into a folder."""
    for name, content in configuration.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_json(folder / name, content)


@contextmanager
def fresh_workspace(kit: Path, configuration: Configuration, keys: list[str]) -> Iterator[Path]:
    """A workspace for one run, with nothing in it but what is given here. Afterwards FLARE's own
    logs are left in it, and no keys."""
    folder = kit / WORKSPACE
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    write_configuration(folder, configuration)
    for name in keys:
        write_bytes(folder / name, read_bytes(kit / name), mode=0o600)
    try:
        yield folder
    finally:
        for name in keys:
            (folder / name).unlink(missing_ok=True)
