"""The limits of one turn: what has been used, when a turn has to end, and what a repeated call is.

A turn goes from a person's message to its final answer, over every resume and retry in between. Super-steps,
calls and questions are read off its messages, so a resume starts where it stopped and not at zero; model
calls, tokens, money and time are the ledger's (`agent.meter`). A limit that is reached does not end the turn
with an error: the model gets one last call without tools (`force_answer`, B-03).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage

from agent.context import Limits
from agent.ledger import Exhausted
from agent.ledger.spend import MICROS

REPEATED: Final = "repeated_call"
"""The code of a tool message that answers a call which was made before in the same turn."""

CALLS_USED: Final = "tool_calls_used_up"
"""The code of a tool message that answers a call beyond the turn's budget of calls."""

QUESTIONS_USED: Final = "approvals_used_up"
"""The code of a tool message that answers a gated call which may not ask any more."""

DECIDED: Final = "approval"
"""In a tool message's `additional_kwargs`: the decision that a person took on its call."""

REJECTED_ALL: Final = "rejected"
"""The reason of a closing answer after a round whose gated calls were all rejected (B-25)."""

_NOT_ASKED: Final = frozenset(
    {"tool_denied", "argument_denied", "arguments_invalid", REPEATED, CALLS_USED, QUESTIONS_USED}
)
_ROUND: Final = 2  # super-steps of one round: the model's and the tools'
_WORDS: Final = {
    "usd_per_run": "US dollars for one turn",
    "usd_per_day": "US dollars a day for this assistant",
    "tenant_usd_per_day": "US dollars a day for your organisation",
    "seconds": "seconds",
    "approvals": "questions to people",
}


@dataclass(frozen=True, slots=True)
class Tally:
    """What a turn has used so far. `steps` are super-steps, `repeats` calls that were made before.

    `unasked` are gated calls that might not ask any more; `rejected` says that the last round had gated
    calls and a person rejected each of them.
    """

    steps: int
    model_calls: int
    tool_calls: int
    repeats: int
    unasked: int = 0
    rejected: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """The limit that ends a turn: its name in the assistant's file, what was used, what is allowed."""

    limit: str
    used: float
    allowed: float

    @classmethod
    def of(cls, exhausted: Exhausted) -> Stop:
        """The limit of the ledger that refused a call; money in US dollars."""
        unit = MICROS if "usd" in exhausted.bound else 1
        return cls(exhausted.bound, exhausted.used / unit, exhausted.limit / unit)

    def text(self) -> str:
        """The sentence that an answer ends with; empty where the answer itself has to say it."""
        if self.limit == REJECTED_ALL:
            return ""
        what = _WORDS.get(self.limit) or self.limit.replace("_", " ")
        return f"[Stopped at the limit of {self.allowed:.12g} {what}; nothing beyond the above was checked.]"


def turn(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages after the newest one of a person."""
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], HumanMessage):
            return list(messages[index + 1 :])
    return list(messages)


def question(messages: Sequence[AnyMessage]) -> str | None:
    """The id of the newest message of a person, which names the turn; `None` where there is none."""
    return next((message.id for message in reversed(messages) if isinstance(message, HumanMessage)), None)


def tally(messages: Sequence[AnyMessage]) -> Tally:
    """What the turn at the end of a thread has used."""
    spoken = turn(messages)
    answers = [message for message in spoken if isinstance(message, AIMessage)]
    codes = [code(message) for message in spoken if isinstance(message, ToolMessage)]
    rounds = sum(1 for answer in answers if answer.tool_calls)
    return Tally(
        steps=len(answers) + rounds,
        model_calls=len(answers),
        tool_calls=sum(len(answer.tool_calls) for answer in answers),
        repeats=codes.count(REPEATED),
        unasked=codes.count(QUESTIONS_USED),
        rejected=_all_rejected(spoken),
    )


def stop(limits: Limits, used: Tally) -> Stop | None:
    """The limit that makes the next model call the last one of the turn, or `None`.

    The last call is counted too: with `model_calls: 3` the third call is the one without tools, and with
    `steps: 5` a round is begun only if it and the answer after it fit.
    """
    checks = (
        ("steps", used.steps + _ROUND + 1 > (limits.steps or 0), used.steps, limits.steps),
        (
            "model_calls",
            used.model_calls + 1 >= (limits.model_calls or 0),
            used.model_calls,
            limits.model_calls,
        ),
        ("tool_calls", used.tool_calls >= (limits.tool_calls or 0), used.tool_calls, limits.tool_calls),
        ("repeats", used.repeats >= (limits.repeats or 0), used.repeats, limits.repeats),
        ("approvals", used.unasked > 0, limits.approvals, limits.approvals),
    )
    for name, reached, amount, allowed in checks:
        if allowed is not None and reached:
            return Stop(name, amount or 0, allowed)
    return Stop(REJECTED_ALL, 0, 0) if used.rejected else None


def over_tool_calls(limits: Limits, messages: Sequence[AnyMessage], call_id: str) -> bool:
    """Whether a call comes after the turn's last allowed one, in the order in which the model made them."""
    if limits.tool_calls is None:
        return False
    ids = [call["id"] for call in _calls(messages)]
    return call_id in ids and ids.index(call_id) >= limits.tool_calls


def over_approvals(
    limits: Limits, messages: Sequence[AnyMessage], call_id: str, *, gated: Callable[[ToolCall], bool]
) -> bool:
    """Whether a gated call comes after the turn's last question, in the order of the calls.

    Args:
        limits: The assistant's.
        messages: The thread's.
        call_id: The call.
        gated: Whether a person decides on a call; calls that were answered without asking do not count.
    """
    if limits.approvals is None:
        return False
    unasked = {m.tool_call_id for m in turn(messages) if isinstance(m, ToolMessage) and code(m) in _NOT_ASKED}
    asked = [call["id"] for call in _calls(messages) if call["id"] not in unasked and gated(call)]
    return call_id in asked and asked.index(call_id) >= limits.approvals


def repeats_earlier(messages: Sequence[AnyMessage], call_id: str, *, volatile: frozenset[str]) -> bool:
    """Whether the same tool was called with the same arguments earlier in the turn, and got a result or will.

    A call that failed may be tried again; one that was refused for being a repeat, or that a person decided
    against, is still a repeat.
    """
    failed = {
        message.tool_call_id
        for message in turn(messages)
        if isinstance(message, ToolMessage)
        and message.status == "error"
        and (message.additional_kwargs.get(DECIDED) or {}).get("decision") != "reject"
    }
    seen: set[str] = set()
    for call in _calls(messages):
        mark = fingerprint(call["name"], call["args"], volatile=volatile)
        if call["id"] == call_id:
            return mark in seen
        if call["id"] not in failed:
            seen.add(mark)
    return False


def siblings(messages: Sequence[AnyMessage], call_id: str) -> list[ToolCall]:
    """The other calls of the answer that made this one."""
    for message in reversed(messages):
        if isinstance(message, AIMessage) and any(call["id"] == call_id for call in message.tool_calls):
            return [call for call in message.tool_calls if call["id"] != call_id]
    return []


def fingerprint(name: str, arguments: Mapping[str, Any], *, volatile: frozenset[str] = frozenset()) -> str:
    """Tool and arguments as canonical JSON: sorted keys, volatile arguments left out (B-04)."""
    kept = {key: value for key, value in arguments.items() if key not in volatile}
    return json.dumps([name, kept], sort_keys=True, ensure_ascii=False, default=str)


def code(message: ToolMessage) -> str | None:
    """The code of a tool message that refuses or fails a call; `None` of any other."""
    if message.status != "error":
        return None
    try:
        content = json.loads(str(message.content))
    except ValueError:
        return None
    return str(cast("dict[str, object]", content).get("error")) if isinstance(content, dict) else None


def _calls(messages: Sequence[AnyMessage]) -> list[ToolCall]:
    return [call for m in turn(messages) if isinstance(m, AIMessage) for call in m.tool_calls]


def _all_rejected(spoken: Sequence[AnyMessage]) -> bool:
    decisions: list[str] = []
    for message in reversed(spoken):
        if not isinstance(message, ToolMessage):
            break
        decided: Mapping[str, str] | None = message.additional_kwargs.get(DECIDED)
        decisions += [decided["decision"]] if decided else []
    return bool(decisions) and all(decision == "reject" for decision in decisions)
