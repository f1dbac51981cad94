"""What a tool call may tell: which tool, whether it was executed, how it ended.

The graph runs each call in a task of its own, so a call is seen there whether or not the policy lets it reach
its tool.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from langchain_core.messages import ToolMessage
from langgraph.types import Command

from agent.telemetry.outcome import OTHER, identifier

EXECUTED = "signalbox.tool.executed"
"""Whether the call reached its tool."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: the tool's name (`_OTHER` where the model made one up) and the call's id."""

    tool: str
    id: str

    def attributes(self) -> dict[str, str]:
        """What its span tells from the beginning."""
        told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": self.tool}
        return told | ({"gen_ai.tool.call.id": identifier(self.id)} if self.id else {})


def only_call(given: object, *, tools: Collection[str]) -> Call | None:
    """The tool call that a node's task is for; `None` for every other task.

    Args:
        given: The task's input.
        tools: Wire names that may be told; a name that a model made up may hold anything.
    """
    several = cast("list[object]", given) if isinstance(given, list) else [given]
    made = _call(several[0]) if len(several) == 1 else None
    if made is None:
        return None
    name = str(made.get("name"))
    return Call(name if name in tools else OTHER, str(made.get("id") or ""))


def _call(value: object) -> Mapping[str, object] | None:
    if not isinstance(value, Mapping):
        return None
    fields = cast("Mapping[str, object]", value)
    if fields.get("__type") == "tool_call_with_context":
        return _call(fields.get("tool_call"))
    return fields if fields.get("type") == "tool_call" else None


def result_of(call_id: str, output: object) -> ToolMessage | None:
    """The message that answers a call, from whatever its task gave back."""
    return next((message for message in _messages(output) if message.tool_call_id == call_id), None)


def _messages(output: object) -> Iterator[ToolMessage]:
    if isinstance(output, ToolMessage):
        yield output
    elif isinstance(output, Command):
        yield from _messages(cast("Command[object]", output).update)
    elif isinstance(output, Mapping):
        yield from _messages(cast("Mapping[str, object]", output).get("messages"))
    elif isinstance(output, list | tuple):
        for one in cast("list[object]", output):
            yield from _messages(one)
