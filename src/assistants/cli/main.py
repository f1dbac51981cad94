"""The `signalbox` command. Each command's module is imported when it runs, so that small ones start fast."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError
from rich.console import Console

from agent.errors import AgentError
from assistants.errors import CatalogInvalid, SignalboxError

OK, ERROR, USAGE = 0, 1, 2

app = App(
    name="signalbox", help="Run AI agents for many tenants on LangGraph Server.", result_action="return_value"
)
app.command("assistants.cli.serving:dev", help="Start the server with everything it needs (development).")
app.command("assistants.cli.listing:check", help="Check langgraph.json, the settings and the catalog.")
app.command("assistants.cli.listing:ids", help="Print each assistant: tenant/name, id, graph.")
app.command("assistants.cli.tokens:token", help="Print a signed development token.")
app.command("assistants.cli.chat:chat", help="Talk to an assistant.")
app.command("assistants.cli.probe:probe", help="Find out what a model endpoint can do (a few tiny calls).")
app.command("assistants.cli.usage:usage", help="Show what was used, by tenant, assistant and release.")
app.command("assistants.cli.audit:audit", help="Show who decided what; verify that the record is whole.")
app.command("assistants.cli.approvals:app", name="approvals", help="Show what waits for people, and decide.")
app.command("assistants.cli.thread:app", name="thread", help="Free a thread that nobody can answer any more.")


def run() -> None:
    """Run the command line and end the process with its exit code."""
    raise SystemExit(main())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns:
        0, 1 for an error whose message was printed, 2 for wrong usage.
    """
    try:
        code = app(arguments, exit_on_error=False)
    except CycloptsError:
        return USAGE  # cyclopts has printed it
    except Exception as error:
        message = explanation(error)
        if message is None:
            raise
        Console(stderr=True, soft_wrap=True, highlight=False).print(
            f"signalbox: {message}", style="red", markup=False
        )
        return ERROR
    return code if isinstance(code, int) else OK


def explanation(error: Exception) -> str | None:
    """What to tell of an error that people can act on; `None` for a fault of ours."""
    if isinstance(error, CatalogInvalid):  # each problem at the start of a line, as editors read them
        return f"the catalog is not loaded; problems: {len(error.problems)}\n{error}"
    if isinstance(error, SignalboxError | AgentError):
        return str(error)
    if "httpx" not in sys.modules:
        return None
    return _refusal(error)


def _refusal(error: Exception) -> str | None:
    import httpx  # noqa: PLC0415 - here it costs nothing: the failing command has imported it
    from langgraph_sdk.errors import APIError  # noqa: PLC0415

    if isinstance(error, APIError):
        return f"the server refused: {error}"
    if isinstance(error, httpx.HTTPStatusError):
        return f"the server refused ({error.response.status_code}): {error.response.text}"
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        return "SIGNALBOX_URL or SIGNALBOX_TOKEN can't be used; expected http://host:port and a plain token."
    if isinstance(error, httpx.TransportError):
        return "no server answers; start one with 'make dev' or set SIGNALBOX_URL."
    return None
