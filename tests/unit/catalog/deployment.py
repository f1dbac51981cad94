"""The deployment that catalog tests are written against: a few tools and graphs, and catalogs as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Literal

from agent.tools.registry import Registry, ToolCall
from assistants.errors import CatalogInvalid
from assistants.loader import Catalog, load

GRAPHS = ("react", "digest")

registry = Registry()
"""Reads, a write that brings its own approval, a dangerous tool that does not."""


@registry.tool("orders.get", risk="read")
async def get_order(number: int, *, call: ToolCall) -> str:
    """Look up one order."""
    return f"{call.tenant}: {number}"


@registry.tool("orders.refund", risk="write", approval="always")
async def refund_order(order: int, amount: float, reason: str) -> str:
    """Refund an amount of one order."""
    return f"{order} {amount} {reason}"


@registry.tool("kb.search", risk="read")
async def search(query: str, limit: int = 5) -> str:
    """Search the handbook."""
    return query * limit


@registry.tool("files.write", risk="dangerous")
async def write_file(
    path: str, text: str | None, mode: Literal["new", "append"], *, force: bool = False
) -> str:
    """Write a file."""
    return f"{path} {text} {mode} {force}"


RINGS = {"rings.yaml": "rings: [early, late]\n"}

TENANT = {
    "tenants/acme/tenant.yaml": "slug: acme\nring: early\ntimezone: Europe/Berlin\n",
}

SUPPORT = "tenants/acme/support.yaml"

MINIMAL = """\
name: support
graph: react
model: {name: "openai:small"}
"""


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Write files below `root`; their text may be indented."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return root


def loaded(root: Path, files: Mapping[str, str]) -> Catalog:
    """The catalog of one tenant `acme` with these files, which replace the usual ones of the same name."""
    return load(write(root, {**RINGS, **TENANT, **files}), registry=registry, graphs=GRAPHS)


def report(root: Path, files: Mapping[str, str]) -> list[str]:
    """The lines of the report on such a catalog; empty when it is sound."""
    try:
        loaded(root, files)
    except CatalogInvalid as invalid:
        return str(invalid).splitlines()
    return []


def support(text: str) -> dict[str, str]:
    """The files of an assistant `acme/support` with these further keys."""
    return {SUPPORT: MINIMAL + dedent(text)}
