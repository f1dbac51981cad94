"""The execution of one tool call: within its timeout, with the facts of its run, always with one result."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.tools import BaseTool, StructuredTool
from langgraph.errors import GraphBubbleUp

from agent.errors import RunRefused, ToolFailure
from agent.history.text import sound
from agent.policy import Denial
from agent.tools.registry import Registry, Tool, ToolCall

logger = logging.getLogger(__name__)

OK: Final = "ok"

_CALL: ContextVar[ToolCall | None] = ContextVar("signalbox_tool_call", default=None)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended: `code` is `ok` or says why not, `text` is what the model reads, whole."""

    code: str
    text: str

    @classmethod
    def refused(cls, denial: Denial) -> Ended:
        """A call that was not executed, or failed, in the form that the model reads."""
        told = {"error": denial.code, "message": denial.text}
        return cls(denial.code, sound(json.dumps(told, ensure_ascii=False)))


@contextmanager
def calling(call: ToolCall) -> Generator[None]:
    """The facts of the call for the tool that runs inside."""
    token = _CALL.set(call)
    try:
        yield
    finally:
        _CALL.reset(token)


async def execute(tool: Tool, call: ToolCall, run: Callable[[], Awaitable[str]]) -> Ended:
    """Run a tool; whatever goes wrong becomes a result that the model can act on.

    Args:
        tool: What runs.
        call: The facts of the call.
        run: Runs it and gives its text.

    Raises:
        GraphBubbleUp: The tool interrupted the run, which is no failure.
        CancelledError: The run is cancelled; a tool that cancels only itself has failed.
    """
    before = _cancels()
    try:
        with calling(call):
            async with asyncio.timeout(tool.timeout):
                return Ended(OK, sound(await run()))
    except GraphBubbleUp:
        raise
    except asyncio.CancelledError:
        if _cancels() > before:
            raise
        text = f"{tool.name} stopped itself; its outcome is unknown. Do not guess a result."
        denial = Denial("tool_failed", text)
    except ToolFailure as failure:
        denial = Denial(failure.code, failure.detail)
    except TimeoutError:
        text = f"{tool.name} did not finish within {tool.timeout:g} s; its outcome is unknown."
        denial = Denial("tool_timeout", text)
    except Exception:  # whatever a tool raises must not end the run
        logger.exception("tool failed", extra={"tool": tool.name})
        text = f"{tool.name} failed; its outcome is unknown. Do not guess a result."
        denial = Denial("tool_failed", text)
    return Ended.refused(denial)


def _cancels() -> int:
    """How often somebody has asked for this task's end."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


async def perform(tool: Tool, arguments: Mapping[str, Any], call: ToolCall) -> str:
    """The text that a tool gives for arguments that its schema accepts.

    Raises:
        Exception: Whatever the tool raises.
    """
    parsed = tool.arguments.model_validate(arguments)
    given = {name: getattr(parsed, name) for name in tool.arguments.model_fields}
    return await _run(tool, call, given)


def served(registry: Registry) -> list[BaseTool]:
    """The registry as LangChain tools, for a graph's tool node."""
    return [_adapt(tool) for tool in registry]


def _adapt(tool: Tool) -> BaseTool:
    async def run(**arguments: Any) -> str:  # noqa: ANN401 - by the tool's schema
        call = _CALL.get()
        if call is None:
            raise RunRefused(f"Tool {tool.name!r} runs behind the guard only.")
        return await _run(tool, call, arguments)

    return StructuredTool(
        name=tool.wire, description=tool.description, args_schema=tool.arguments, coroutine=run
    )


async def _run(tool: Tool, call: ToolCall, arguments: dict[str, Any]) -> str:
    if tool.call_argument is not None:
        arguments = {**arguments, tool.call_argument: call}
    result = await tool.run(**arguments)
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
