"""The deployment: settings, catalog and secrets of this server process, loaded once before it starts.

The server loads our authentication and our routes by import, so what they share is built by the first of
them, and a wrong setting or catalog file ends the start.
"""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path

from dotenv import load_dotenv
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.database import Engines
from agent.stamp import secret_from
from agent.tools.shipped import registry
from assistants.graphs import GRAPHS
from assistants.loader import Catalog, catalog_root, load
from assistants.server.token import Expectation, KeySet, SharedSecret
from assistants.settings import Settings


@dataclass(frozen=True, slots=True)
class Deployment:
    """What every part of the server works with."""

    settings: Settings
    catalog: Catalog
    tokens: SharedSecret | KeySet
    secret: bytes


@functools.cache
def deployment() -> Deployment:
    """The deployment that the environment describes.

    Raises:
        ConfigurationInvalid: A setting is missing or unsafe.
        CatalogInvalid: Catalog files are wrong; the message lists all of them.
    """
    load_dotenv(
        Path.cwd() / ".env", override=False
    )  # for a plain `langgraph dev`; the launcher did it already
    settings = Settings.read()
    catalog = load(catalog_root(settings.catalog), registry=registry, graphs=GRAPHS)
    return Deployment(
        settings=settings, catalog=catalog, tokens=_tokens(settings), secret=secret_from(os.environ)
    )


engines = Engines()


def control_engine() -> AsyncEngine:
    """The engine of the control plane's database in the running loop."""
    return engines.get(deployment().settings.database)


def _tokens(settings: Settings) -> SharedSecret | KeySet:
    expectation = Expectation(audience=settings.jwt_audience, issuer=settings.jwt_issuer)
    if settings.jwks_url:
        return KeySet(settings.jwks_url, expectation)
    return SharedSecret(settings.jwt_secret or "", expectation)
