"""What becomes of one tool call: refused, asked about, or executed. Pure; the guard acts on it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import AnyMessage, ToolCall
from pydantic import ValidationError

from agent.context import Approval
from agent.history.calls import UNREADABLE
from agent.limits import (
    CALLS_USED,
    QUESTIONS_USED,
    REPEATED,
    over_approvals,
    over_tool_calls,
    repeats_earlier,
    siblings,
)
from agent.policy import Denial, Policy
from agent.tools.registry import Tool

logger = logging.getLogger(__name__)

_FAULTS = 5  # of a call's arguments, that the model is told at once


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of a call.

    Attributes:
        tool: What would be executed; `None` when the run has no such tool.
        denial: Why it is not executed.
        shadowed: Why it would be refused if the policy were enforced.
        rule: By which rule a person decides first.
    """

    tool: Tool | None
    denial: Denial | None = None
    shadowed: Denial | None = None
    rule: Approval | None = None

    @property
    def asks(self) -> bool:
        """Whether a person decides first."""
        return self.denial is None and self.rule is not None


def judge(policy: Policy, call: ToolCall, messages: Sequence[AnyMessage]) -> Verdict:
    """What becomes of a call by policy, limits and approvals, in that order.

    Args:
        policy: The run's.
        call: The call, as the model made it or a person edited it.
        messages: The thread's, with the answer that made the call.
    """
    verdict = _by_turn(policy, call, messages)
    if not verdict.asks:
        return verdict

    def gated(other: ToolCall) -> bool:
        return _by_turn(policy, other, messages).asks

    limits = policy.context.limits
    if over_approvals(limits, messages, call["id"] or "", gated=gated):
        text = f"{call['name']} needs a person's approval, and this turn has asked as often as it may."
        return replace(verdict, denial=Denial(QUESTIONS_USED, f"{text} It was not executed."))
    return verdict


def permitted(policy: Policy, call: ToolCall) -> Verdict:
    """What the policy and the tool's schema say of a call, whatever the turn has done before."""
    tool = policy.find(call["name"])
    if tool is None:
        return Verdict(None, policy.denial(call["name"], call["args"]))
    denial = _unusable(tool, call)
    if denial is not None:
        return Verdict(tool, denial)
    excess = policy.excess(tool, call["args"])
    if excess is not None and policy.context.policy_mode != "shadow":
        return Verdict(tool, excess)
    return Verdict(tool, shadowed=excess, rule=policy.gate(tool, call["args"]))


def awaited(policy: Policy, call: ToolCall, messages: Sequence[AnyMessage]) -> list[tuple[ToolCall, Verdict]]:
    """The sibling calls of the same answer on which a person decides: what a write waits for (B-22)."""
    judged = ((other, judge(policy, other, messages)) for other in siblings(messages, call["id"] or ""))
    return [(other, verdict) for other, verdict in judged if verdict.asks]


def _by_turn(policy: Policy, call: ToolCall, messages: Sequence[AnyMessage]) -> Verdict:
    verdict = permitted(policy, call)
    if verdict.denial is not None:
        return verdict
    spent = _spent(policy, call, messages)
    return verdict if spent is None else replace(verdict, denial=spent)


def _spent(policy: Policy, call: ToolCall, messages: Sequence[AnyMessage]) -> Denial | None:
    limits, identity = policy.context.limits, call["id"] or ""
    if over_tool_calls(limits, messages, identity):
        return used_up(limits.tool_calls or 0)
    if repeats_earlier(messages, identity, volatile=frozenset()):
        text = "This very call was already made in this turn; its result stands above and is unchanged."
        return Denial(REPEATED, f"{text} Change your approach.")
    return None


def used_up(allowed: int) -> Denial:
    """Why a call beyond the turn's budget of calls is not executed."""
    return Denial(CALLS_USED, f"This turn may make {allowed} tool calls and has; this one was not executed.")


def _unusable(tool: Tool, call: ToolCall) -> Denial | None:
    if UNREADABLE in call["args"]:
        return Denial(
            "arguments_unreadable",
            f"{tool.name}: the arguments were not valid JSON, so nothing was executed. Call it again with a "
            "JSON object that fits the schema.",
        )
    try:
        tool.arguments.model_validate(call["args"])
    except ValidationError as error:
        return Denial("arguments_invalid", f"{tool.name} was not executed. {faults(error)}.")
    except Exception:  # a validator of the tool's own may raise anything, which must not end the run
        logger.exception("a tool's validator failed", extra={"tool": tool.name})
        return Denial("arguments_invalid", f"{tool.name} was not executed: it can't judge these arguments.")
    return None


def faults(error: ValidationError) -> str:
    """What does not fit a tool's schema, the first few faults; none of the values."""
    found = [
        f"{'.'.join(str(part) for part in fault['loc']) or 'arguments'}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    return "; ".join(found[:_FAULTS])
