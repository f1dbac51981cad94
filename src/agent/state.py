"""The state of a conversation: what a caller sends, what the graph keeps, what a caller gets back.

The message history is a `DeltaChannel`: checkpoints store what a step added, not the whole list again
(on one 300-turn thread with Postgres: 12.4 MB instead of 728.8 MB; docs/facts.md, F10). It is beta,
and a thread written with it reads as empty below langgraph 1.2, so `SIGNALBOX_MESSAGES=full` goes back to
`add_messages` at the next start.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, Required, cast

from langchain.agents.middleware.types import AgentState
from langchain_core.messages import AnyMessage
from langgraph.channels.delta import DeltaChannel

# The delta reducer is private by name, but langgraph gives messages their ids only where it finds this very
# function (`pregel._messages`): a wrapper of our own would leave messages without stable ids.
from langgraph.graph.message import (
    _messages_delta_reducer,  # pyright: ignore[reportPrivateUsage]
)

_REDUCER = cast("Callable[[Any, Sequence[Any]], Any]", _messages_delta_reducer)

HistoryMode = Literal["delta", "full"]


class DeltaConversation(AgentState[Any]):
    """A conversation whose checkpoints hold only what each step added."""

    messages: Required[Annotated[list[AnyMessage], DeltaChannel(_REDUCER)]]


class FullConversation(AgentState[Any]):
    """A conversation whose checkpoints hold the whole history each time (langgraph's `add_messages`)."""


def history_mode(value: str | None = None) -> HistoryMode:
    """The switch `SIGNALBOX_MESSAGES`: `delta` (default) or `full`.

    Raises:
        ValueError: Any other value.
    """
    mode = (os.environ.get("SIGNALBOX_MESSAGES") or "delta") if value is None else value
    match mode:
        case "delta" | "full":
            return mode
        case _:
            raise ValueError(f"SIGNALBOX_MESSAGES is {mode!r}; expected 'delta' or 'full'.")


def conversation(mode: HistoryMode | None = None) -> type[AgentState[Any]]:
    """The state schema for the mode, by default the one that the environment asks for."""
    return DeltaConversation if (mode or history_mode()) == "delta" else FullConversation
