"""The FLARE job of a study: two class names and no code."""

import json
from pathlib import Path
from typing import Any

from fedhull.disk import write_text
from fedhull.protocol.agreement import Agreement
from fedhull.protocol.drive import PROPOSE, STEPS

CONTROLLER = "fedhull.engines.nvflare.controller.StudyController"
EXECUTOR = "fedhull.engines.nvflare.executor.StudyExecutor"
# Not in the job, but in FLARE's own processes.
PUBLISHER = "fedhull.engines.nvflare.publisher.Publisher"
FETCHER = "fedhull.engines.nvflare.fetcher.Fetcher"


def write_job(folder: Path, study: Agreement, timeout: float = 600.0) -> Path:
    """Write the job of a study; `timeout` seconds are given to each step."""
    files: dict[str, Any] = {
        "meta.json": {
            "name": "fedhull",
            "resource_spec": {},
            "deploy_map": {"app": ["@ALL"]},
            "min_clients": study.threshold,
        },
        "app/config/config_fed_server.json": {
            "format_version": 2,
            "server": {"heart_beat_timeout": 600, "task_request_interval": 0.2},
            "dead_client_grace_period": 3.0,
            "workflows": [{"id": "study", "path": CONTROLLER, "args": {"timeout": timeout}}],
            "components": [],
        },
        "app/config/config_fed_client.json": {
            "format_version": 2,
            "default_task_fetch_interval": 0.2,
            "executors": [{"tasks": [*STEPS, PROPOSE], "executor": {"path": EXECUTOR, "args": {}}}],
            "components": [],
        },
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(content, indent=2) + "\n")
    return folder
