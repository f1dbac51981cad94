"""The structure that everything else stands on: one direction of imports, one surface, no strays."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import agent
import assistants
from assistants.graphs import GRAPHS

PROJECT = Path(__file__).parent.parent.parent
SOURCE = PROJECT / "src"


def modules(package: str) -> list[Path]:
    return sorted((SOURCE / package).rglob("*.py"))


def imported(file: Path) -> set[str]:
    """The absolute names that a file imports anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name} imports relatively"
            names.add(node.module or "")
    return names


def test_the_data_plane_knows_nothing_of_the_control_plane() -> None:
    files = modules("agent")
    assert len(files) > 30
    offenders = {
        file.relative_to(SOURCE).as_posix(): name
        for file in files
        for name in imported(file)
        if name.split(".")[0] == "assistants"
    }
    assert offenders == {}


def test_the_control_plane_imports_the_data_plane() -> None:
    """So the rule above has something to hold apart."""
    assert any(name.startswith("agent.") for file in modules("assistants") for name in imported(file))


def used() -> set[str]:
    """The top-level packages that the product imports."""
    files = [*modules("agent"), *modules("assistants")]
    return {name.split(".")[0] for file in files for name in imported(file)}


def test_the_product_depends_on_nothing_of_the_tests() -> None:
    assert "tests" not in used()
    assert {"agent", "assistants", "pydantic"} <= used()


def test_every_package_that_is_imported_is_declared() -> None:
    """Case 100: it works because the environment happens to have it, until it does not."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    declared = {
        re.split(r"[\[~=><]", line)[0].replace("-", "_").replace(".", "_") for line in project["dependencies"]
    }
    distribution = {
        "dotenv": "python_dotenv",
        "jwt": "pyjwt",
        "opentelemetry": "opentelemetry_sdk",
        "ruamel": "ruamel_yaml",
    }
    within = {
        "httpx2": "openai",
        "langchain_core": "langchain",
        "langgraph_api": "langgraph_cli",
        "pydantic_core": "pydantic",
    }
    foreign = used() - set(sys.stdlib_module_names) - {"agent", "assistants"}
    assert "ruamel" in foreign
    assert {within.get(name, distribution.get(name, name)) for name in foreign} - declared == set()


@pytest.mark.parametrize("package", [agent, assistants])
def test_the_exported_surface_is_what_is_listed(package: ModuleType) -> None:
    listed: list[str] = package.__all__
    assert listed == sorted(listed)
    for name in listed:
        exported = getattr(package, name)
        assert exported.__doc__, f"{name} is not documented"
    tree = ast.parse(Path(str(package.__file__)).read_text())
    brought = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert brought == set(listed)


def test_the_surfaces_are_these() -> None:
    assert agent.__all__ == [
        "AgentContext",
        "AgentError",
        "ModelUnavailable",
        "Registry",
        "RunRefused",
        "Tool",
        "ToolCall",
        "ToolFailure",
        "ToolRegistrationError",
    ]
    assert assistants.__all__ == [
        "CatalogInvalid",
        "ConfigurationInvalid",
        "Problem",
        "SignalboxError",
        "assistant_id",
        "release_id",
    ]


def test_every_module_can_be_imported_and_says_what_it_is() -> None:
    serverless = {"assistants.cli.__main__", "agent.offline.__main__", "agent.shop.__main__"}
    count = 0
    for package in ("agent", "assistants"):
        for file in modules(package):
            name = ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
            assert ast.get_docstring(ast.parse(file.read_text())), f"{name} has no docstring"
            if name not in serverless and "migrations" not in name:
                importlib.import_module(name)
                count += 1
    assert count > 60


def test_langgraph_json_declares_the_graphs_and_pins_the_server() -> None:
    """Case 101: the server's version is chosen, not met."""
    config = json.loads((PROJECT / "langgraph.json").read_text())
    assert tuple(config["graphs"]) == GRAPHS
    assert config["api_version"] == "0.16"
    lock = tomllib.loads((PROJECT / "uv.lock").read_text())
    locked = {package["name"]: package["version"] for package in lock["package"]}
    assert locked["langgraph-api"].startswith("0.16.")


def test_nothing_large_or_secret_is_in_version_control() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, check=True, capture_output=True).stdout
    files = [PROJECT / name for name in listed.decode().split("\0") if name]
    assert len(files) > 100
    large = {
        file.name: file.stat().st_size for file in files if file.exists() and file.stat().st_size > 1_000_000
    }
    assert large == {}
    assert [file.name for file in files if file.name in {".env", "shop.db", "signalbox.db"}] == []
