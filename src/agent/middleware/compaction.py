"""Compaction around the model: what is sent fits the assistant's limit, the thread keeps everything.

Checked before every model call, also inside a long loop of tools, over everything that is sent. The summary
is remembered in a private state key that is written with the answer, so it costs no super-step and a resume
does not pay for it again. List it last: it sees the tools and the prompt as they are sent, and the endpoint's
own refusal of a request that is too long.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, NotRequired, cast

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.agents.middleware.types import AgentState, ExtendedModelResponse, PrivateStateAttr
from langchain_core.exceptions import ContextOverflowError, ModelError
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.types import Command
from openai import OpenAIError

from agent.compaction.compact import Compacted, Plan, maybe_compact, recalled
from agent.compaction.summariser import Material, Summariser
from agent.compaction.summary import Summary, covered, remembered
from agent.compaction.unsaved import Place, Unsaved
from agent.context import AgentContext
from agent.middleware.admission import context_of
from agent.models.dialect import DialectChat
from agent.tokens import ESTIMATE, PRIMING, of_message, of_messages, of_rule, of_tool, ratio

logger = logging.getLogger(__name__)

_KEY = "compaction"
_TOO_LONG = "context_length_exceeded"  # OpenAI's code, sent by compatible endpoints too
_KEEP = 4  # turns kept for an assistant without a rule
_LEAST_ROOM = 100
_NO_RULE = ""

Handler = Callable[[ModelRequest[AgentContext]], Awaitable[ModelResponse[Any]]]


class CompactionState(AgentState[Any]):
    """The state with the remembered summary, which callers neither send nor see."""

    compaction: NotRequired[Annotated[dict[str, str] | None, PrivateStateAttr]]


class Compaction(AgentMiddleware[Any, AgentContext]):
    """Sends a view that fits, by the `compaction` of the run's context."""

    state_schema = CompactionState

    def __init__(self, summariser: Summariser | None = None) -> None:
        super().__init__()
        self._summariser = summariser
        self._tools: dict[str, int] = {}
        self._unsaved = Unsaved()

    async def awrap_model_call(
        self, request: ModelRequest[AgentContext], handler: Handler
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Call the model with a view that fits; when the endpoint says that it is too long, once more.

        Raises:
            ModelError: The endpoint refused the second request too, or failed otherwise.
        """
        compacted = await self._compact(request, self._plan(request))
        try:
            return self._done(await self._call(request, compacted, handler), compacted)
        except (ModelError, OpenAIError) as error:
            if not too_long(error):
                raise
            logger.warning("the endpoint refused the request as too long; compacting it", exc_info=error)
            sent = compacted.view if compacted else request.messages
            smaller = await self._compact(request, self._emergency(request, sent))
            if smaller is None or of_messages(smaller.view) >= of_messages(sent):
                raise
        return self._done(await self._call(request, smaller, handler), smaller)

    async def _call(
        self, request: ModelRequest[AgentContext], compacted: Compacted | None, handler: Handler
    ) -> ModelResponse[Any]:
        sent = cast("list[AnyMessage]", compacted.view) if compacted else request.messages
        response = await handler(request.override(messages=sent))
        estimate = of_messages(sent) + self._overhead(request)
        response.result = [
            _estimated(message, estimate) if isinstance(message, AIMessage) else message
            for message in response.result
        ]
        return response

    async def _compact(self, request: ModelRequest[AgentContext], plan: Plan | None) -> Compacted | None:
        context, summariser, place = context_of(request.runtime), self._summariser, _place(request)
        policy = plan.policy if plan else _NO_RULE
        saved = remembered(cast("dict[str, Any]", request.state).get(_KEY))
        made = self._unsaved.get(place)
        if made is not None and made == saved:
            self._unsaved.drop(place)
        ahead = _covers(made, request, policy) > _covers(saved, request, policy)

        async def summarise(material: Material) -> str:
            return await summariser(material, context) if summariser else ""

        memory = made if ahead else saved
        if plan is None:
            found = recalled(request.messages, memory=memory, policy=policy)
        else:
            found = await maybe_compact(
                request.messages, plan, memory=memory, summarise=summarise if summariser else None
            )
        if found is not None and found.summary is None and ahead:
            found = replace(found, summary=made)
        if found is not None and found.summary is not None:
            self._unsaved.keep(found.summary, place=place)
        return found

    @staticmethod
    def _done(
        response: ModelResponse[Any], compacted: Compacted | None
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """The response, and the new summary on its way into the state."""
        if compacted is None or compacted.summary is None:
            return response
        command: Command[Any] = Command(update={_KEY: compacted.summary.stored()})
        return ExtendedModelResponse(model_response=response, command=command)

    def _plan(self, request: ModelRequest[AgentContext]) -> Plan | None:
        """What the assistant's rule and the endpoint's window allow; `None` when neither is known."""
        rule, window = context_of(request.runtime).compaction, _window(request)
        limits = [limit for limit in (rule.max_tokens if rule else None, window) if limit is not None]
        if not limits:
            return None
        keep = rule.keep_recent if rule else _KEEP
        room = int(min(limits) / ratio(request.messages)) - self._overhead(request)
        return Plan(room=max(room, _LEAST_ROOM), keep_recent=keep, policy=f"{min(limits)}/{keep}")

    def _emergency(self, request: ModelRequest[AgentContext], sent: Sequence[BaseMessage]) -> Plan:
        """Half of what was refused, within the assistant's rule."""
        overhead = self._overhead(request)
        half = max((of_messages(sent) + overhead) // 2 - overhead, _LEAST_ROOM)
        usual = self._plan(request) or Plan(room=half, keep_recent=_KEEP, policy=_NO_RULE)
        return replace(usual, room=min(half, usual.room), must_fit=True)

    def _overhead(self, request: ModelRequest[AgentContext]) -> int:
        """Tokens of what is sent beside the messages: prompt, tool schemas, the reply's beginning."""
        prompt = of_message(request.system_message) if request.system_message else 0
        rule = of_rule(request.messages, tools=bool(request.tools))
        return prompt + rule + PRIMING + sum(self._tool(tool) for tool in request.tools)

    def _tool(self, tool: BaseTool | dict[str, Any]) -> int:
        name = tool.name if isinstance(tool, BaseTool) else repr(tool)
        if name not in self._tools:
            self._tools[name] = of_tool(tool)
        return self._tools[name]


def too_long(error: Exception) -> bool:
    """Whether an endpoint refused a request for its length.

    langchain-openai recognises one wording of it; others carry the same code.
    """
    return isinstance(error, ContextOverflowError) or getattr(error, "code", None) == _TOO_LONG


def _covers(summary: Summary | None, request: ModelRequest[AgentContext], policy: str) -> int:
    return covered(summary, request.messages, policy=policy)


def _place(request: ModelRequest[AgentContext]) -> Place:
    thread = get_config().get("configurable", {}).get("thread_id", "")
    return context_of(request.runtime).tenant, str(thread)


def _window(request: ModelRequest[AgentContext]) -> int | None:
    """Tokens that a request to this endpoint may hold, the answer's share taken off; `None` is unknown."""
    window = request.model.dialect.context_window if isinstance(request.model, DialectChat) else None
    if window is None:
        return None
    choice = context_of(request.runtime).model
    answer = choice.max_tokens if choice else None
    return window - min(answer or 0, window // 2)


def _estimated(message: AIMessage, estimate: int) -> AIMessage:
    return message.model_copy(update={"response_metadata": {**message.response_metadata, ESTIMATE: estimate}})
