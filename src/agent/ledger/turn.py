"""The turn: from a person's message to its final answer, over all resumes, retries and workers.

It is the unit of a budget. Its key is (tenant, thread, id), the id being that of the person's message. A run
without a person (a schedule) or without a thread is one turn, named by its run id.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime

from agent.context import AgentContext
from agent.ledger.identity import stored


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn and on whose account it goes.

    `day` is the UTC date on which this run or resume began; money counts on it. UTC, because a context
    carries no time zone, and a day that moves with a catalog's edit could be spent twice.
    """

    tenant: str
    thread: str
    id: str
    assistant: str
    release: str
    day: date

    @classmethod
    def of(cls, context: AgentContext, *, thread: str, message: str | None, run: str, now: datetime) -> Turn:
        """The turn of a run.

        Args:
            context: The run's verified context.
            thread: The thread's id; empty for a stateless run.
            message: The id of the newest human message; `None` where there is none.
            run: The run's id; it names the turn when nobody waits, there is no thread or no message.
            now: When the run or resume began, aware.
        """
        unattended = context.stamp is not None and context.stamp.unattended
        return cls(
            tenant=context.tenant,
            thread=stored(thread),
            id=stored(message if message and thread and not unattended else run),
            assistant=context.assistant,
            release=context.release,
            day=day(now),
        )


def day(moment: datetime) -> date:
    """The UTC date of an aware moment."""
    return moment.astimezone(UTC).date()


def call_key(call_id: str) -> str:
    """The key under which a turn's budget counts a tool call."""
    return f"call:{call_id}"
