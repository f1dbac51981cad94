"""The tool guard: what the model may see, and how a call is executed.

`wrap_model_call` shows the model the policy's tools only. `wrap_tool_call` asks the same policy again, checks
the arguments against the schema, and runs the tool within its timeout; whatever goes wrong becomes a tool
message that the model can act on, so each call id gets exactly one result and no tool can end a run.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command
from pydantic import ValidationError

from agent.context import AgentContext
from agent.errors import RunRefused, ToolFailure
from agent.history.calls import UNREADABLE
from agent.middleware.admission import admitted, call_context, context_of
from agent.policy import Denial, Policy
from agent.tools.registry import Registry, Tool, ToolCall

logger = logging.getLogger(__name__)

_CALL: ContextVar[ToolCall] = ContextVar("signalbox_tool_call")


class ToolGuard(AgentMiddleware[Any, AgentContext]):
    """Applies the run's policy to what the model sees and to what is executed."""

    def __init__(self, registry: Registry) -> None:
        super().__init__()
        self._registry = registry

    async def awrap_model_call(
        self,
        request: ModelRequest[AgentContext],
        handler: Callable[[ModelRequest[AgentContext]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Show the model the policy's tools only."""
        wires = Policy.of(context_of(request.runtime), self._registry).wires
        shown = [tool for tool in request.tools if isinstance(tool, BaseTool) and tool.name in wires]
        return await handler(request.override(tools=[*shown]))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Judge the call, run it, and give back exactly one result."""
        name, arguments = request.tool_call["name"], request.tool_call["args"]
        policy = Policy.of(call_context(request), self._registry)
        tool = policy.find(name)
        denial = policy.denial(name, arguments) if tool is None else _judge(policy, tool, arguments)
        if denial is not None:
            logger.info("tool call not executed", extra={"code": denial.code, "tool": name})
        if denial is not None or tool is None:
            return _refusal(request, denial or Denial("tool_denied", f"There is no tool {name!r} here."))
        with _calling(request):
            return await _execute(tool, request, handler)


def served(registry: Registry) -> list[BaseTool]:
    """The registry as LangChain tools, for the graph's tool node."""
    return [_adapt(tool) for tool in registry]


@contextmanager
def _calling(request: ToolCallRequest) -> Generator[None]:
    """The facts of the call for the tool that runs inside, from the stamped context only."""
    context = call_context(request)
    key = admitted(context)
    call = ToolCall(
        tenant=context.tenant,
        principal=context.stamp.principal if context.stamp else "",
        thread=key.thread,
        call_id=request.tool_call["id"] or "",
    )
    token = _CALL.set(call)
    try:
        yield
    finally:
        _CALL.reset(token)


def _adapt(tool: Tool) -> BaseTool:
    async def run(**arguments: Any) -> str:  # noqa: ANN401 - by the tool's schema
        call = _CALL.get(None)
        if call is None:
            raise RunRefused(f"Tool {tool.name!r} runs behind the guard only.")
        if tool.call_argument is not None:
            arguments[tool.call_argument] = call
        return _text(await tool.run(**arguments), tool.output_cap)

    return StructuredTool(
        name=tool.wire, description=tool.description, args_schema=tool.arguments, coroutine=run
    )


def _judge(policy: Policy, tool: Tool, arguments: dict[str, Any]) -> Denial | None:
    if UNREADABLE in arguments:
        return Denial(
            "arguments_unreadable",
            f"{tool.name}: the arguments were not valid JSON, so nothing was executed. Call it again with a "
            "JSON object that fits the schema.",
        )
    try:
        tool.arguments.model_validate(arguments)
    except ValidationError as error:
        return Denial("arguments_invalid", f"{tool.name} was not executed. {_faults(error)}")
    denial = policy.denial(tool.wire, arguments)
    if denial is not None and denial.code == "argument_denied" and policy.context.policy_mode == "shadow":
        logger.warning("policy would deny", extra={"code": denial.code, "tool": tool.name})
        return policy.unapproved(tool, arguments)
    return denial


async def _execute(
    tool: Tool,
    request: ToolCallRequest,
    handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
) -> ToolMessage | Command[Any]:
    try:
        async with asyncio.timeout(tool.timeout):
            return await handler(request)
    except GraphBubbleUp:
        raise  # an interrupt is not a failure
    except ToolFailure as failure:
        return _refusal(request, Denial(failure.code, failure.detail))
    except TimeoutError:
        text = f"{tool.name} did not finish within {tool.timeout:g} s; its outcome is unknown."
        return _refusal(request, Denial("tool_timeout", text))
    except Exception:  # whatever a tool raises must not end the run
        logger.exception("tool failed", extra={"tool": tool.name})
        text = f"{tool.name} failed; its outcome is unknown. Do not guess a result."
        return _refusal(request, Denial("tool_failed", text))


def _refusal(request: ToolCallRequest, denial: Denial) -> ToolMessage:
    return ToolMessage(
        content=json.dumps({"error": denial.code, "message": denial.text}, ensure_ascii=False),
        name=request.tool_call["name"],
        tool_call_id=request.tool_call["id"] or "",
        status="error",
    )


def _faults(error: ValidationError) -> str:
    found: Sequence[str] = [
        f"{'.'.join(str(part) for part in fault['loc']) or 'arguments'}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    return "; ".join(found[:5]) + "."


def _text(value: object, cap: int) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if len(text) <= cap:
        return text
    half = cap // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
