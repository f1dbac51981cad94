"""`signalbox thread repair`: free a thread that waits for an answer which nobody can give any more."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final, cast

from cyclopts import App, Parameter
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError, UnprocessableEntityError
from rich.console import Console
from rich.text import Text

from assistants.cli import credential
from assistants.cli.project import environment
from assistants.errors import SignalboxError
from assistants.principal import PLATFORM, principal

app = App(name="thread", help="Free a thread that nobody can answer any more.")

_MODEL: Final = "model"  # the node whose tool calls are asked about; what comes after it runs afresh

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a thread has stopped.

    `next` are the nodes that are to run, `interrupts` the ids under which the thread waits, `answerable` the
    approvals that can be answered.
    """

    busy: bool
    next: tuple[str, ...]
    interrupts: tuple[str, ...]
    answerable: tuple[str, ...]


def stop(thread: Json, state: Json, approvals: Sequence[Json], *, release: str) -> Stop:
    """Where the thread has stopped, from the server's answers; `release` is what its assistant serves now."""
    tasks: Mapping[str, Sequence[Json]] = thread.get("interrupts") or {}
    told: Sequence[Json] = state.get("interrupts") or ()
    ids = dict.fromkeys(str(one["id"]) for group in (*tasks.values(), told) for one in group)
    return Stop(
        busy=thread["status"] == "busy",
        next=tuple(state.get("next") or ()),
        interrupts=tuple(ids),
        answerable=tuple(
            str(record["id"])
            for record in approvals
            if (record["state"], record["release"]) == ("pending", release) and record["interrupt"] in ids
        ),
    )


def healthy(found: Stop) -> str | None:
    """Why the thread needs no repair, or `None`."""
    if found.busy:
        return "A run is under way on it; wait for its end, or cancel it."
    if not found.next and not found.interrupts:
        return "It waits for nothing; send a message."
    if found.answerable and len(found.answerable) == len(found.interrupts):
        ids = ", ".join(found.answerable)
        return f"It waits for a decision that can be taken: 'signalbox approvals show' {ids}."
    return None


@app.command
async def repair(thread: str, /, *, force: Annotated[bool, Parameter(negative="")] = False) -> int:
    """Ask afresh for what a thread waits for, where the old question can't be answered any more.

    The thread goes back to the model's last answer, and its calls are judged again: by today's release, with
    new approvals where they are needed. Nothing is executed that was not approved.

    Parameters
    ----------
    thread
        The thread's id.
    force
        Also where the question seems to be answerable.
    """
    console = Console(soft_wrap=True, highlight=False)
    async with _operator() as client:
        found = await _look(client, thread)
        waiting = ", ".join(found.interrupts) or "nothing"
        console.print(Text(f"Thread {thread} waits for {waiting}; {len(found.answerable)} can be answered."))
        reason = healthy(found)
        if reason is not None and not (force and found.next and not found.busy):
            console.print(Text(f"Nothing was done. {reason}"))
            return 0
        await client.threads.update_state(thread, values=None, as_node=_MODEL)
        console.print(Text("It was taken back to the model's last answer and goes on."))
        await _go_on(client, thread)
        return _told(console, await _look(client, thread))


async def _go_on(client: LangGraphClient, thread: str) -> None:
    run = await client.runs.create(thread, _assistant(await _thread(client, thread)), input=None)
    await client.runs.join(thread, run["run_id"])


def _told(console: Console, after: Stop) -> int:
    if after.answerable:
        for approval in after.answerable:
            console.print(Text(f"It asks afresh: signalbox approvals show {approval}"))
        return 0
    if after.next:
        console.print(Text("It has stopped again without a question; see the server's log.", style="red"))
        return 1
    console.print(Text("It waits for nothing any more; send a message."))
    return 0


async def _look(client: LangGraphClient, thread: str) -> Stop:
    found = await _thread(client, thread)
    state: Json = {}
    if found.get("values"):  # a thread that nothing ran on has no state to ask for
        state = cast("Json", await client.threads.get_state(thread))
    asked = {"thread": thread, "limit": 1000}
    approvals = cast("Json", await client.http.get("/ops/approvals", params=asked))
    release = await _release(client, _assistant(found))
    return stop(found, state, approvals["approvals"], release=release)


async def _release(client: LangGraphClient, assistant: str) -> str:
    """The release that an assistant serves now; empty where there is none, or it has left the catalog."""
    if not assistant:
        return ""
    try:
        found = cast("Json", await client.assistants.get(assistant))
    except (NotFoundError, UnprocessableEntityError):
        return ""
    metadata: Json = found.get("metadata") or {}
    return str(metadata.get("release") or "")


async def _thread(client: LangGraphClient, thread: str) -> Json:
    try:
        return cast("Json", await client.threads.get(thread))
    except (NotFoundError, UnprocessableEntityError):
        raise SignalboxError(f"There is no thread {thread!r}.") from None


def _assistant(thread: Json) -> str:
    """The id of the assistant that last ran on a thread."""
    metadata: Json = thread.get("metadata") or {}
    return str(metadata.get("assistant_id") or "")


@asynccontextmanager
async def _operator() -> AsyncGenerator[LangGraphClient]:
    values = environment()
    bearer = credential.token(principal(f"{PLATFORM}/cli", {"operator"}), values)
    headers = {"Authorization": f"Bearer {bearer}"}
    client = get_client(url=credential.url(values), api_key=None, headers=headers)
    try:
        yield client
    finally:
        await client.aclose()
