"""`signalbox dev`: everything that a server needs, started in order, checked before, ended together."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console

from agent.database import parse
from agent.errors import AgentError
from agent.tools.shipped import registry
from assistants import configuration
from assistants.cli import dotenv
from assistants.cli.process import Child, start
from assistants.errors import ConfigurationInvalid, SignalboxError
from assistants.graphs import GRAPHS
from assistants.loader import Catalog, catalog_root, load
from assistants.settings import Settings

HOST = "127.0.0.1"
DEFAULT_PORT = 2024
_JOBS = 10
_READY = 60.0  # seconds until a start is given up
_BODY = 2 * 1024 * 1024  # bytes that a request may bring


class StartFailed(SignalboxError):
    """The server did not start."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be started: where, with which environment, and from which catalog."""

    project: Path
    port: int
    jobs: int
    reload: bool
    environment: Mapping[str, str]
    catalog: Catalog

    @property
    def url(self) -> str:
        """The server's address."""
        return f"http://{HOST}:{self.port}"


async def serve(project: Path, *, port: int, jobs: int = _JOBS, reload: bool = False) -> int:
    """Start the server and stay until it ends or is told to.

    Args:
        project: The folder with `langgraph.json` and `.env.example`.
        port: The port on 127.0.0.1; a busy one is an error.
        jobs: Runs at once; the server's own default is one.
        reload: Start again when code changes; runs in flight then resume under the new code.

    Returns:
        The exit code: 0 when told to stop, 1 when something did not start or ended by itself.
    """
    console = Console(stderr=True, soft_wrap=True)
    try:
        plan = await asyncio.to_thread(prepare, project, port=port, jobs=jobs, reload=reload)
    except (SignalboxError, AgentError) as error:
        console.print(f"[red]signalbox: not started.[/red]\n{error}", highlight=False, markup=True)
        return 1
    children: list[Child] = []
    stop = _stop_event()
    try:
        await _start(plan, children, stop, console)
        return await _wait(children, stop, console)
    except StartFailed as error:
        console.print(f"[red]signalbox: {error}[/red]", highlight=False)
        return 1
    finally:
        for child in reversed(children):
            await child.stop()


def prepare(project: Path, *, port: int, jobs: int, reload: bool) -> Plan:
    """Check everything that can be checked before a process is started.

    Raises:
        ConfigurationInvalid: Wrong settings or a wrong `langgraph.json`, all problems at once.
        CatalogInvalid: Wrong catalog files, all problems at once.
        DatabaseRefused: A database URL that is not supported.
        StartFailed: The port is taken.
    """
    dotenv.ensure(project)
    values = dotenv.load(project)
    for name, default in (("SIGNALBOX_ENV", "dev"), ("LOG_LEVEL", "WARNING")):
        values[name] = values.get(name) or default  # an empty variable says nothing
    for name in ("DATABASE_URI", "REDIS_URI"):  # `langgraph dev` overwrites these two in its process
        if values.get(name):
            values[f"SIGNALBOX_{name}"] = values[name]
    for name in ("SIGNALBOX_HOME", "SIGNALBOX_CATALOG"):  # the server runs in another folder
        if values.get(name):
            values[name] = str(Path(values[name]).absolute())
    for name in ("SIGNALBOX_DB", "SIGNALBOX_SHOP_DB"):
        if values.get(name):
            values[name] = parse(values[name]).render_as_string(hide_password=False)
    settings = Settings.read(values)
    config, found = configuration.read(project / "langgraph.json")
    found += configuration.problems(config) if config is not None else []
    if found:
        raise ConfigurationInvalid(found)
    catalog = load(catalog_root(settings.catalog), registry=registry, graphs=GRAPHS)
    _require_free(port)
    settings.home.mkdir(parents=True, exist_ok=True)
    return Plan(project, port, jobs, reload, values, catalog)


async def _start(plan: Plan, children: list[Child], stop: asyncio.Event, console: Console) -> None:
    values = {**plan.environment, "HTTP_MAX_REQUEST_BODY_BYTES": str(_BODY)}
    if needs_offline_model(values):
        offline, url = await _offline(values)
        children.append(offline)
        values |= {"OPENAI_BASE_URL": url, "SIGNALBOX_OFFLINE_MODEL": "running"}
    server = await start(
        "server", _command(plan), environment=values, cwd=Path(values.get("SIGNALBOX_HOME") or plan.project)
    )
    children.append(server)
    info = await _ready(plan.url, server, stop)
    if info is not None:
        console.print(_banner(plan, info), highlight=False, soft_wrap=True)


def needs_offline_model(values: Mapping[str, str]) -> bool:
    """Whether the offline model answers: no endpoint is configured and it is not switched off."""
    configured = values.get("OPENAI_API_KEY") or values.get("OPENAI_BASE_URL")
    return not configured and values.get("SIGNALBOX_OFFLINE_MODEL", "auto") != "off"


async def _offline(values: Mapping[str, str]) -> tuple[Child, str]:
    command = [sys.executable, "-m", "agent.offline", "--mode", "rules"]
    child = await start("offline model", command, environment=values, capture=True)
    stream = child.process.stdout
    try:
        async with asyncio.timeout(_READY):
            line = await stream.readline() if stream else b""
    except TimeoutError:
        line = b""
    if not line:
        await child.stop()
        raise StartFailed("The offline model did not start; set OPENAI_API_KEY to use an endpoint instead.")
    return child, str(json.loads(line)["url"])


def _command(plan: Plan) -> list[str]:
    return [
        *(sys.executable, "-m", "langgraph_cli", "dev", "--config", str(plan.project / "langgraph.json")),
        *("--host", HOST, "--port", str(plan.port), "--n-jobs-per-worker", str(plan.jobs), "--no-browser"),
        *(() if plan.reload else ("--no-reload",)),
    ]


async def _ready(url: str, server: Child, stop: asyncio.Event) -> dict[str, Any] | None:
    """The server's `/info` once it answers, or `None` when it was told to stop before."""
    try:
        async with httpx.AsyncClient(timeout=5.0) as client, asyncio.timeout(_READY):
            while not stop.is_set():
                if server.process.returncode is not None:
                    raise StartFailed("It ended while starting; its last lines above say why.")
                with contextlib.suppress(httpx.TransportError):
                    if (await client.get(f"{url}/ok")).is_success:
                        return dict((await client.get(f"{url}/info")).json())
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise StartFailed(f"It did not answer within {_READY:g} s; try again, or look at its log.") from None
    return None


async def _wait(children: list[Child], stop: asyncio.Event, console: Console) -> int:
    ends = {asyncio.create_task(child.process.wait()): child for child in children}
    asked = asyncio.create_task(stop.wait())
    done, pending = await asyncio.wait({*ends, asked}, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    if asked in done:
        return 0
    name = next(child.name for task, child in ends.items() if task in done)
    console.print(f"[red]signalbox: the {name} ended by itself; stopping the rest.[/red]", highlight=False)
    return 1


def _stop_event() -> asyncio.Event:
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    return stop


def _require_free(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            way = f"end what uses it, or choose another: PORT={port + 1} make dev"
            raise StartFailed(f"Port {port} is taken on {HOST}; {way}.") from None


def _banner(plan: Plan, info: Mapping[str, Any]) -> str:
    here = "" if plan.port == DEFAULT_PORT else f"SIGNALBOX_URL={plan.url} "
    count = len(plan.catalog.assistants)
    name, question = _example(plan.catalog)
    return "\n".join(
        [
            "",
            f"[bold]Signalbox[/bold] serves {count} assistants at [bold]{plan.url}[/bold]",
            f"Model:   {info['signalbox']['model']['note']}",
            f"Studio:  https://smith.langchain.com/studio/?baseUrl={plan.url}",
            "",
            "Try, in another terminal:",
            f'  {here}.venv/bin/signalbox chat {name} "{question}"',
            f'  {here}.venv/bin/python examples/stream.py "{question}" {name}',
            f'  {here}examples/ask.sh "{question}" {name}',
            "",
            "Ctrl-C stops everything.",
        ]
    )


def _example(catalog: Catalog) -> tuple[str, str]:
    """An assistant to try and a question for it: an order, where one can be looked up."""
    orders = (one for one in catalog.assistants if "orders.get" in one.context.tools)
    if (found := next(orders, None)) is not None:
        return found.title, "Where is order 1001?"
    return next((one.title for one in catalog.assistants), "TENANT/NAME"), "What can you do?"
