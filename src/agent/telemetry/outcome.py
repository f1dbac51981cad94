"""How something ended: a code and an error's type, never a word of what was said."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from typing import cast

from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp, GraphInterrupt

OTHER = "_OTHER"
"""What OpenTelemetry's conventions put for a value outside of the expected ones."""

_IDENTIFIER = re.compile(r"[A-Za-z0-9._:/@+-]{1,128}")
_CODE = re.compile(r'{"error": ?"([a-z][a-z_]{0,39})"')


@dataclass(frozen=True, slots=True)
class Outcome:
    """`code` is one word, such as `ok`; `error` is an error's type, `None` where nothing failed."""

    code: str
    error: str | None = None


OK = Outcome("ok")
INTERRUPTED = Outcome("interrupted")
CANCELLED = Outcome("cancelled")


def of_exception(error: BaseException) -> Outcome:
    """The outcome of what raised `error`.

    An interrupt waits for a person and a cancelled run was told to end: neither is an error.
    """
    if isinstance(error, GraphInterrupt):
        return INTERRUPTED
    if isinstance(error, GraphBubbleUp):  # a hand-off to another graph
        return OK
    if isinstance(error, asyncio.CancelledError | GeneratorExit):
        return CANCELLED
    return Outcome("error", type_name(type(error)))


def of_result(message: ToolMessage | None) -> Outcome:
    """The outcome of a tool call that was answered with `message`.

    The harness answers what it did not execute, or what failed, with the status `error` and with JSON whose
    first field is `"error": "<code>"`; a result that merely looks like that has another status. Where a
    person changed the arguments, that JSON stands under `result`.
    """
    if message is None or message.status != "error":
        return OK
    found = _CODE.match(message.text) or _CODE.match(_reviewed(message.text))
    code = found[1] if found else "error"
    return Outcome(code, code)


def _reviewed(text: str) -> str:
    try:
        told: object = json.loads(text)
    except ValueError:
        return ""
    return json.dumps(cast("dict[str, object]", told).get("result")) if isinstance(told, dict) else ""


def type_name(kind: type[BaseException]) -> str:
    """`package.module.Name`; built-in types without their module."""
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def identifier(value: str) -> str:
    """`value` where it looks like an id or a name, else `_OTHER`: what others chose may hold sentences."""
    return value if _IDENTIFIER.fullmatch(value) else OTHER
