"""`signalbox approvals`: what waits for people's decisions, and taking them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, cast
from urllib.parse import quote

import httpx
from cyclopts import App, Parameter
from rich.console import Console
from rich.text import Text

from assistants.cli.operations import OperationRefused, operations, read
from assistants.cli.project import environment
from assistants.errors import SignalboxError
from assistants.principal import PLATFORM, principal

app = App(name="approvals", help="Show what waits for people's decisions, and decide.")

Record = Mapping[str, Any]
Json = Annotated[bool, Parameter(name="--json", negative="")]

_SHOWN: Final = 12  # digits of an id in a list; more are needed by nobody to tell them apart


@app.command(name="list")
async def listed(
    *,
    tenant: str | None = None,
    thread: str | None = None,
    every: Annotated[bool, Parameter(name="--all", negative="")] = False,
    as_json: Json = False,
) -> int:
    """Show what is pending, newest first.

    Parameters
    ----------
    tenant
        Slug of the tenant; by default all that you may see.
    thread
        Only of this thread.
    every
        Also what was decided, has expired or was withdrawn.
    as_json
        Print the server's answer.
    """
    asked = {"tenant": tenant, "thread": thread, "state": "all" if every else "pending"}
    async with operations(environment()) as client:
        found = await read(client, "/ops/approvals", asked)
    console = _console()
    if as_json:
        console.out(json.dumps(found, indent=2), highlight=False)
        return 0
    for record in found["approvals"]:
        console.print(line(record))
    if not found["approvals"]:
        console.print(Text("Nothing waits for a decision." if not every else "Nothing was asked for."))
    return 0


@app.command
async def show(approval: str, /, *, as_json: Json = False) -> int:
    """Show one approval.

    Parameters
    ----------
    approval
        Its id, or how the id begins, as 'signalbox approvals list' prints it.
    as_json
        Print the server's answer.
    """
    async with operations(environment()) as client:
        record = await _one(client, approval)
    console = _console()
    if as_json:
        console.out(json.dumps(record, indent=2), highlight=False)
        return 0
    for text in lines(record):
        console.print(text)
    return 0


@app.command
async def approve(
    approval: str, /, *, tenant: str | None = None, user: str = "approver", reason: str | None = None
) -> int:
    """Let the call run as it was asked for.

    Parameters
    ----------
    approval
        Its id, or how the id begins.
    tenant
        Whose approver a development token is made for; by default the approval's own tenant.
    user
        Likewise, who decides.
    reason
        Why.
    """
    return await _decide(approval, {"decision": "approve", "reason": reason}, tenant=tenant, user=user)


@app.command
async def edit(
    approval: str,
    /,
    *,
    changed: Annotated[str, Parameter(name="--arguments")],
    tenant: str | None = None,
    user: str = "approver",
    reason: str | None = None,
) -> int:
    """Let the call run with other arguments.

    Parameters
    ----------
    approval
        Its id, or how the id begins.
    changed
        All arguments of the call, as a JSON object.
    tenant
        Whose approver a development token is made for; by default the approval's own tenant.
    user
        Likewise, who decides.
    reason
        Why.
    """
    body = {"decision": "edit", "arguments": _arguments(changed), "reason": reason}
    return await _decide(approval, body, tenant=tenant, user=user)


@app.command
async def reject(
    approval: str, /, *, tenant: str | None = None, user: str = "approver", reason: str | None = None
) -> int:
    """Keep the call from running; the assistant is told, with the reason.

    Parameters
    ----------
    approval
        Its id, or how the id begins.
    tenant
        Whose approver a development token is made for; by default the approval's own tenant.
    user
        Likewise, who decides.
    reason
        Why.
    """
    return await _decide(approval, {"decision": "reject", "reason": reason}, tenant=tenant, user=user)


def line(record: Record) -> Text:
    """An approval in one line: id, state, whose, what, since when."""
    when = str(record["created_at"])[:16].replace("T", " ")
    what = f"{record['tool']} {json.dumps(record['arguments'], ensure_ascii=False)}"
    kind = "proposal" if record["proposal"] and record["state"] == "pending" else record["state"]
    place = f"{record['tenant']}/{record['assistant']}"
    return Text(
        _printable(f"{record['id'][:_SHOWN]}  {kind}  {place}  {what}  {record['requester']}  {when}")
    )


def lines(record: Record) -> list[Text]:
    """An approval with everything that helps to decide, a field a line; what is empty is left out."""
    names = (
        *("id", "state", "tenant", "assistant", "release", "thread", "tool", "arguments", "requester"),
        *("role", "decisions", "created_at", "expires_at", "decided_by", "decided_at", "edited", "reason"),
        "executed_at",
    )
    return [
        Text(_printable(f"{name.replace('_', ' '):<12} {_plain(record[name])}"))
        for name in names
        if record[name] not in (None, "", [])
    ]


async def _decide(approval: str, body: Mapping[str, Any], *, tenant: str | None, user: str) -> int:
    who = principal(f"{tenant or await _owner(approval)}/{user}", {"approver"})
    async with operations(environment(), who=who) as client:
        record = await _one(client, approval)
        sent = {name: value for name, value in body.items() if value is not None}
        answer = await client.post(f"/ops/approvals/{record['id']}", json=sent)
    decided = _answered(answer)
    console = _console()
    console.print(line(decided["approval"]))
    if decided["run"] is not None:
        console.print(Text(f"Its thread goes on: run {decided['run']}."))
    if decided["result"] is not None:
        console.print(Text(f"It was carried out: {_printable(decided['result'])}"))
    return 0


async def _owner(approval: str) -> str:
    """The tenant whose approver a development token is made for; a given token says it itself."""
    if environment().get("SIGNALBOX_TOKEN"):
        return PLATFORM
    async with operations(environment()) as client:
        return (await _one(client, approval))["tenant"]


async def _one(client: httpx.AsyncClient, identity: str) -> Record:
    """The approval of that id, or the only one whose id begins so."""
    if len(identity) >= 64:
        return (await read(client, f"/ops/approvals/{quote(identity, safe='')}", {}))["approval"]
    found = await read(client, "/ops/approvals", {"state": "all", "limit": 1000})
    matching = [record for record in found["approvals"] if record["id"].startswith(identity)]
    if len(matching) != 1:
        how = "No approval" if not matching else f"More than one approval ({len(matching)})"
        raise OperationRefused(
            f"{how} has an id that begins with {identity!r}; see 'signalbox approvals list'."
        )
    return matching[0]


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise SignalboxError(
            f'--arguments is {text!r}; expected a JSON object such as \'{{"order": 1001, "amount": 120}}\'.'
        )
    return cast("Mapping[str, Any]", found)


def _answered(answer: httpx.Response) -> dict[str, Any]:
    try:
        found = cast("dict[str, Any]", answer.json())
        if answer.is_success:
            return found
        detail = found.get("detail")
    except (ValueError, AttributeError):
        detail = None
    raise OperationRefused(f"{answer.status_code}: {detail or 'it gave no reason.'}")


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _printable(text: str) -> str:
    """The text with whatever could steer a terminal written as an escape: a model chose parts of it."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def _console() -> Console:
    return Console(soft_wrap=True, highlight=False)
