"""The budget of a turn and of its day: what is allowed, what is used, and whether more may be spent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from agent.context import Limits
from agent.ledger.spend import MICROS, NOTHING, Spend, micros

Bound = Literal[
    "steps",
    "model_calls",
    "tool_calls",
    "tokens",
    "usd_per_run",
    "approvals",
    "seconds",
    "usd_per_day",
    "tenant_usd_per_day",
]

_WORDS: dict[Bound, str] = {
    "steps": "steps in one turn",
    "model_calls": "model calls in one turn",
    "tool_calls": "tool calls in one turn",
    "tokens": "tokens in one turn",
    "usd_per_run": "US dollars for one turn",
    "approvals": "questions to people in one turn",
    "seconds": "seconds for one turn",
    "usd_per_day": "US dollars a day for this assistant",
    "tenant_usd_per_day": "US dollars a day for your organisation",
}


@dataclass(frozen=True, slots=True)
class Exhausted:
    """A limit that the spend would have broken; nothing was counted.

    `used` and `limit` are in the ledger's units: counts, micro-dollars for money, seconds for time.
    """

    bound: Bound
    used: float
    limit: float

    @property
    def sentence(self) -> str:
        """The reason in words for the person who waits."""
        amount = self.limit / MICROS if "usd" in self.bound else self.limit
        return f"The limit of {amount:g} {_WORDS[self.bound]} is reached."


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits in the ledger's units (`micros` and the days in micro-dollars); `None` is no limit."""

    steps: int | None = None
    model_calls: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    micros: int | None = None
    approvals: int | None = None
    seconds: float | None = None
    assistant_day: int | None = None
    tenant_day: int | None = None

    @classmethod
    def of(cls, limits: Limits, *, tenant_usd_per_day: float | None = None) -> Bounds:
        """The bounds that an assistant's limits and its tenant's ceiling for a day set."""
        return cls(
            steps=limits.steps,
            model_calls=limits.model_calls,
            tool_calls=limits.tool_calls,
            tokens=limits.tokens,
            micros=_micros(limits.usd_per_run),
            approvals=limits.approvals,
            seconds=limits.seconds,
            assistant_day=_micros(limits.usd_per_day),
            tenant_day=_micros(tenant_usd_per_day),
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """What is used, reservations included: by the turn, and in micro-dollars on its day.

    `started_at` is the moment of the turn's first reservation, `waited` the time it has waited for people.
    """

    started_at: datetime
    turn: Spend = NOTHING
    assistant_day: int = 0
    tenant_day: int = 0
    waited: timedelta = timedelta(0)

    def seconds(self, now: datetime) -> float:
        """How long the turn has worked, in seconds."""
        return (now - self.started_at - self.waited).total_seconds()


def refusal(
    bounds: Bounds, standing: Standing, *, spend: Spend, now: datetime, keep: Spend = NOTHING
) -> Exhausted | None:
    """The first limit that `spend` would break, or `None` when it may be spent.

    A limit binds only what takes from it: a call that costs nothing is not refused for money. Time binds
    everything.

    Args:
        bounds: The limits.
        standing: What is used.
        spend: What is asked for.
        now: The moment, aware.
        keep: What must be left afterwards, such as one model call for the closing answer.
    """
    wanted, used = (spend + keep).amounts(), standing.turn.amounts()
    money = wanted["micros"]
    checks: list[tuple[Bound, float, float, float | None]] = [
        ("steps", wanted["steps"], used["steps"], bounds.steps),
        ("model_calls", wanted["model_calls"], used["model_calls"], bounds.model_calls),
        ("tool_calls", wanted["tool_calls"], used["tool_calls"], bounds.tool_calls),
        ("tokens", wanted["tokens"], used["tokens"], bounds.tokens),
        ("usd_per_run", money, used["micros"], bounds.micros),
        ("approvals", wanted["approvals"], used["approvals"], bounds.approvals),
        ("usd_per_day", money, standing.assistant_day, bounds.assistant_day),
        ("tenant_usd_per_day", money, standing.tenant_day, bounds.tenant_day),
    ]
    seconds = standing.seconds(now)
    if bounds.seconds is not None and seconds >= bounds.seconds:
        return Exhausted("seconds", seconds, bounds.seconds)
    for bound, amount, taken, limit in checks:
        if limit is not None and amount > 0 and taken + amount > limit:
            return Exhausted(bound, taken, limit)
    return None


def _micros(dollars: float | None) -> int | None:
    return None if dollars is None else micros(dollars)
