"""A repair as writes to the `messages` channel.

The channel's reducers replace a message of the same id in place and append the others; there is no insertion
in the middle. What stands behind the first new message is therefore removed and appended again with the same
ids. Removal and appending are two writes, because `add_messages` takes a message that is removed and added
in one write as an edit in place.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES


def writes(before: Sequence[BaseMessage], after: Sequence[BaseMessage]) -> list[list[BaseMessage]]:
    """Writes, to be applied in order, that turn the thread's `before` into `after`; none when they are equal.

    Works with langgraph's delta reducer and with `add_messages`. A thread in which ids are missing or used
    twice cannot be changed message by message and is written anew.
    """
    if len(before) == len(after) and all(new is old for new, old in zip(after, before, strict=True)):
        return []
    ids = [message.id for message in before]
    if not all(ids) or len(set(ids)) < len(ids):
        return [[RemoveMessage(id=REMOVE_ALL_MESSAGES), *after]]
    kept = _common(before, after)
    edited = [new for old, new in zip(before[:kept], after[:kept], strict=True) if new is not old]
    gone = [RemoveMessage(id=message.id or "") for message in before[kept:]]
    return [part for part in ([*edited, *gone], [*after[kept:]]) if part]


def _common(before: Sequence[BaseMessage], after: Sequence[BaseMessage]) -> int:
    """How many messages at the beginning have the same ids."""
    pairs = zip(before, after, strict=False)
    differs = (index for index, (old, new) in enumerate(pairs) if old.id != new.id)
    return next(differs, min(len(before), len(after)))
