"""What could be put into a FLARE kit so that FLARE, or Python, would run it."""

import json

EVIL = """
from pathlib import Path
Path({marker!r}).write_text("I was here")
from nvflare.apis.fl_component import FLComponent
class Evil(FLComponent): pass
"""
COMPONENT = {"id": "evil", "path": "evil.Evil", "args": {}}


def component(change):
    return lambda content: content | {"components": [*content.get("components", []), change]}


def formatter(content):
    """A log configuration may name whatever can be called."""
    content["formatters"]["baseFormatter"] = {"()": "evil.Evil"}
    return content


def permit_code(content):
    content["permissions"]["project_admin"]["byoc"] = "any"
    return content


def allow_class(content):
    return content | {"class_allow_list": [*content["class_allow_list"], "evil.Evil"]}


def elsewhere(content):
    """Keys, and the path to them, are plain names; a driver is code."""
    return content | {"comm_driver_path": "/tmp", "client": content["client"] | {"is_leaf": False}}


ADDED = {
    "a component": ("local/evil__resources.json", json.dumps({"components": [COMPONENT]})),
    "one for the parent": ("startup/x__p_resources.json", json.dumps({"components": [COMPONENT]})),
    "one for jobs": ("local/job_resources.json", json.dumps({"components": [COMPONENT]})),
    "a module": ("local/custom/evil.py", EVIL),
    "a decomposer": ("local/custom/nvflare_decomposers/evil.py", EVIL),
    "a module beside the certificates": ("startup/evil.py", EVIL),
    "a privacy policy": ("local/privacy.json", json.dumps({"scopes": []})),
    "a driver": ("local/comm_config.json", json.dumps({"comm_driver_path": "local/custom"})),
    "a default": ("local/resources.json.default", json.dumps({"components": [COMPONENT]})),
    "a site hook": ("sitecustomize.py", EVIL),
    "a package of FLARE's name": ("nvflare/__init__.py", EVIL),
    "a compiled cache": (".numba_config.yaml", "cache_dir: evil"),
}
CHANGED = {
    "a class in resources.json": ("local/resources.json", component(COMPONENT)),
    "a class that jobs may name": ("local/resources.json", allow_class),
    "a class in fed_client.json": ("startup/fed_client.json", component(COMPONENT)),
    "a driver in fed_client.json": ("startup/fed_client.json", elsewhere),
    "a class in the log configuration": ("local/log_config.json", formatter),
    "a permission to ship code": ("local/authorization.json", permit_code),
}


def plant(kit, marker):
    """All of it at once: code that would leave a marker."""
    for name, content in ADDED.values():
        path = kit / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(EVIL.format(marker=str(marker)) if content == EVIL else content)
    for name, change in CHANGED.values():
        path = kit / name
        path.write_text(json.dumps(change(json.loads(path.read_text()))))
