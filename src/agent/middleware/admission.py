"""Admission: no model call and no tool call without the door's stamp.

Both hooks check, because a forged command or a state write can start a run at the tools.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import ToolMessage
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest, ToolRuntime
from langgraph.runtime import Runtime
from langgraph.types import Command

from agent.context import AgentContext
from agent.errors import RunRefused
from agent.stamp import RunKey, run_key, secret_from, verify


class Admission(AgentMiddleware[Any, AgentContext]):
    """Refuses to run anything for a context that the server did not stamp for this very run."""

    async def awrap_model_call(
        self,
        request: ModelRequest[AgentContext],
        handler: Callable[[ModelRequest[AgentContext]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Verify, then call the model."""
        admitted(context_of(request.runtime))
        return await handler(request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Verify, then go on to the tool."""
        admitted(call_context(request))
        return await handler(request)


def context_of(runtime: Runtime[Any] | ToolRuntime[Any, Any]) -> AgentContext:
    """The context that the run brought.

    Raises:
        RunRefused: The run has none, as when it was started by graph name.
    """
    context: object = runtime.context
    if not isinstance(context, AgentContext) or not context.tenant:
        raise RunRefused("This run has no assistant behind it; run one of the assistants of the catalog.")
    return context


def call_context(request: ToolCallRequest) -> AgentContext:
    """The context of the run that a tool call belongs to.

    Raises:
        RunRefused: The run has none.
    """
    return context_of(cast("ToolRuntime[Any, Any]", request.runtime))


def admitted(context: AgentContext) -> RunKey:
    """The ids under which the current run was admitted with `context`.

    Raises:
        RunRefused: There is no stamp, or a stamp for something else.
    """
    key = run_key(get_config().get("configurable", {}))
    verify(context, key, secret=secret_from())
    return key
