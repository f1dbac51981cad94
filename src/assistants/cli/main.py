"""The `signalbox` command."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal

import httpx
from cyclopts import App, Parameter
from langgraph_sdk import get_client
from langgraph_sdk.errors import APIError
from rich.console import Console

from agent.tools.shipped import registry
from assistants import configuration
from assistants.cli import chat as conversation
from assistants.cli import credential, launcher
from assistants.cli import environment as dotenv
from assistants.errors import CatalogInvalid, ConfigurationInvalid, SignalboxError
from assistants.graphs import GRAPHS
from assistants.identity import assistant_id
from assistants.loader import catalog_root, load
from assistants.principal import ROLES, principal
from assistants.settings import Settings

OK, ERROR, USAGE = 0, 1, 2

app = App(name="signalbox", help="Run AI agents for many tenants on LangGraph Server.", version_flags=["--version"])
_out = Console(soft_wrap=True, highlight=False)
_err = Console(stderr=True, soft_wrap=True, highlight=False)


@app.command
async def dev(*, port: int | None = None, jobs: int = 10, reload: bool = False) -> int:
    """Start the server with everything it needs on 127.0.0.1 (development).

    Parameters
    ----------
    port
        The port; by default PORT, else 2024. A busy port is an error.
    jobs
        Runs at once.
    reload
        Start again when code changes.
    """
    chosen = port if port is not None else int(os.environ.get("PORT") or 2024)
    return await launcher.serve(launcher.project_folder(), port=chosen, jobs=jobs, reload=reload)


@app.command
async def check() -> int:
    """Check langgraph.json, the settings and the catalog; starts nothing."""
    project = launcher.project_folder()
    config, found = configuration.read(project / "langgraph.json")
    if found or (found := configuration.problems(config or {})):
        raise ConfigurationInvalid(found)
    values = dotenv.load(project)
    settings = Settings.read(values)
    catalog = await asyncio.to_thread(
        load, catalog_root(settings.catalog), registry=registry, graphs=GRAPHS
    )
    _out.print(f"OK: {len(catalog.tenants)} tenants, {len(catalog.assistants)} assistants.")
    return OK


@app.command
async def ids() -> int:
    """Print each assistant: tenant/name, id, graph. Reads the files and needs no server."""
    values = _environment()
    root = catalog_root(values.get("SIGNALBOX_CATALOG"))
    catalog = await asyncio.to_thread(load, root, registry=registry, graphs=GRAPHS)
    for assistant in catalog.assistants:
        _out.print(f"{assistant.tenant}/{assistant.name} {assistant.id} {assistant.graph}")
    return OK


@app.command
async def token(
    *,
    tenant: str,
    user: str,
    role: Annotated[tuple[Literal["user", "approver", "operator"], ...], Parameter(negative="")] = ("user",),
    hours: float = 12.0,
) -> int:
    """Print a signed development token.

    Parameters
    ----------
    tenant
        Slug of the tenant.
    user
        The user's id.
    role
        May be given more than once.
    hours
        How long it is valid.
    """
    who = principal(f"{tenant}/{user}", set(role) & ROLES)
    _out.print(credential.development_token(who, _environment(), ttl=timedelta(hours=hours)))
    return OK


@app.command
async def chat(assistant: str, message: str | None = None, /, *, user: str = "you") -> int:
    """Talk to an assistant.

    Parameters
    ----------
    assistant
        tenant/name, as `signalbox ids` prints it.
    message
        One question; without it a conversation until the input ends.
    user
        Who asks, where a development token is made for it.
    """
    tenant, separator, name = assistant.partition("/")
    if not separator or not name:
        _err.print(f"[red]{assistant!r} is not of the form tenant/name; see 'signalbox ids'.[/red]")
        return USAGE
    values = _environment()
    bearer = credential.token(principal(f"{tenant}/{user}", {"user"}), values)
    client = get_client(
        url=credential.url(values), api_key=None, headers={"Authorization": f"Bearer {bearer}"}
    )
    return await conversation.converse(client, str(assistant_id(tenant, name)), message, _out)


def _environment() -> Mapping[str, str]:
    try:
        return dotenv.load(launcher.project_folder())
    except launcher.StartFailed:
        return dict(os.environ)


def run() -> None:
    """Run the command line and end the process with its exit code."""
    raise SystemExit(main())


def main(arguments: list[str] | None = None) -> int:
    """Run the command line.

    Returns:
        0, 1 for an error whose message was printed, 2 for wrong usage.
    """
    try:
        code = app(arguments, exit_on_error=False, print_error=True, result_action="return_value")
    except (SignalboxError, CatalogInvalid, ConfigurationInvalid, ValueError) as error:
        _err.print(f"signalbox: {error}", style="red", markup=False)
        return ERROR
    except APIError as error:
        _err.print(f"signalbox: the server refused: {error}", style="red", markup=False)
        return ERROR
    except httpx.TransportError:
        _err.print(
            "signalbox: no server answers; start one with 'make dev' or set SIGNALBOX_URL.", style="red"
        )
        return ERROR
    return code if isinstance(code, int) else OK
