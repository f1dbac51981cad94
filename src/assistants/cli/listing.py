"""`signalbox ids` and `signalbox check`: what the files say; no server is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from agent.database import parse
from agent.shop import shop_url
from agent.tools.shipped import registry
from assistants import configuration
from assistants.cli.project import environment, folder
from assistants.errors import ConfigurationInvalid
from assistants.graphs import GRAPHS
from assistants.loader import Catalog, catalog_root, load
from assistants.settings import Settings

_out = Console(soft_wrap=True, highlight=False)


async def ids() -> int:
    """Print each assistant: tenant/name, id, graph."""
    for assistant in (await _catalog(environment())).assistants:
        _out.print(f"{assistant.title} {assistant.id} {assistant.graph}", markup=False)
    return 0


async def check() -> int:
    """Check langgraph.json, the settings and the catalog; starts nothing."""
    config, found = configuration.read(folder() / "langgraph.json")
    found += configuration.problems(config) if config is not None else []
    if found:
        raise ConfigurationInvalid(found)
    values = environment()
    parse(Settings.read(values).database)
    parse(shop_url(values))
    catalog = await _catalog(values)
    _out.print(f"OK: {len(catalog.tenants)} tenants, {len(catalog.assistants)} assistants.")
    return 0


async def _catalog(values: Mapping[str, str]) -> Catalog:
    named = values.get("SIGNALBOX_CATALOG")
    root = catalog_root(Path(named) if named else None)
    return await asyncio.to_thread(load, root, registry=registry, graphs=GRAPHS)
