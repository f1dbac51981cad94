"""A proposal: what an unattended run wanted to do, carried out when a person has approved it (B-81).

The run is over, so the call is made here, by the same rules as in a run: the policy of the release that
asked, the approval's record, one effect under the call's own key, and a row in the ledger.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from langchain_core.messages import ToolCall as Call

from agent.context import AgentContext, Stamp
from agent.errors import ToolFailure
from agent.execution import OK, Ended, execute, perform
from agent.ledger import Approval, Event, Ledger, Result, ToolUse, Turn, arguments_digest, day
from agent.ledger.chain import code
from agent.policy import Policy
from agent.tools.registry import Registry, Tool, ToolCall, wire_name
from agent.verdict import permitted

_NODE: Final = "proposal"


async def carry_out(
    approval: Approval, context: AgentContext, *, registry: Registry, ledger: Ledger, now: datetime
) -> str:
    """Execute an approved proposal; the tool's result as text.

    Args:
        approval: Its record, decided.
        context: The context of the release that now serves its assistant.
        registry: The deployment's tools.
        ledger: Where the approval is consumed and the call recorded.
        now: The moment, aware.

    Raises:
        ToolFailure: It was not approved, another release serves now, the policy forbids it, or the tool
            failed; the text says which.
    """
    tool, arguments = _admissible(approval, context, registry)
    request = approval.request
    call = ToolCall(
        tenant=request.tenant,
        principal=request.requester,
        thread=request.thread,
        call_id=request.call_id,
    )
    granted = await ledger.approvals.granted(
        request.tenant,
        thread=request.thread,
        turn=request.turn,
        call_id=request.call_id,
        digest=arguments_digest(arguments),
        release=context.release,
        key=call.key,
        now=now,
    )
    if not granted:
        raise ToolFailure(f"The proposal to call {tool.name} is not approved; nothing was executed.")
    began = time.monotonic()
    ended = await execute(tool, call, lambda: perform(tool, arguments, call))
    # Recorded even when the request is given up now: what a tool did is never forgotten.
    await asyncio.shield(_record(approval, tool, ended, ledger, latency=time.monotonic() - began, now=now))
    if ended.code != OK:
        raise ToolFailure(json.loads(ended.text)["message"])
    return ended.text


def _admissible(
    approval: Approval, context: AgentContext, registry: Registry
) -> tuple[Tool, Mapping[str, Any]]:
    request = approval.request
    if (context.tenant, context.assistant) != (request.tenant, request.assistant):
        raise ToolFailure("The proposal belongs to another assistant; nothing was executed.")
    if context.release != request.release:
        raise ToolFailure(
            "The assistant's release has changed since this was proposed, so the approval does not count; "
            "let the assistant propose it again."
        )
    arguments = request.arguments if approval.edited is None else approval.edited
    call = Call(name=wire_name(request.tool), args=dict(arguments), id=request.call_id, type="tool_call")
    asker = Stamp(principal=request.requester, roles=request.requester_roles, unattended=True, mac="")
    verdict = permitted(Policy.of(context.model_copy(update={"stamp": asker}), registry), call)
    if verdict.denial is not None or verdict.tool is None:
        text = verdict.denial.text if verdict.denial else "There is no such tool."
        raise ToolFailure(text)
    return verdict.tool, arguments


async def _record(
    approval: Approval, tool: Tool, ended: Ended, ledger: Ledger, *, latency: float, now: datetime
) -> None:
    request = approval.request
    turn = Turn(
        tenant=request.tenant,
        thread=request.thread,
        id=request.turn,
        assistant=request.assistant,
        release=request.release,
        day=day(now),
    )
    use = ToolUse(
        run=request.run,
        node=_NODE,
        call_id=request.call_id,
        tool=tool.name,
        risk=tool.risk,
        latency_ms=round(latency * 1000),
        outcome=ended.code,
    )
    event = Event(
        action="proposal.carried_out",
        actor=approval.decided_by or "",
        assistant=request.assistant,
        release=request.release,
        thread=request.thread,
        turn=request.turn,
        run=request.run,
        facts={"approval": approval.id, "tool": code(tool.name), "outcome": ended.code},
    )
    result = Result(ended.text, ended.code, len(ended.text), now)
    await ledger.ended(turn, use, result=result, events=[event], now=now)
