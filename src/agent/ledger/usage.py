"""Usage: one row for each model call and each tool call, whatever became of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final, Literal

import sqlalchemy as sa

from agent.ledger.database import LedgerDatabase
from agent.ledger.spend import LedgerRefused
from agent.ledger.summary import Period, Summary, summarise
from agent.ledger.tables import MODEL_CALLS, TOOL_CALLS
from agent.ledger.turn import Turn

Risk = Literal["read", "write", "dangerous", "unknown"]

OK: Final = "ok"

_MODEL: Final = sa.insert(MODEL_CALLS)
_TOOL: Final = sa.insert(TOOL_CALLS)


@dataclass(frozen=True, slots=True)
class ModelUse:
    """One model call: tokens as the endpoint reported them, or `estimated`; `outcome` is `ok` or a code."""

    run: str
    node: str
    model: str
    tokens_in: int
    tokens_out: int
    estimated: bool
    micros: int
    latency_ms: int
    outcome: str = OK

    def __post_init__(self) -> None:
        amounts = (self.tokens_in, self.tokens_out, self.micros, self.latency_ms)
        if min(amounts) < 0:
            raise LedgerRefused(f"Use of model {self.model!r} has a negative amount; expected 0 or more.")


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One tool call, executed or not.

    `outcome` is `ok` or a code: `tool_failed`, `tool_timeout`, … or one of `summary.DENIALS`. The risk of a
    tool that is not registered is `unknown`.
    """

    run: str
    node: str
    call_id: str
    tool: str
    risk: Risk
    latency_ms: int
    outcome: str = OK

    def __post_init__(self) -> None:
        if self.latency_ms < 0:
            raise LedgerRefused(f"Use of tool {self.tool!r} has a negative latency; expected 0 or more.")


class Usage:
    """What was used, by whom, and how it went."""

    def __init__(self, database: LedgerDatabase) -> None:
        self._database = database

    async def model(self, turn: Turn, use: ModelUse, *, at: datetime) -> None:
        """Record a model call."""
        await self._insert(turn, use, at=at)

    async def tool(self, turn: Turn, use: ToolUse, *, at: datetime) -> None:
        """Record a tool call."""
        await self._insert(turn, use, at=at)

    async def summary(self, period: Period) -> list[Summary]:
        """The period's figures, one for each tenant, assistant and release in it (`summary`)."""
        async with self._database.reading() as connection:
            return await summarise(connection, period)

    async def _insert(self, turn: Turn, use: ModelUse | ToolUse, *, at: datetime) -> None:
        await self._database.write(lambda connection: insert(connection, turn, use, at=at))


def insert(connection: sa.Connection, turn: Turn, use: ModelUse | ToolUse, *, at: datetime) -> None:
    """Record a call within a writing transaction."""
    row = {
        "at": at,
        "tenant": turn.tenant,
        "assistant": turn.assistant,
        "release": turn.release,
        "thread": turn.thread,
        "turn": turn.id,
        **asdict(use),
    }
    connection.execute(_MODEL if isinstance(use, ModelUse) else _TOOL, row)
