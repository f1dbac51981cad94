"""A chat completion request, read from JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from agent.offline.history import FUNCTION_NAME
from agent.offline.history import problems as history_problems
from agent.offline.refusal import Refusal
from agent.offline.shape import Record, entries, record, records


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """What the client wants called: `auto`, `none`, `required`, or the one function in `name`."""

    mode: Literal["auto", "none", "required", "named"] = "auto"
    name: str = ""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """The fields of a request that this server reads; `body` is the whole of it.

    `max_tokens` holds `max_completion_tokens` or `max_tokens`, `None` without a limit.
    """

    body: Record
    model: str
    messages: list[Record]
    tools: list[Record]
    tool_choice: ToolChoice
    response_format: Record | None
    stream: bool
    include_usage: bool
    parallel: bool
    max_tokens: int | None

    def tool_names(self) -> list[str]:
        """Names of the offered functions, in their order."""
        return [str(tool["function"]["name"]) for tool in self.tools]


def parse(body: object) -> ChatRequest | Refusal:
    """Read a request's JSON; the shape is checked here, its message history by `problems`."""
    fields = record(body)
    if fields is not body:
        return Refusal("The request body must be a JSON object.")
    refusal = _shape(fields)
    if refusal is not None:
        return refusal
    return ChatRequest(
        body=fields,
        model=fields["model"],
        messages=fields["messages"],
        tools=fields.get("tools") or [],
        tool_choice=_choice(fields.get("tool_choice")) or ToolChoice(),
        response_format=fields.get("response_format"),
        stream=bool(fields.get("stream")),
        include_usage=bool(record(fields.get("stream_options")).get("include_usage")),
        parallel=fields.get("parallel_tool_calls") is not False,
        max_tokens=fields.get("max_completion_tokens") or fields.get("max_tokens"),
    )


def problems(request: ChatRequest) -> list[str]:
    """What a strict endpoint would refuse: the message history, and names of offered tools."""
    names = request.tool_names()
    found = [
        f"tools: function name {name!r} does not match ^[a-zA-Z0-9_-]{{1,64}}$"
        for name in names
        if not FUNCTION_NAME.fullmatch(name)
    ]
    found += [f"tools: function name {name!r} is offered twice" for name in _repeated(names)]
    return history_problems(request.messages) + found


def refuse(found: Iterable[str]) -> Refusal | None:
    """The refusal that names the problems, `None` without any."""
    text = "; ".join(found)
    return Refusal(f"Invalid request: {text}.", param="messages") if text else None


def _shape(fields: Record) -> Refusal | None:
    if not isinstance(fields.get("model"), str) or not fields["model"]:
        return Refusal("You must provide a model parameter.", param="model")
    if not _objects(fields.get("messages")):
        return Refusal("'messages' must be a list of at least one message object.", param="messages")
    if fields.get("n") not in (None, 1):
        return Refusal("'n' must be 1: one choice is given for each request.", param="n")
    if fields.get("stream_options") is not None and not fields.get("stream"):
        return Refusal("'stream_options' is only allowed when 'stream' is true.", param="stream_options")
    for name in ("max_completion_tokens", "max_tokens"):
        limit = fields.get(name)
        if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
            return Refusal(f"{name!r} must be a positive integer, not {limit!r}.", param=name)
    return _tools(fields) or _format(fields.get("response_format"))


def _tools(fields: Record) -> Refusal | None:
    tools = fields.get("tools")
    if tools is not None and not (_objects(tools) and all(_function(tool) for tool in tools)):
        return Refusal(
            "'tools' must be a list of {'type': 'function', 'function': {'name': …}} objects; "
            "leave it out to offer none.",
            param="tools",
        )
    choice = _choice(fields.get("tool_choice"))
    if choice is None:
        return Refusal(
            f"'tool_choice' {fields.get('tool_choice')!r} is not 'auto', 'none', 'required' or a function.",
            param="tool_choice",
        )
    if choice.mode in ("required", "named") and not tools:
        return Refusal("'tool_choice' is only allowed when 'tools' are specified.", param="tool_choice")
    if choice.mode == "named" and choice.name not in [tool["function"]["name"] for tool in records(tools)]:
        return Refusal(
            f"'tool_choice' names {choice.name!r}, which is not among the tools.", param="tool_choice"
        )
    return None


def _format(wanted: object) -> Refusal | None:
    if wanted is None:
        return None
    kind = record(wanted).get("type")
    if kind not in ("text", "json_object", "json_schema"):
        return Refusal(f"'response_format' type {kind!r} is unknown.", param="response_format")
    if kind == "json_schema" and not isinstance(
        record(record(wanted).get("json_schema")).get("schema"), dict
    ):
        return Refusal("'response_format' needs json_schema.schema, a JSON schema.", param="response_format")
    return None


def _choice(wanted: object) -> ToolChoice | None:
    if wanted is None:
        return ToolChoice()
    if wanted in ("auto", "none", "required"):
        return ToolChoice(wanted)
    return ToolChoice("named", name=record(wanted)["function"]["name"]) if _function(wanted) else None


def _function(value: object) -> bool:
    entry = record(value)
    return entry.get("type") == "function" and isinstance(record(entry.get("function")).get("name"), str)


def _objects(value: object) -> bool:
    return bool(entries(value)) and len(records(value)) == len(entries(value))


def _repeated(names: list[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})
