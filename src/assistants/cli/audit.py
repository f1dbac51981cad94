"""`signalbox audit`: who decided what, and whether the record is whole."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

import httpx
from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from assistants.cli.operations import Parameters, lines, operations, read
from assistants.cli.project import environment
from assistants.errors import SignalboxError
from assistants.release import display

BROKEN: Final = 1
"""The exit code for a chain that does not hold."""

_EXPORT: Final = "application/x-ndjson"
_HEAD: Final = re.compile("([0-9]{1,19}):([0-9a-f]{64})")
_REFERENCES: Final = ("assistant", "release", "thread", "turn", "run")


async def audit(
    *,
    tenant: str | None = None,
    action: str | None = None,
    actor: str | None = None,
    assistant: str | None = None,
    thread: str | None = None,
    turn: str | None = None,
    since: str | None = None,
    until: str | None = None,
    after: int | None = None,
    limit: int | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    ndjson: Annotated[bool, Parameter(negative="")] = False,
    verify: Annotated[bool, Parameter(negative="")] = False,
    head: str | None = None,
) -> int:
    """Show who decided what, oldest first; or verify that the record is whole.

    With --verify the exit code is 0 for an intact chain and 1 for a broken one.

    Parameters
    ----------
    tenant
        Whose audit. Operators must say; an approver's token is for one tenant.
    action
        A code such as tool.denied, or its beginning with a dot at the end (tool.).
    actor
        Who acted, as tenant/user.
    since
        An ISO 8601 time, or a duration back from now such as 7d. By default from the beginning.
    until
        Likewise. By default to the end.
    after
        Only entries after the one of this number.
    limit
        How many entries at once, 1 to 1000. By default 200.
    as_json
        Print the server's answer.
    ndjson
        Export: print all entries that match, one a line, whatever their number.
    verify
        Verify the whole chain instead of showing entries.
    head
        SEQ:HASH as an earlier --verify printed it; a chain that was cut or written anew does not fit it.
    """
    places = {"action": action, "actor": actor, "assistant": assistant, "thread": thread, "turn": turn}
    wanted: Parameters = {**places, "since": since, "until": until, "after": after, "limit": limit}
    _require_one_job(wanted, as_json=as_json, ndjson=ndjson, verify=verify, head=head)
    values = environment()
    if tenant is None and not values.get("SIGNALBOX_TOKEN"):
        raise SignalboxError("Say whose audit: --tenant acme; 'signalbox ids' lists the tenants.")
    console = Console(soft_wrap=True, highlight=False)
    async with operations(values) as client:
        if verify:
            return await _verify(client, {"tenant": tenant, **_remembered(head)}, console, as_json=as_json)
        if ndjson:
            return await _export(client, {"tenant": tenant, **wanted}, console)
        return await _show(client, {"tenant": tenant, **wanted}, console, as_json=as_json)


def _require_one_job(
    wanted: Mapping[str, object], *, as_json: bool, ndjson: bool, verify: bool, head: str | None
) -> None:
    filters = [name for name, value in wanted.items() if value is not None]
    if verify and filters:
        raise SignalboxError(f"--verify reads the whole chain; leave out --{filters[0]}.")
    if verify and ndjson:
        raise SignalboxError("--verify prints no entries; leave out --ndjson.")
    if head is not None and not verify:
        raise SignalboxError("--head is what --verify compares with; add --verify.")
    if as_json and ndjson:
        raise SignalboxError("--json prints one page, --ndjson all entries; choose one.")


def _remembered(head: str | None) -> dict[str, str]:
    if head is None:
        return {}
    found = _HEAD.fullmatch(head)
    if found is None:
        raise SignalboxError(
            f"--head is {head!r}; expected SEQ:HASH as 'signalbox audit --verify' prints it."
        )
    return {"seq": found[1], "hash": found[2]}


async def _verify(
    client: httpx.AsyncClient, parameters: Parameters, console: Console, *, as_json: bool
) -> int:
    found = await read(client, "/ops/audit/verify", parameters)
    intact = found["verdict"] == "intact"
    if as_json:
        console.out(json.dumps(found), highlight=False)
    elif intact:
        console.print(Text(f"{found['tenant']}: intact, {found['count']} entries."))
        console.print(Text(f"Keep this head elsewhere: {found['head']['seq']}:{found['head']['hash']}"))
    else:
        where = f"{found['tenant']}: BROKEN at entry {found['seq']} ({found['reason']})."
        console.print(Text(f"{where} {found['detail']}", style="red"))
    return 0 if intact else BROKEN


async def _export(client: httpx.AsyncClient, parameters: Parameters, console: Console) -> int:
    async for line in lines(client, "/ops/audit", parameters, accept=_EXPORT):
        console.out(line, highlight=False)
    return 0


async def _show(client: httpx.AsyncClient, parameters: Parameters, console: Console, *, as_json: bool) -> int:
    found = await read(client, "/ops/audit", parameters)
    if as_json:
        console.out(json.dumps(found, indent=2), highlight=False)
        return 0
    for entry in found["entries"]:
        console.print(shown(entry))
    if not found["entries"]:
        console.print(Text(f"{found['tenant']}: no entry matches."))
    if found["next"] is not None:
        console.print(Text(f"There is more: --after {found['next']}", style="dim"))
    return 0


def shown(entry: Mapping[str, Any]) -> Text:
    """An entry in two or three lines: when, what and who; where; the facts."""
    first = f"{entry['seq']:>5}  {entry['at'][:19]}Z  {entry['action']}  {entry['actor']}"
    where = [f"{name} {_reference(name, entry[name])}" for name in _REFERENCES if entry[name]]
    text = Text(_printable(first), style="bold")
    for line in ("  ".join(where), _facts(entry["facts"])):
        if line:
            text.append(f"\n       {_printable(line)}", style="not bold")
    return text


def _reference(name: str, value: str) -> str:
    return display(value) if name == "release" else value


def _facts(text: str) -> str:
    try:
        facts: dict[str, Any] = json.loads(text)
        return "  ".join(f"{name}={_plain(value)}" for name, value in facts.items())
    except (ValueError, AttributeError):  # a tampered entry is shown as it is
        return text


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _printable(text: str) -> str:
    """The text with whatever could steer a terminal or has no bytes written as an escape."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
