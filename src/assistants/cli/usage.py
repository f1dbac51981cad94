"""`signalbox usage`: what was used and how it went, by tenant, assistant and release."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Final

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from assistants.cli.operations import operations, read
from assistants.cli.project import environment
from assistants.release import display

WIDTH: Final = 100
"""Columns that a table may take; a narrower terminal breaks its lines, so that no digit is lost."""

Row = Mapping[str, Any]


async def usage(
    *,
    since: str | None = None,
    until: str | None = None,
    tenant: str | None = None,
    assistant: str | None = None,
    release: str | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Show what was used and how it went, by tenant, assistant and release.

    Parameters
    ----------
    since
        Where the period begins: an ISO 8601 time, or a duration back from now such as 7d. By default 24h.
    until
        Where it ends, likewise. By default now.
    tenant
        Slug of the tenant; by default all that you may see.
    assistant
        Name of the assistant, without its tenant.
    release
        The release, whole or as it is shown (r-3f9a1c).
    as_json
        Print the server's answer, with all digits.
    """
    asked = {"since": since, "until": until, "tenant": tenant, "assistant": assistant, "release": release}
    async with operations(environment()) as client:
        found = await read(client, "/ops/usage", asked)
    console = _console()
    if as_json:
        console.out(json.dumps(found, indent=2), highlight=False)
        return 0
    period = f"{_shown(found['since'])} to {_shown(found['until'])} (UTC)"
    if not found["rows"]:
        console.out(f"Nothing was used: {period}.", highlight=False)
        return 0
    console.print(Text(f"Usage, {period}"))
    console.print(table(found["rows"], found["totals"]))
    return 0


def table(rows: Sequence[Row], totals: Row) -> Table:
    """A table with a row for each tenant, assistant and release, and one for all of them."""
    shown = Table(box=None, padding=(0, 2, 1, 0), pad_edge=False)
    shown.add_column("Assistant", overflow="fold", min_width=12)
    for name in ("Runs", "Models", "Tools"):
        shown.add_column(name, no_wrap=True)
    shown.add_column("p95 ms", overflow="fold", min_width=14)
    shown.add_column("USD", justify="right", no_wrap=True)
    releases = {str(row["release"]) for row in rows}
    for row in rows:
        shown.add_row(*(Text(cell) for cell in cells(row, releases=releases)))
    shown.add_row(*(Text(cell, style="bold") for cell in cells(totals)))
    return shown


def cells(row: Row, *, releases: Collection[str] = ()) -> list[str]:
    """The cells of one row, their lines in the order in which the table's head names them.

    Args:
        row: A row of the server's answer, or its totals.
        releases: All releases that are shown; none for totals.
    """
    named = "release" in row
    title = [f"{row['tenant']}/{row['assistant']}", display(row["release"], releases)] if named else ["Total"]
    return [
        "\n".join(title),
        _lines((row["runs"], "runs"), (row["turns"], "turns"), (row["steps"], "steps")),
        _models(row),
        _tools(row),
        "\n".join(f"{node} {milliseconds:,}" for node, milliseconds in row.get("p95_ms", {}).items()),
        str(row["usd"]),
    ]


def _models(row: Row) -> str:
    calls = _lines((row["model_calls"], "calls"), (row["model_failures"], "failed"))
    tokens = _lines((row["tokens_in"], "in"), (row["tokens_out"], "out"))
    guessed = f"\n{row['estimated_calls']:,} guessed" if row["estimated_calls"] else ""
    return f"{calls}\n{tokens}{guessed}"


def _tools(row: Row) -> str:
    calls = _lines((row["tool_calls"], "calls"), (row["tool_failures"], "failed"), (row["denials"], "denied"))
    rate = "" if row["approval_rate"] is None else f"\n{row['approval_rate']:.0%} approved"
    return f"{calls}\n{row['interrupts']:,} held{rate}"


def _lines(*figures: tuple[int, str]) -> str:
    return "\n".join(
        f"{amount:,} {what.removesuffix('s') if amount == 1 else what}" for amount, what in figures
    )


def _shown(moment: str) -> str:
    return moment[:16].replace("T", " ")


def _console() -> Console:
    terminal = Console(highlight=False)
    terminal.width = max(terminal.width, WIDTH) if terminal.is_terminal else WIDTH
    return terminal
