"""Admission: no model call and no tool call without the door's stamp.

Both hooks check, because a forged command or a state write can start a run at the tools.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest, ToolRuntime
from langgraph.runtime import Runtime
from langgraph.types import Command

from agent.context import AgentContext
from agent.errors import RunRefused
from agent.ledger import Turn
from agent.limits import question
from agent.stamp import RunKey, run_key, secret_from, stateless, verify

_REMEMBERED: Final = 256  # runs under way in one process, generously


@dataclass(frozen=True, slots=True)
class Admitted:
    """A run that the server let in: its verified context and the ids that it was let in under.

    `waits` says whether somebody can answer a question of it: not a schedule's, and not one without a thread
    of its own, whose state is gone when it ends. `principal` is `tenant/user`.
    """

    context: AgentContext
    key: RunKey
    principal: str
    waits: bool


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


class _Verified:
    """Runs whose stamp was found good. A context is one frozen object for all steps of its run."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._runs: OrderedDict[int, Admitted] = OrderedDict()

    def find(self, context: AgentContext, key: RunKey) -> Admitted | None:
        found = self._runs.get(id(context))
        return found if found is not None and found.context is context and found.key == key else None

    def add(self, run: Admitted) -> Admitted:
        self._runs[id(run.context)] = run
        while len(self._runs) > self._most:
            self._runs.popitem(last=False)
        return run


_verified = _Verified(_REMEMBERED)


def admitted(context: AgentContext) -> Admitted:
    """The current run, as the server let it in with `context`.

    Raises:
        RunRefused: There is no stamp, or a stamp for something else.
    """
    key = run_key(get_config().get("configurable", {}))
    return _verified.find(context, key) or _verified.add(_verify(context, key))


def turn_of(run: Admitted, messages: Sequence[AnyMessage], *, now: datetime) -> Turn:
    """The turn that a run works on: the newest person's message, or the run where nobody can answer it."""
    asked = question(messages) if run.waits else None
    return Turn.of(run.context, thread=run.key.thread, message=asked, run=run.key.run, now=now)


def _verify(context: AgentContext, key: RunKey) -> Admitted:
    secret = secret_from()
    stamp = verify(context, key, secret=secret)
    waits = not stamp.unattended and not stateless(context, key, secret=secret)
    return Admitted(context=context, key=key, principal=stamp.principal, waits=waits)
