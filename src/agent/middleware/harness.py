"""The harness: all concerns as one middleware, the first outermost.

LangChain wraps every hook of every middleware for tracing, which costs two changes of thread a hook and call
whether anything is traced or not (docs/benchmarks); one middleware with everything inside pays that once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, cast

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ExtendedModelResponse
from langchain_core.messages import ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from agent.compaction.summariser import ModelSummariser, Summariser
from agent.context import AgentContext
from agent.history.results import LedgerResults
from agent.ledger import Ledger
from agent.middleware.admission import Admission
from agent.middleware.compaction import Compaction, CompactionState
from agent.middleware.guard import ToolGuard
from agent.middleware.history import History
from agent.middleware.limits import TurnLimits
from agent.middleware.model import AssistantModel
from agent.models import Models
from agent.tools.registry import Registry

Concern = AgentMiddleware[Any, AgentContext]
Update = tuple[str, Any]
AskModel = Callable[[ModelRequest[AgentContext]], Awaitable[ModelResponse[Any]]]
RunTool = Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]


class Harness(AgentMiddleware[Any, AgentContext]):
    """Keeps an agent within policy, history, budget and approval, whatever the model says.

    Args:
        registry: The deployment's tools.
        models: Its model clients.
        ledger: Its ledger.
        summariser: Condenses what no longer fits: the run's own model unless another is given; without any
            (`None`) what does not fit is counted and left out.
        outer: Further concerns, outside the guard.
    """

    state_schema = CompactionState

    def __init__(
        self,
        registry: Registry,
        models: Models,
        ledger: Ledger,
        *,
        summariser: Summariser | Literal["model"] | None = "model",
        outer: Sequence[Concern] = (),
    ) -> None:
        super().__init__()
        concerns: list[Concern] = [
            Admission(),
            History(registry, LedgerResults(ledger)),
            *outer,
            ToolGuard(registry, ledger),
            AssistantModel(models, ledger),
            TurnLimits(),
            Compaction(ModelSummariser(models) if summariser == "model" else summariser),
        ]
        self._asking = [one.awrap_model_call for one in concerns if _has(one, "awrap_model_call")]
        self._running = [one.awrap_tool_call for one in concerns if _has(one, "awrap_tool_call")]

    async def awrap_model_call(
        self, request: ModelRequest[AgentContext], handler: AskModel
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Ask the model through every concern; what they write into the state comes with the answer."""
        response, updates = await self._ask(0, request, handler)
        if not updates:
            return response
        return ExtendedModelResponse(model_response=response, command=Command(update=updates))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: RunTool) -> ToolMessage | Command[Any]:
        """Run a tool through every concern."""
        return await self._run(0, request, handler)

    async def _ask(
        self, place: int, request: ModelRequest[AgentContext], handler: AskModel
    ) -> tuple[ModelResponse[Any], list[Update]]:
        if place == len(self._asking):
            return await handler(request), []
        inner: list[Update] = []

        async def then(asked: ModelRequest[AgentContext]) -> ModelResponse[Any]:
            response, made = await self._ask(place + 1, asked, handler)
            inner[:] = made  # of several attempts the last one counts
            return response

        result: Any = await self._asking[place](request, then)
        if isinstance(result, ExtendedModelResponse):
            made = [*inner, *_updates(result.command)]
            return cast("ModelResponse[Any]", result.model_response), made
        return result, inner

    async def _run(
        self, place: int, request: ToolCallRequest, handler: RunTool
    ) -> ToolMessage | Command[Any]:
        if place == len(self._running):
            return await handler(request)

        async def then(asked: ToolCallRequest) -> ToolMessage | Command[Any]:
            return await self._run(place + 1, asked, handler)

        return await self._running[place](request, then)


def _has(concern: Concern, hook: str) -> bool:
    return getattr(type(concern), hook) is not getattr(AgentMiddleware, hook)


def _updates(command: Command[Any] | None) -> list[Update]:
    update: Any = command.update if command is not None else None
    return [*update.items()] if isinstance(update, dict) else [*(update or ())]
