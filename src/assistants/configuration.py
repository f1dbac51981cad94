"""The check of `langgraph.json`: what the server's own validation lets through and then starts without.

`langgraph validate` accepts missing graph files, a misspelt key inside `auth` (the server then starts without
any authentication) and any key inside `http` (docs/facts.md, F1 and F3). Here unknown keys, targets
that can't be imported and an `auth` or `http` part that is not the deployment's are errors.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from assistants.graphs import GRAPHS
from assistants.loading.suggestion import did_you_mean

TOP = frozenset(
    {"$schema", "python_version", "api_version", "base_image", "image_distro", "pip_config_file"}
    | {"pip_installer", "source", "dependencies", "dockerfile_lines", "graphs", "env", "store", "auth"}
    | {"http", "webhooks", "checkpointer", "keep_pkg_tools"}
)
_PATH = re.compile(r" \(/[^)]*\)")  # where Python found the module, at the end of some messages
AUTH_TARGET = "assistants.server.auth:auth"
APP_TARGET = "assistants.server.app:app"
GRAPH = frozenset({"path", "description"})
AUTH = frozenset({"path", "disable_studio_auth"})
HTTP = frozenset(
    {"app", "cors", "configurable_headers", "logging_headers", "middleware_order", "mount_prefix"}
    | {"enable_custom_route_auth", "disable_assistants", "disable_threads", "disable_runs", "disable_store"}
    | {"disable_mcp", "disable_a2a", "disable_meta", "disable_ui", "disable_webhooks"}
)
CORS = frozenset(
    {"allow_origins", "allow_methods", "allow_headers", "allow_credentials", "allow_origin_regex"}
    | {"expose_headers", "max_age"}
)


def read(path: Path) -> tuple[Mapping[str, Any] | None, list[str]]:
    """The configuration file as a map, and what keeps it from being one."""
    try:
        value: object = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None, [f"{path.name} is missing; restore it from version control"]
    except ValueError as error:
        return None, [f"{path.name} is not JSON: {error}"]
    if not isinstance(value, dict):
        return None, [f"{path.name} must hold one JSON object"]
    return cast("Mapping[str, Any]", value), []


def problems(config: Mapping[str, Any]) -> list[str]:
    """What is wrong with the configuration, one sentence a problem; empty when the server may start."""
    graphs, auth, http = (_part(config, name) for name in ("graphs", "auth", "http"))
    cors = _part(http, "cors")
    found = _unknown("langgraph.json", config, TOP)
    found += _unknown("auth", auth, AUTH) + _unknown("http", http, HTTP)
    found += _unknown("http.cors", cors, CORS)
    if "*" in (cors.get("allow_origins") or ()) and cors.get("allow_credentials"):
        found.append("http.cors: any origin with credentials lets every web page act as its reader")
    for name, graph in graphs.items():
        found += _graph(str(name), graph)
    found += _missing_graphs(graphs)
    found += _ours("auth.path", auth.get("path"), AUTH_TARGET, "any request would be let in without it")
    found += _ours("http.app", http.get("app"), APP_TARGET, "the side doors would stay open without it")
    if auth.get("disable_studio_auth") is not True:
        found.append("auth.disable_studio_auth must be true: Studio's header would open every tenant")
    if http.get("enable_custom_route_auth") is not True:
        found.append("http.enable_custom_route_auth must be true: /ops would answer without a token")
    return found


def _part(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = config.get(name)
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _unknown(where: str, part: Iterable[str], known: frozenset[str]) -> list[str]:
    return [f"{where}: unknown key {key!r}{did_you_mean(key, known)}" for key in part if key not in known]


def _graph(name: str, graph: object) -> list[str]:
    if not isinstance(graph, dict):
        return [f"graphs.{name} must be a map with 'path' and 'description'"]
    entry = cast("Mapping[str, Any]", graph)
    return _unknown(f"graphs.{name}", entry, GRAPH) + _target(f"graphs.{name}.path", entry.get("path"), "")


def _missing_graphs(graphs: Mapping[str, Any]) -> list[str]:
    absent = [name for name in GRAPHS if name not in graphs]
    return [f"graphs: {name!r} is missing; assistants of the catalog may use it" for name in absent]


def _ours(where: str, path: object, target: str, why: str) -> list[str]:
    other = [] if path == target else [f"{where} is {path!r}; expected {target!r}, the deployment's own"]
    return _target(where, path, why) or other


def _target(where: str, path: object, why: str) -> list[str]:
    """Whether `module:name` can be imported; the reason is said where nothing is configured at all."""
    if path is None and why:
        return [f"{where} is not set: {why}"]
    module, separator, name = str(path).partition(":")
    if not separator or "/" in module:
        return [f"{where} is {path!r}; expected 'package.module:name'"]
    try:
        loaded = importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 - a module may fail in any way while it is imported
        text = _PATH.sub("", f"{type(error).__name__}: {error}")
        return [f"{where}: module {module!r} can't be imported ({text})"]
    return [] if hasattr(loaded, name) else [f"{where}: module {module!r} has no {name!r}"]
