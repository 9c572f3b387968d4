"""FLARE's configuration at a participant, all of it written by fedhull.

FLARE runs what its workspace says: components named in configuration files, modules in
`local/custom`, calls in a log configuration. A kit comes from somebody else, so it is not that
workspace. Each run gets a new one, KIT/flare, configured by the installed package; the kit
contributes certificates, a host name and a port.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nvflare.fuel.utils.log_utils import default_log_dict

from fedhull.disk import read_bytes, write_bytes, write_json
from fedhull.engines.nvflare.layout import ADMIN, ADMIN_FOLDER, SERVER_START, SITE_START, WORKSPACE
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.drive import PROPOSE, STEPS

PROJECT = "fedhull"
CONTROLLER = "fedhull.engines.nvflare.controller.StudyController"
EXECUTOR = "fedhull.engines.nvflare.executor.StudyExecutor"
_PUBLISHER = "fedhull.engines.nvflare.publication.Publisher"
_FETCHER = "fedhull.engines.nvflare.publication.Fetcher"
_RESOURCES = "local/resources.json"
# Seconds without a sign of life until a site counts as lost: FLARE's own client gives one every ten
# seconds, under `fedhull server` every four.
_KIT_TIMEOUT, _TIMEOUT = 30, 20
# Overrides the latter, for tests that kill sites.
TIMEOUT_VARIABLE = "FEDHULL_FLARE_TIMEOUT"

# FLARE administrators may send a site the study's job and stop it. They may not ship code, read the
# site's folders or restart anything there.
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
    """{file: content} of FLARE's configuration at a site."""
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
    """The same for a site that only fetches a late result: no job can start there."""
    usual = site_configuration(name, host, port)
    fetcher = {"id": "fetcher", "path": _FETCHER, "args": {}}
    resources = usual[_RESOURCES] | {"class_allow_list": [], "components": [fetcher]}
    return {**usual, _RESOURCES: resources}


def publishing_configuration(host: str, port: int, store: str) -> Configuration:
    """The server's configuration under `fedhull server`: it can hand out publications, and sites
    give more signs of life."""
    usual = server_configuration(host, port, store)
    publisher = {"id": "publisher", "path": _PUBLISHER, "args": {}}
    resources = dict(usual[_RESOURCES])
    (server,) = resources["servers"]
    timeout = int(os.environ.get(TIMEOUT_VARIABLE, _TIMEOUT))
    resources["servers"] = [server | {"heart_beat_timeout": timeout}]
    resources["components"] = [*resources["components"], publisher]
    return {**usual, _RESOURCES: resources}


def server_configuration(host: str, port: int, store: str) -> Configuration:
    """{file: content} of FLARE's configuration at the server, with the administrator's in its own
    folder; `store` is where jobs are kept."""
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
    """Let jobs name this class and no other."""
    return {
        "format_version": 2,
        "class_list_enforcement_mode": "enforce",
        "class_allow_list": [name],
    }


def _part(name: str, path: str, args: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"id": name, "path": f"{_PARTS}.{path}", "args": dict(args or {})}


def write_configuration(folder: Path, configuration: Configuration) -> None:
    """Write FLARE's configuration to a folder."""
    for name, content in configuration.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_json(folder / name, content)


def write_job(folder: Path, study: Agreement, timeout: float = 600.0) -> Path:
    """Write the FLARE job of a study, two class names and no code; each step takes `timeout`
    seconds at most."""
    workflow = {"id": "study", "path": CONTROLLER, "args": {"timeout": timeout}}
    executor = {"tasks": [*STEPS, PROPOSE], "executor": {"path": EXECUTOR, "args": {}}}
    content = {
        "meta.json": {
            "name": PROJECT,
            "resource_spec": {},
            "deploy_map": {"app": ["@ALL"]},
            "min_clients": study.threshold,
        },
        "app/config/config_fed_server.json": {
            "format_version": 2,
            "server": {"heart_beat_timeout": 600, "task_request_interval": 0.2},
            "dead_client_grace_period": 3.0,
            "workflows": [workflow],
            "components": [],
        },
        "app/config/config_fed_client.json": {
            "format_version": 2,
            "default_task_fetch_interval": 0.2,
            "executors": [executor],
            "components": [],
        },
    }
    write_configuration(folder, content)
    return folder


@contextmanager
def fresh_workspace(kit: Path, configuration: Configuration, keys: list[str]) -> Iterator[Path]:
    """Make a workspace for one run, with nothing in it but what is given here. Afterwards FLARE's
    logs are left, and no keys."""
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
