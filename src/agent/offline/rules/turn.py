"""The conversation as the rules see it: who said what, and what this turn has called and learned so far."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent import framing
from agent.offline.content import text_of
from agent.offline.shape import parsed, records

_OPENING = re.compile(r"<([a-z][\w-]*)(?:\s[^<>]*)?>", re.IGNORECASE)
_JSON = ("{", "[")
_ASKED = ("?", "？")


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answered: `text` without the frame that a harness put around it."""

    tool: str
    arguments: str
    text: str


@dataclass(frozen=True, slots=True)
class Human:
    """A message of a person; `asked` tells that the model had put a question just before."""

    text: str
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """The newest human message and what followed: `humans` has every one, the newest last.

    `called` are the calls since then as (tool, canonical arguments), `results` their answers in order, `said`
    the texts without calls that assistants gave since then, `instructions` the system messages.
    """

    humans: tuple[Human, ...]
    called: frozenset[tuple[str, str]]
    results: tuple[Result, ...]
    said: tuple[str, ...]
    instructions: str

    @property
    def text(self) -> str:
        """The newest human message, or an empty string."""
        return self.humans[-1].text if self.humans else ""


def read_turn(messages: Sequence[Mapping[str, Any]]) -> Turn:
    """Read a valid conversation in OpenAI's wire form."""
    last = max((index for index, each in enumerate(messages) if each.get("role") == "user"), default=-1)
    since = messages[last + 1 :]
    calls = {
        str(call["id"]): (str(call["function"]["name"]), canonical(call["function"]["arguments"]))
        for message in since
        for call in records(message.get("tool_calls"))
    }
    return Turn(
        humans=_humans(messages),
        called=frozenset(calls.values()),
        results=tuple(
            Result(*calls[message["tool_call_id"]], unframed(text_of(message)))
            for message in since
            if message.get("role") == "tool"
        ),
        said=tuple(
            text_of(message)
            for message in since
            if message.get("role") == "assistant" and not message.get("tool_calls")
        ),
        instructions="\n".join(
            text_of(message) for message in messages if message.get("role") in ("system", "developer")
        ),
    )


def canonical(arguments: str) -> str:
    """The arguments as JSON with sorted keys; text that is not JSON becomes a JSON string."""
    return json.dumps(parsed(arguments), sort_keys=True)


def unframed(text: str) -> str:
    """The text inside the tags that a harness puts around a tool's result; nested frames are taken off too.

    Whatever a frame says before its tags (a warning that data is not an instruction) goes as well. Out of a
    frame of this program's own harness (`agent.framing`) comes the very text that the tool gave.
    """
    plain = text.strip()
    whole = framing.unframed(plain)
    if whole is not None:
        return whole.strip()
    opening = None if plain.startswith(_JSON) else _OPENING.search(plain)
    closing = f"</{opening[1]}>" if opening else ""
    if opening is None or not plain.endswith(closing):
        return plain
    return unframed(plain[opening.end() : -len(closing)])


def _humans(messages: Sequence[Mapping[str, Any]]) -> tuple[Human, ...]:
    humans: list[Human] = []
    before = ""
    for message in messages:
        if message.get("role") == "user":
            humans.append(Human(text_of(message), asked=before.rstrip().endswith(_ASKED)))
        before = text_of(message) if message.get("role") == "assistant" else ""
    return tuple(humans)
