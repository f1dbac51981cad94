from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import assistants
from assistants.configuration import problems, read
from assistants.graphs import GRAPHS

FILE = Path(assistants.__file__).parents[2] / "langgraph.json"
ABSENT = "ModuleNotFoundError: No module named"
SHIPPED: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def changed(*path: str, to: object = ..., name: str | None = None) -> dict[str, Any]:
    """The shipped file with the value at `path` replaced, taken away, or (`name`) called otherwise."""
    config = copy.deepcopy(SHIPPED)
    part = config
    for step in path[:-1]:
        part = part[step]
    value = part.pop(path[-1], None)
    if name is not None:
        part[name] = value
    elif to is not ...:
        part[path[-1]] = to
    return config


# The shipped file


def test_the_shipped_file_has_no_problems() -> None:
    config, found = read(FILE)
    assert found == []
    assert config == SHIPPED
    assert problems(SHIPPED) == []


def test_the_shipped_file_declares_exactly_the_graphs_that_assistants_may_name() -> None:
    assert tuple(SHIPPED["graphs"]) == GRAPHS
    assert all(graph["description"] for graph in SHIPPED["graphs"].values())


def test_the_shipped_file_has_authentication_routes_and_no_open_door() -> None:
    assert SHIPPED["auth"] == {"path": "assistants.server.auth:auth", "disable_studio_auth": True}
    assert SHIPPED["http"]["app"] == "assistants.server.app:app"
    assert SHIPPED["http"]["enable_custom_route_auth"] is True
    assert "*" not in SHIPPED["http"]["cors"]["allow_origins"]


# Reading


def test_a_file_that_is_missing_says_what_to_do(tmp_path: Path) -> None:
    config, found = read(tmp_path / "langgraph.json")
    assert (config, found) == (None, ["langgraph.json is missing; restore it from version control"])


@pytest.mark.parametrize("text", ["", "{", "{'auth': 1}", "// no\n{}", "{},", b"\xff\xfe"])
def test_a_file_that_is_no_json_says_so(tmp_path: Path, text: str | bytes) -> None:
    path = tmp_path / "langgraph.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    config, found = read(path)
    assert config is None
    assert len(found) == 1
    assert found[0].startswith("langgraph.json is not JSON: ")
    assert str(tmp_path) not in found[0]


@pytest.mark.parametrize("text", ["[]", "null", "5", '"x"', "true"])
def test_a_file_that_is_no_map_says_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "langgraph.json"
    path.write_text(text)
    assert read(path) == (None, ["langgraph.json must hold one JSON object"])


def test_a_file_that_is_a_map_is_read(tmp_path: Path) -> None:
    path = tmp_path / "langgraph.json"
    path.write_text('{"graphs": {}}')
    assert read(path) == ({"graphs": {}}, [])


# What the server's own validation lets through

TRAPS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "auth.path misspelt": (
        changed("auth", "path", name="pth"),
        [
            "auth: unknown key 'pth'; did you mean 'path'?",
            "auth.path is not set: any request would be let in without it",
        ],
    ),
    "auth misspelt": (
        changed("auth", name="auht"),
        [
            "langgraph.json: unknown key 'auht'; did you mean 'auth'?",
            "auth.path is not set: any request would be let in without it",
            "auth.disable_studio_auth must be true: Studio's header would open every tenant",
        ],
    ),
    "no auth": (
        changed("auth"),
        [
            "auth.path is not set: any request would be let in without it",
            "auth.disable_studio_auth must be true: Studio's header would open every tenant",
        ],
    ),
    "auth is empty": (
        changed("auth", to={}),
        [
            "auth.path is not set: any request would be let in without it",
            "auth.disable_studio_auth must be true: Studio's header would open every tenant",
        ],
    ),
    "auth is a text": (
        changed("auth", to="assistants.server.auth:auth"),
        [
            "auth.path is not set: any request would be let in without it",
            "auth.disable_studio_auth must be true: Studio's header would open every tenant",
        ],
    ),
    "studio misspelt": (
        changed("auth", "disable_studio_auth", name="disable_studio"),
        [
            "auth: unknown key 'disable_studio'; did you mean 'disable_studio_auth'?",
            "auth.disable_studio_auth must be true: Studio's header would open every tenant",
        ],
    ),
    "studio is a text": (
        changed("auth", "disable_studio_auth", to="true"),
        ["auth.disable_studio_auth must be true: Studio's header would open every tenant"],
    ),
    "studio is one": (
        changed("auth", "disable_studio_auth", to=1),
        ["auth.disable_studio_auth must be true: Studio's header would open every tenant"],
    ),
    "LangSmith keys let in": (
        changed("auth", "allow_langsmith_api_keys", to=True),
        ["auth: unknown key 'allow_langsmith_api_keys'; expected one of disable_studio_auth, path"],
    ),
    "auth by file": (
        changed("auth", "path", to="./src/assistants/server/auth.py:auth"),
        ["auth.path is './src/assistants/server/auth.py:auth'; expected 'package.module:name'"],
    ),
    "auth without a name": (
        changed("auth", "path", to="assistants.server.auth"),
        ["auth.path is 'assistants.server.auth'; expected 'package.module:name'"],
    ),
    "auth of no module": (
        changed("auth", "path", to="assistants.ouath:auth"),
        [f"auth.path: module 'assistants.ouath' can't be imported ({ABSENT} 'assistants.ouath')"],
    ),
    "auth of somebody else": (
        changed("auth", "path", to="json:loads"),
        ["auth.path is 'json:loads'; expected 'assistants.server.auth:auth', the deployment's own"],
    ),
    "an app of somebody else": (
        changed("http", "app", to="json:loads"),
        ["http.app is 'json:loads'; expected 'assistants.server.app:app', the deployment's own"],
    ),
    "auth of no such name": (
        changed("auth", "path", to="assistants.server.auth:oauth"),
        ["auth.path: module 'assistants.server.auth' has no 'oauth'"],
    ),
    "auth of an empty name": (
        changed("auth", "path", to="assistants.server.auth:"),
        ["auth.path: module 'assistants.server.auth' has no ''"],
    ),
    "auth is a number": (
        changed("auth", "path", to=5),
        ["auth.path is 5; expected 'package.module:name'"],
    ),
    "http.app misspelt": (
        changed("http", "app", name="ap"),
        [
            "http: unknown key 'ap'; did you mean 'app'?",
            "http.app is not set: the side doors would stay open without it",
        ],
    ),
    "no http": (
        changed("http"),
        [
            "http.app is not set: the side doors would stay open without it",
            "http.enable_custom_route_auth must be true: /ops would answer without a token",
        ],
    ),
    "route auth misspelt": (
        changed("http", "enable_custom_route_auth", name="enable_custom_routes_auth"),
        [
            "http: unknown key 'enable_custom_routes_auth'; did you mean 'enable_custom_route_auth'?",
            "http.enable_custom_route_auth must be true: /ops would answer without a token",
        ],
    ),
    "route auth off": (
        changed("http", "enable_custom_route_auth", to=False),
        ["http.enable_custom_route_auth must be true: /ops would answer without a token"],
    ),
    "a key that the server drops": (
        changed("http", "disable_event_streaming", to=True),
        ["http: unknown key 'disable_event_streaming'; did you mean 'disable_store'?"],
    ),
    "cors misspelt": (
        changed("http", "cors", "allow_origins", name="allow_origin"),
        ["http.cors: unknown key 'allow_origin'; did you mean 'allow_origins'?"],
    ),
    "a graph is missing": (
        changed("graphs", "react"),
        ["graphs: 'react' is missing; assistants of the catalog may use it"],
    ),
    "graphs misspelt": (
        changed("graphs", name="graph"),
        [
            "langgraph.json: unknown key 'graph'; did you mean 'graphs'?",
            "graphs: 'react' is missing; assistants of the catalog may use it",
        ],
    ),
    "graphs as a list": (
        changed("graphs", to=["react"]),
        ["graphs: 'react' is missing; assistants of the catalog may use it"],
    ),
    "a graph by a short path": (
        changed("graphs", "react", to="agent.graphs.react:graph"),
        ["graphs.react must be a map with 'path' and 'description'"],
    ),
    "a graph is a number": (
        changed("graphs", "react", to=5),
        ["graphs.react must be a map with 'path' and 'description'"],
    ),
    "a graph without a path": (
        changed("graphs", "react", "path"),
        ["graphs.react.path is None; expected 'package.module:name'"],
    ),
    "a graph without a name": (
        changed("graphs", "react", "path", to="agent.graphs.react"),
        ["graphs.react.path is 'agent.graphs.react'; expected 'package.module:name'"],
    ),
    "a graph by file": (
        changed("graphs", "react", "path", to="./src/agent/graphs/react.py:graph"),
        ["graphs.react.path is './src/agent/graphs/react.py:graph'; expected 'package.module:name'"],
    ),
    "a graph of no module": (
        changed("graphs", "react", "path", to="agent.graphs.reakt:graph"),
        [f"graphs.react.path: module 'agent.graphs.reakt' can't be imported ({ABSENT} 'agent.graphs.reakt')"],
    ),
    "an environment of one graph": (
        changed("graphs", "react", "env", to={"X": "1"}),
        ["graphs.react: unknown key 'env'; expected one of description, path"],
    ),
    "a key that dev ignores": (
        changed("encryption", to={"path": "x:y"}),
        ["langgraph.json: unknown key 'encryption'"],
    ),
}


@pytest.mark.parametrize(("config", "said"), TRAPS.values(), ids=TRAPS.keys())
def test_a_trap_of_the_server_is_a_problem_here(config: dict[str, Any], said: list[str]) -> None:
    assert problems(config) == said


def test_all_problems_are_told_at_once() -> None:
    found = problems({})
    assert found == [
        "graphs: 'react' is missing; assistants of the catalog may use it",
        "auth.path is not set: any request would be let in without it",
        "http.app is not set: the side doors would stay open without it",
        "auth.disable_studio_auth must be true: Studio's header would open every tenant",
        "http.enable_custom_route_auth must be true: /ops would answer without a token",
    ]


@pytest.mark.parametrize("module", ["", ".relative", "..", "a..b", " "])
def test_a_module_s_name_that_is_none_is_a_problem_and_no_crash(module: str) -> None:
    (found,) = problems(changed("graphs", "react", "path", to=f"{module}:graph"))
    assert found.startswith(f"graphs.react.path: module {module!r} can't be imported (")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("def graph(:\n", "SyntaxError"),
        ("raise RuntimeError('no database')\n", "RuntimeError"),
        ("1 / 0\n", "Zero"),
    ],
)
def test_a_module_that_fails_at_import_is_a_problem_and_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, kind: str
) -> None:
    name = f"broken_{kind.lower()}"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    (found,) = problems(changed("graphs", "react", "path", to=f"{name}:graph"))
    assert f"module {name!r} can't be imported ({kind}" in found


def test_a_graph_more_than_assistants_may_name_is_checked_too() -> None:
    config = copy.deepcopy(SHIPPED)
    config["graphs"]["extra"] = {"path": "agent.graphs.react:nothing"}
    assert problems(config) == ["graphs.extra.path: module 'agent.graphs.react' has no 'nothing'"]


def test_the_check_changes_nothing() -> None:
    config = copy.deepcopy(SHIPPED)
    problems(config)
    assert config == SHIPPED
