"""`maybe_compact`: the view of a thread that fits, or nothing when the thread fits as it is.

The cheapest step that helps is taken: the summary that the state remembers, old tool results cut to head and
tail, then a new fold with a new summary. A summariser that fails changes nothing this time (B-34), unless
the endpoint has refused the request as too long and there is no other way.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.errors import GraphBubbleUp

from agent.compaction.excerpt import excerpt
from agent.compaction.summariser import Material
from agent.compaction.summary import Summary, counted, covered, summary_of, usable
from agent.compaction.transcript import portions
from agent.compaction.view import Fold, cuts, escaped, fitted, lighter, view
from agent.tokens import of_messages

logger = logging.getLogger(__name__)

_SUMMARY_SHARE = 4  # a summary may take this part of the room
_TARGET = 0.7  # a fold makes the view this much smaller than the room, so that it lasts for some turns
_GOAL = 200  # tokens of the first goal that the summariser is shown
_LEAST_ROOM = 200


@dataclass(frozen=True, slots=True)
class Plan:
    """What is wanted.

    `room` is the most that the messages may take, in estimated tokens; `policy` names the rule that a summary
    is remembered under. `must_fit` is set when the endpoint has refused more.
    """

    room: int
    keep_recent: int
    policy: str
    must_fit: bool = False


@dataclass(frozen=True, slots=True)
class Compacted:
    """A view and the new summary to remember, if one was made."""

    view: list[BaseMessage]
    summary: Summary | None = None


Summarise = Callable[[Material], Awaitable[str]]


def recalled(messages: Sequence[BaseMessage], *, memory: Summary | None, policy: str) -> Compacted | None:
    """The view by the remembered summary alone, or `None` when there is none that is good here."""
    upto = covered(memory, messages, policy=policy)
    if memory is None or not upto:
        return None
    return Compacted(view(messages, Fold(upto, memory.text), room=of_messages(messages)))


async def maybe_compact(
    messages: Sequence[BaseMessage], plan: Plan, *, memory: Summary | None, summarise: Summarise | None
) -> Compacted | None:
    """The view of a valid history that fits into the plan's room, or `None` when nothing was done.

    Args:
        messages: The full, valid history.
        plan: How much may be sent.
        memory: The summary that the state remembers.
        summarise: Makes summaries; without it folded messages are only counted.
    """
    upto = covered(memory, messages, policy=plan.policy)
    # What was folded under this policy stays folded: a view that flips back and forth is worth no cache.
    if not upto and not plan.must_fit and of_messages(messages) <= plan.room:
        return None
    known = Fold(upto, memory.text if memory and upto else "")
    seen = view(messages, known, room=plan.room)
    for candidate in (seen, lighter(seen)):
        if of_messages(candidate) <= plan.room:
            return Compacted(candidate)
    start = _start(messages, plan, after=upto)
    if start is None:
        return Compacted(fitted(seen, room=plan.room))
    text = await _summary(messages, known, start, plan=plan, summarise=summarise)
    if text is None and not plan.must_fit:
        return Compacted(seen) if upto else None
    fold = Fold(start, text if text is not None else counted(messages[:start]))
    folded = fitted(view(messages, fold, room=plan.room), room=plan.room)
    return Compacted(folded, summary_of(messages[:start], text, policy=plan.policy) if text else None)


def _start(messages: Sequence[BaseMessage], plan: Plan, *, after: int) -> int | None:
    """Where the kept part begins: the earliest cut whose view fits well, else the last there is."""
    possible = [index for index in cuts(messages, keep_recent=plan.keep_recent) if index > after]
    target = int(plan.room * _TARGET) - plan.room // _SUMMARY_SHARE
    for index in possible:
        if of_messages(view(messages, Fold(index, ""), room=plan.room)) <= target:
            return index
    return possible[-1] if possible else None


async def _summary(
    messages: Sequence[BaseMessage], known: Fold, start: int, *, plan: Plan, summarise: Summarise | None
) -> str | None:
    """The summary of everything before `start`, or `None` when there is none to be had."""
    if summarise is None:
        return counted(messages[:start])
    limit = max(plan.room, _LEAST_ROOM) // _SUMMARY_SHARE
    goal = next((str(message.text) for message in messages if isinstance(message, HumanMessage)), "")
    text = known.text
    for portion in portions(messages[known.upto : start], room=limit * 2):
        material = Material(
            goal=escaped(excerpt(goal, tokens=_GOAL)), previous=escaped(text), transcript=portion
        )
        answer = await _asked(summarise, material)
        if answer is None:
            return None
        text = excerpt(answer, tokens=limit)
    return text


async def _asked(summarise: Summarise, material: Material) -> str | None:
    try:
        text = await summarise(material)
    except GraphBubbleUp:
        raise  # an interrupt is not a failure
    except Exception as error:  # whatever fails must not end the turn: the full view is there
        logger.warning("no summary: the summariser failed", exc_info=error)
        return None
    if not usable(text):
        logger.warning("no summary: the summariser's text is empty or an error")
        return None
    return text.strip()
