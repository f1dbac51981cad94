"""What the model says: text, tool calls, or both."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; `arguments` is the text on the wire, JSON unless a script wants it otherwise."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the model. `finish_reason` `None` is never sent by a healthy endpoint."""

    content: str | None = None
    calls: tuple[Call, ...] = ()
    reasoning: str | None = None
    finish_reason: str | None = "stop"
