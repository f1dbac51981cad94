"""Figures of a period by tenant, assistant and release (B-122): counts, tokens, cost, latency, decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from agent.ledger.tables import APPROVALS, MODEL_CALLS, TOOL_CALLS, TURNS

Key = tuple[str, str, str]

DENIALS: Final = frozenset(
    {
        "tool_denied",
        "argument_denied",
        "approval_expired",
        "approval_missing",
        "approval_proposed",
        "approval_rejected",
        "approval_withdrawn",
        "approvals_used_up",
        "repeated_call",
        "tool_calls_used_up",
    }
)
"""Outcomes of tool calls that a rule or a person kept from being executed; other codes are failures."""


@dataclass(frozen=True, slots=True)
class Period:
    """From `since` (included) to `until` (not), of one tenant, assistant or release, or of all (`None`)."""

    since: datetime
    until: datetime
    tenant: str | None = None
    assistant: str | None = None
    release: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of one tenant's assistant under one release.

    `steps` are the super-steps of turns that began in the period. `p95_ms` is the 95th percentile of latency
    (nearest rank) by node. `interrupts` are requests for approval in the period; those that were decided
    until now are `approved` (edited ones too) or `rejected`.
    """

    tenant: str
    assistant: str
    release: str
    runs: int
    turns: int
    steps: int
    model_calls: int
    model_failures: int
    tokens_in: int
    tokens_out: int
    estimated_calls: int
    micros: int
    tool_calls: int
    tool_failures: int
    denials: int
    interrupts: int
    approved: int
    rejected: int
    p95_ms: Mapping[str, int]

    @property
    def approval_rate(self) -> float | None:
        """The approved share of what was decided; `None` when nothing was."""
        decided = self.approved + self.rejected
        return self.approved / decided if decided else None


async def summarise(connection: AsyncConnection, period: Period) -> list[Summary]:
    """The figures of a period, sorted by tenant, assistant and release."""
    parts = [
        await _grouped(connection, query)
        for query in (_calls(period), _models(period), _tools(period), _decisions(period), _steps(period))
    ]
    latencies = await _latencies(connection, period)
    keys = sorted({key for part in parts for key in part})
    return [_summary(key, [part.get(key, {}) for part in parts], latencies.get(key, {})) for key in keys]


def _summary(key: Key, parts: list[Mapping[str, int]], latencies: Mapping[str, int]) -> Summary:
    counts = dict.fromkeys(_COUNTS, 0) | {name: value for part in parts for name, value in part.items()}
    tenant, assistant, release = key
    return Summary(tenant=tenant, assistant=assistant, release=release, p95_ms=latencies, **counts)


_COUNTS: Final = tuple(
    name for name in Summary.__dataclass_fields__ if name not in {"tenant", "assistant", "release", "p95_ms"}
)


async def _grouped(connection: AsyncConnection, query: sa.Select[Any]) -> dict[Key, Mapping[str, int]]:
    found: dict[Key, Mapping[str, int]] = {}
    for row in (await connection.execute(query)).mappings():
        values = {name: int(value) for name, value in row.items() if name in _COUNTS}
        found[row["tenant"], row["assistant"], row["release"]] = values
    return found


def _within(table: sa.FromClause, period: Period, *, moment: str = "at") -> sa.ColumnElement[bool]:
    conditions = [table.c[moment] >= period.since, table.c[moment] < period.until]
    for name in ("tenant", "assistant", "release"):
        value = getattr(period, name)
        if value is not None:
            conditions.append(table.c[name] == value)
    return sa.and_(*conditions)


def _by_release(
    table: sa.FromClause, period: Period, *figures: sa.ColumnElement[Any], moment: str = "at"
) -> sa.Select[Any]:
    columns = (table.c.tenant, table.c.assistant, table.c.release)
    return sa.select(*columns, *figures).where(_within(table, period, moment=moment)).group_by(*columns)


def _count(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    return sa.func.coalesce(sa.func.sum(sa.case((condition, 1), else_=0)), 0)


def _union() -> sa.Subquery:
    names = ("at", "tenant", "assistant", "release", "thread", "turn", "run", "node", "latency_ms")
    parts = [sa.select(*(table.c[name] for name in names)) for table in (MODEL_CALLS, TOOL_CALLS)]
    return sa.union_all(*parts).subquery()


def _calls(period: Period) -> sa.Select[Any]:
    calls = _union()
    turns = sa.func.count(sa.distinct(calls.c.thread + sa.literal("\n", sa.String) + calls.c.turn)).label(
        "turns"
    )
    return _by_release(calls, period, sa.func.count(sa.distinct(calls.c.run)).label("runs"), turns)


def _models(period: Period) -> sa.Select[Any]:
    table = MODEL_CALLS.c
    return _by_release(
        MODEL_CALLS,
        period,
        sa.func.count().label("model_calls"),
        _count(table.outcome != "ok").label("model_failures"),
        sa.func.sum(table.tokens_in).label("tokens_in"),
        sa.func.sum(table.tokens_out).label("tokens_out"),
        _count(table.estimated).label("estimated_calls"),
        sa.func.sum(table.micros).label("micros"),
    )


def _tools(period: Period) -> sa.Select[Any]:
    outcome = TOOL_CALLS.c.outcome
    return _by_release(
        TOOL_CALLS,
        period,
        sa.func.count().label("tool_calls"),
        _count(outcome.not_in(["ok", *sorted(DENIALS)])).label("tool_failures"),
        _count(outcome.in_(sorted(DENIALS))).label("denials"),
    )


def _decisions(period: Period) -> sa.Select[Any]:
    state = APPROVALS.c.state
    return _by_release(
        APPROVALS,
        period,
        sa.func.count().label("interrupts"),
        _count(state.in_(["approved", "edited"])).label("approved"),
        _count(state == "rejected").label("rejected"),
        moment="created_at",
    )


def _steps(period: Period) -> sa.Select[Any]:
    return _by_release(TURNS, period, sa.func.sum(TURNS.c.steps).label("steps"), moment="started_at")


async def _latencies(connection: AsyncConnection, period: Period) -> dict[Key, dict[str, int]]:
    calls = _union()
    group = (calls.c.tenant, calls.c.assistant, calls.c.release, calls.c.node)
    ranked = (
        sa.select(
            *group,
            calls.c.latency_ms,
            sa.func.row_number().over(partition_by=group, order_by=calls.c.latency_ms).label("rank"),
            sa.func.count().over(partition_by=group).label("size"),
        )
        .where(_within(calls, period))
        .subquery()
    )
    nearest = (ranked.c.size * 95 + 99) // 100
    query = sa.select(ranked).where(ranked.c.rank == nearest).order_by(ranked.c.node)
    found: dict[Key, dict[str, int]] = {}
    for row in (await connection.execute(query)).mappings():
        nodes = found.setdefault((row["tenant"], row["assistant"], row["release"]), {})
        nodes[row["node"]] = row["latency_ms"]
    return found
