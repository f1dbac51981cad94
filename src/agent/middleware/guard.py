"""The tool guard: what the model may see, and how a call is executed.

`wrap_model_call` shows the model the policy's tools only. `wrap_tool_call` asks the same policy again, waits
for the person who has to decide, runs the tool, and records in the ledger how it ended; whatever goes wrong
becomes a tool message that the model can act on, so each call id gets exactly one result and no tool can end
a run.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.messages import ToolCall as Call
from langchain_core.tools import BaseTool
from langgraph.errors import GraphInterrupt
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from agent.clock import utc_now
from agent.context import AgentContext
from agent.execution import OK, Ended, execute, served
from agent.gate import Gate, Granted, Question, undecided
from agent.ledger import (
    Approval,
    Event,
    Exhausted,
    Ledger,
    Result,
    Spend,
    ToolUse,
    Turn,
    arguments_digest,
    call_key,
)
from agent.ledger.chain import code
from agent.middleware.admission import Admitted, admitted, call_context, context_of, turn_of
from agent.policy import Denial, Policy
from agent.review import decision, reviewed
from agent.tools.page import READER, capped
from agent.tools.registry import Registry, Tool, ToolCall
from agent.verdict import Verdict, awaited, judge, permitted, used_up

logger = logging.getLogger(__name__)

__all__ = ["ToolGuard", "served"]

_NODE: Final = "tools"
_AUDITED: Final = ("tool_denied", "argument_denied")

Handler = Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call of one run, on its way to a tool."""

    run: Admitted
    policy: Policy
    call: Call
    messages: Sequence[AnyMessage]
    turn: Turn

    @property
    def facts(self) -> ToolCall:
        """What the tool may know of its call."""
        run = self.run
        return ToolCall(
            tenant=run.context.tenant,
            principal=run.principal,
            thread=run.key.thread,
            call_id=self.call["id"] or "",
        )

    def question(self, call: Call, verdict: Verdict) -> Question:
        """What a person is asked about a call of this run whose verdict asks."""
        assert verdict.tool is not None and verdict.rule is not None  # noqa: S101, PT018 - `Verdict.asks`
        stamp = self.run.context.stamp
        return Question(
            tool=verdict.tool,
            call=call,
            rule=verdict.rule,
            turn=self.turn,
            run=self.run.key.run,
            requester=self.run.principal,
            roles=stamp.roles if stamp else (),
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """How a call ended, and by which decision of a person."""

    ended: Ended
    approval: Approval | None = None


class ToolGuard(AgentMiddleware[Any, AgentContext]):
    """Applies the run's policy to what the model sees and to what is executed."""

    def __init__(self, registry: Registry, ledger: Ledger) -> None:
        super().__init__()
        self._registry = registry
        self._ledger = ledger
        self._gate = Gate(ledger)

    async def awrap_model_call(
        self,
        request: ModelRequest[AgentContext],
        handler: Callable[[ModelRequest[AgentContext]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Show the model the policy's tools only."""
        wires = Policy.of(context_of(request.runtime), self._registry).wires
        shown = [tool for tool in request.tools if isinstance(tool, BaseTool) and tool.name in wires]
        return await handler(request.override(tools=[*shown]))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> ToolMessage | Command[Any]:
        """Judge the call, run it, and give back exactly one result.

        Raises:
            GraphInterrupt: A person has to decide first, on this call or, for a write, on one beside it.
            RunRefused: The run was not admitted.
        """
        began, attempt = time.monotonic(), self._attempt(request)
        verdict = judge(attempt.policy, attempt.call, attempt.messages)
        _log(attempt.call["name"], verdict)
        answer = await self._answer(attempt, verdict, request, handler)
        latency = time.monotonic() - began
        # Recorded even when the run is cancelled now: what a tool did is never forgotten (field case 3).
        await asyncio.shield(self._record(attempt, verdict, answer, latency))
        return self._message(attempt, verdict.tool, answer)

    def _attempt(self, request: ToolCallRequest) -> Attempt:
        run = admitted(call_context(request))
        messages: Sequence[AnyMessage] = request.state["messages"]
        return Attempt(
            run=run,
            policy=Policy.of(run.context, self._registry),
            call=request.tool_call,
            messages=messages,
            turn=turn_of(run, messages, now=utc_now()),
        )

    async def _answer(
        self, attempt: Attempt, verdict: Verdict, request: ToolCallRequest, handler: Handler
    ) -> Answer:
        tool = verdict.tool
        if verdict.denial is not None or tool is None:
            return Answer(Ended.refused(verdict.denial or Denial("tool_denied", "There is no such tool.")))
        if verdict.rule is not None:
            return await self._decided(attempt, verdict, request, handler)
        if tool.risk != "read" and await self._must_wait(attempt):
            raise GraphInterrupt(())  # no question of its own: it runs when the others are decided
        return await self._executed(attempt, tool, request, handler)

    async def _decided(
        self, attempt: Attempt, verdict: Verdict, request: ToolCallRequest, handler: Handler
    ) -> Answer:
        question = attempt.question(attempt.call, verdict)
        decision = await self._gate.decision(question, waits=attempt.run.waits, now=utc_now())
        if not isinstance(decision, Granted):
            return Answer(Ended.refused(decision.denial), decision.approval)
        call = Call(
            name=attempt.call["name"],
            args=dict(decision.arguments),
            id=attempt.call["id"],
            type="tool_call",
        )
        tool = question.tool
        refused = permitted(attempt.policy, call).denial  # a person's edit obeys the policy too
        if refused is not None:
            return Answer(Ended.refused(refused), decision.approval)

        async def consumed() -> Denial | None:
            key = attempt.facts.key
            if await self._gate.consume(question, decision, key=key, now=utc_now()):
                return None
            return Denial("approval_missing", f"{tool.name} is not approved any more; it was not executed.")

        sent = request.override(tool_call=call)
        answer = await self._executed(attempt, tool, sent, handler, last_check=consumed)
        return replace(answer, approval=decision.approval)

    async def _executed(
        self,
        attempt: Attempt,
        tool: Tool,
        request: ToolCallRequest,
        handler: Handler,
        *,
        last_check: Callable[[], Awaitable[Denial | None]] | None = None,
    ) -> Answer:
        refused = await self._count(attempt, tool)
        if refused is None and last_check is not None:
            refused = await last_check()
        if refused is not None:
            return Answer(Ended.refused(refused))

        async def run() -> str:
            result = await handler(request)
            return result.text if isinstance(result, ToolMessage) else ""

        return Answer(await execute(tool, attempt.facts, run))

    async def _count(self, attempt: Attempt, tool: Tool) -> Denial | None:
        """Count the call in the ledger, which also knows calls that this thread's messages do not show.

        A write is counted even without a limit: the row is the proof that its execution began.
        """
        limits = attempt.run.context.limits
        if limits.tool_calls is None and tool.risk == "read":
            return None
        counted = await self._ledger.budgets.reserve(
            attempt.turn,
            spend=Spend(tool_calls=1),
            limits=limits.model_copy(update={"seconds": None}),
            now=utc_now(),
            key=call_key(attempt.call["id"] or ""),
            lifetime=timedelta(0),
        )
        return used_up(limits.tool_calls or 0) if isinstance(counted, Exhausted) else None

    async def _must_wait(self, attempt: Attempt) -> bool:
        """Whether a person still has to decide on another call of the same answer."""
        if not attempt.run.waits:
            return False
        for call, verdict in awaited(attempt.policy, attempt.call, attempt.messages):
            now = utc_now()
            record = await self._gate.record(attempt.question(call, verdict), now=now)
            if (record is None or undecided(record, now)) and not await self._over(attempt, call):
                return True
        return False

    async def _over(self, attempt: Attempt, call: Call) -> bool:
        """Whether a call has its result, as one that was decided under an earlier release."""
        turn, call_id = attempt.turn, call["id"] or ""
        found = await self._ledger.results.get(turn.tenant, thread=turn.thread, call_id=call_id)
        return found is not None

    async def _record(self, attempt: Attempt, verdict: Verdict, answer: Answer, latency: float) -> None:
        now, tool, ended = utc_now(), verdict.tool, answer.ended
        use = ToolUse(
            run=attempt.run.key.run,
            node=_NODE,
            call_id=attempt.call["id"] or "",
            tool=tool.name if tool else attempt.call["name"],
            risk=tool.risk if tool else "unknown",
            latency_ms=round(latency * 1000),
            outcome=ended.code,
        )
        result = Result(ended.text, ended.code, len(ended.text), now)
        events = _events(attempt, verdict, ended)
        await self._ledger.ended(attempt.turn, use, result=result, events=events, now=now)

    def _message(self, attempt: Attempt, tool: Tool | None, answer: Answer) -> ToolMessage:
        ended, call_id = answer.ended, attempt.call["id"] or ""
        text = ended.text
        if tool is not None and len(text) > tool.output_cap:
            readable = READER in attempt.run.context.tools
            text = capped(text, cap=tool.output_cap, call_id=call_id, readable=readable)
        return ToolMessage(
            content=reviewed(text, answer.approval) if ended.code == OK else text,
            name=attempt.call["name"],
            tool_call_id=call_id,
            status="success" if ended.code == OK else "error",
            additional_kwargs=decision(answer.approval),
        )


def _log(name: str, verdict: Verdict) -> None:
    if verdict.shadowed is not None:
        logger.warning("policy would deny", extra={"code": verdict.shadowed.code, "tool": name})
    if verdict.denial is not None:
        logger.info("tool call not executed", extra={"code": verdict.denial.code, "tool": name})


def _events(attempt: Attempt, verdict: Verdict, ended: Ended) -> list[Event]:
    """What the audit has to know: what was denied, or would have been if the policy were enforced."""
    denied = [("tool.denied", ended.code)] if ended.code in _AUDITED else []
    shadowed = [("tool.shadowed", verdict.shadowed.code)] if verdict.shadowed else []
    return [_event(attempt, action, reason) for action, reason in (*denied, *shadowed)]


def _event(attempt: Attempt, action: str, reason: str) -> Event:
    turn, call = attempt.turn, attempt.call
    return Event(
        action=action,
        actor=attempt.run.principal,
        assistant=turn.assistant,
        release=turn.release,
        thread=turn.thread,
        turn=turn.id,
        run=attempt.run.key.run,
        facts={
            "code": reason,
            "tool": code(call["name"]),
            "call": code(call["id"] or ""),
            "digest": arguments_digest(call["args"]),
        },
    )
