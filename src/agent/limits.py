"""The limits of one turn: what has been used, when a turn has to end, and what a repeated call is.

A turn goes from a person's message to its final answer, over every resume and retry in between. What it has
used is read off its messages, so a resume starts where it stopped and not at zero. A limit that is reached
does not end the turn with an error: the model gets one last call without tools (`force_answer`, B-03).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agent.context import Limits

REPEATED = "repeated_call"
"""The code of a tool message that answers a call which was made before in the same turn."""

_ROUND = 2  # super-steps of one round: the model's and the tools'


@dataclass(frozen=True, slots=True)
class Tally:
    """What a turn has used so far. `steps` are super-steps, `repeats` calls that were made before."""

    steps: int
    model_calls: int
    tool_calls: int
    repeats: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The limit that ends a turn: its name in the assistant's file, what was used, what is allowed."""

    limit: str
    used: int
    allowed: int

    def text(self) -> str:
        """The sentence that an answer ends with."""
        what = self.limit.replace("_", " ")
        return f"[Stopped at the limit of {self.allowed} {what}; nothing beyond the above was checked.]"


def turn(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages after the newest one of a person."""
    newest = max((i for i, message in enumerate(messages) if isinstance(message, HumanMessage)), default=-1)
    return list(messages[newest + 1 :])


def tally(messages: Sequence[AnyMessage]) -> Tally:
    """What the turn at the end of a thread has used."""
    answers = [message for message in turn(messages) if isinstance(message, AIMessage)]
    results = [message for message in turn(messages) if isinstance(message, ToolMessage)]
    rounds = sum(1 for answer in answers if answer.tool_calls)
    return Tally(
        steps=len(answers) + rounds,
        model_calls=len(answers),
        tool_calls=sum(len(answer.tool_calls) for answer in answers),
        repeats=sum(1 for result in results if _code(result) == REPEATED),
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
    )
    for name, reached, amount, allowed in checks:
        if allowed is not None and reached:
            return Stop(name, amount, allowed)
    return None


def over_tool_calls(limits: Limits, messages: Sequence[AnyMessage], call_id: str) -> bool:
    """Whether a call comes after the turn's last allowed one, in the order in which the model made them."""
    if limits.tool_calls is None:
        return False
    ids = [
        call["id"]
        for message in turn(messages)
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    ]
    return call_id in ids and ids.index(call_id) >= limits.tool_calls


def repeats_earlier(messages: Sequence[AnyMessage], call_id: str, *, volatile: frozenset[str]) -> bool:
    """Whether the same tool was called with the same arguments earlier in the turn, and got a result or will.

    A call that failed may be tried again; one that was refused for being a repeat is still a repeat.
    """
    failed = {m.tool_call_id for m in turn(messages) if isinstance(m, ToolMessage) and m.status == "error"}
    seen: set[str] = set()
    for message in turn(messages):
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            mark = fingerprint(call["name"], call["args"], volatile=volatile)
            if call["id"] == call_id:
                return mark in seen
            if call["id"] not in failed:
                seen.add(mark)
    return False


def fingerprint(name: str, arguments: Mapping[str, Any], *, volatile: frozenset[str] = frozenset()) -> str:
    """Tool and arguments as canonical JSON: sorted keys, volatile arguments left out (B-04)."""
    kept = {key: value for key, value in arguments.items() if key not in volatile}
    return json.dumps([name, kept], sort_keys=True, ensure_ascii=False, default=str)


def _code(message: ToolMessage) -> str | None:
    try:
        content = json.loads(str(message.content))
    except ValueError:
        return None
    if message.status != "error" or not isinstance(content, dict):
        return None
    return str(cast("dict[str, object]", content).get("error"))
