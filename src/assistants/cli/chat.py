"""`signalbox chat`: talk to an assistant from the terminal, with its steps and tool calls shown."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from rich.console import Console
from rich.text import Text

from assistants.cli import credential
from assistants.cli.project import environment
from assistants.errors import SignalboxError
from assistants.identity import assistant_id
from assistants.principal import principal

Kind = Literal["token", "step", "call", "result", "approval", "error"]

_INTERRUPTS = "__interrupt__"  # the name under which langgraph streams what a run waits for
_ID_SHOWN = 12  # digits of an approval's id; the command takes its beginning
_RESULT_SHOWN = 400  # characters of a tool's result that the terminal shows


@dataclass(frozen=True, slots=True)
class Shown:
    """One thing to show: a piece of the answer, a step, a tool call, its result, a question, or an error."""

    kind: Kind
    text: str


def shown(event: str, data: Any) -> list[Shown]:  # noqa: ANN401 - the shape depends on the event
    """What one server event (stream modes `messages-tuple` and `updates`) means for the person who waits."""
    if event == "error":
        return [Shown("error", str(data.get("message") or data.get("error") or data))]
    if event == "messages":
        message = cast("Mapping[str, Any]", data[0])
        text = message.get("content")
        streamed = message.get("type") == "AIMessageChunk" and isinstance(text, str) and text
        return [Shown("token", str(text))] if streamed else []
    if event == "updates":
        return [part for node, update in data.items() for part in _step(node, update)]
    return []


def _step(node: str, update: object) -> list[Shown]:
    if node == _INTERRUPTS:
        return [_question(one) for one in cast("Sequence[Mapping[str, Any]]", update)]
    found = [Shown("step", node)]
    fields = cast("Mapping[str, Any]", update if isinstance(update, Mapping) else {})
    messages: Sequence[Mapping[str, Any]] = fields.get("messages") or ()
    for message in messages:
        if message.get("type") == "tool":
            found.append(Shown("result", f"{message.get('name')}: {_short(str(message.get('content')))}"))
        calls: Sequence[Mapping[str, Any]] = message.get("tool_calls") or ()
        for call in calls:
            arguments = json.dumps(call.get("args"), ensure_ascii=False)
            found.append(Shown("call", f"{call.get('name')} {arguments}"))
    return found


def _question(interrupt: Mapping[str, Any]) -> Shown:
    """What waits for a person, and how it is answered; another program's interrupt is shown as it is."""
    value: Any = interrupt.get("value")
    try:
        asked, record = value["action_requests"][0], value["approval"]
        arguments = json.dumps(asked["args"], ensure_ascii=False)
        identity, by = str(record["id"])[:_ID_SHOWN], record["by"]
    except (KeyError, IndexError, TypeError):
        return Shown("approval", f"waits for: {_short(json.dumps(value, ensure_ascii=False, default=str))}")
    how = f"signalbox approvals approve {identity}"
    return Shown("approval", f"{asked['name']} {arguments} waits for the role {by}: {how}")


def _short(text: str) -> str:
    return text if len(text) <= _RESULT_SHOWN else f"{text[:_RESULT_SHOWN]}…"


async def chat(assistant: str, message: str | None = None, /, *, user: str = "you") -> int:
    """Talk to an assistant.

    Parameters
    ----------
    assistant
        tenant/name, as 'signalbox ids' prints it.
    message
        One question; without it a conversation until the input ends.
    user
        Who asks, where a development token is made for it.
    """
    tenant, separator, name = assistant.partition("/")
    if not separator or not name:
        raise SignalboxError(f"{assistant!r} is not of the form tenant/name; see 'signalbox ids'.")
    values = environment()
    bearer = credential.token(principal(f"{tenant}/{user}", {"user"}), values)
    headers = {"Authorization": f"Bearer {bearer}"}
    client = get_client(url=credential.url(values), api_key=None, headers=headers)
    console = Console(soft_wrap=True, highlight=False)
    return await converse(client, str(assistant_id(tenant, name)), message, console)


async def turn(client: LangGraphClient, assistant: str, thread: str, message: str) -> AsyncIterator[Shown]:
    """One message to the assistant and everything that comes back, as it comes."""
    stream = client.runs.stream(
        thread,
        assistant,
        input={"messages": [{"role": "user", "content": message}]},
        stream_mode=["messages-tuple", "updates"],
        on_disconnect="cancel",
    )
    async for part in stream:
        for item in shown(part.event, part.data):
            yield item


async def converse(client: LangGraphClient, assistant: str, first: str | None, console: Console) -> int:
    """One question, or a conversation on one thread until the input ends.

    Returns:
        The exit code: 0, or 1 when a turn failed.
    """
    thread = str((await client.threads.create())["thread_id"])
    if first is not None:
        return await _show_turn(client, assistant, thread, first, console)
    failed = 0
    while (message := await asyncio.to_thread(_ask, console)) is not None:
        if message.strip():
            failed |= await _show_turn(client, assistant, thread, message, console)
    return failed


def _ask(console: Console) -> str | None:
    try:
        return console.input("[bold]you[/bold] ") if sys.stdin.isatty() else input()
    except EOFError:
        return None


async def _show_turn(
    client: LangGraphClient, assistant: str, thread: str, message: str, console: Console
) -> int:
    failed, writing = 0, False
    async for item in turn(client, assistant, thread, message):
        if item.kind == "token":
            console.print(Text(item.text), end="")
        else:
            console.print(Text("\n" if writing else ""), end="")
            console.print(Text(_LABEL[item.kind] + item.text, style=_STYLE[item.kind]))
        writing = item.kind == "token"
        failed |= item.kind == "error"
    if writing:
        console.print()
    return int(failed)


_LABEL: Mapping[Kind, str] = {"step": "· ", "call": "→ ", "result": "← ", "approval": "? ", "error": "! "}
_STYLE: Mapping[Kind, str] = {
    "step": "dim",
    "call": "cyan",
    "result": "green",
    "approval": "yellow",
    "error": "red",
}
