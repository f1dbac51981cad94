"""The run quota: how many runs a tenant may start in a minute, counted in the database for all replicas."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.database import writing
from assistants.store import run_counts

_MINUTE = 60.0
_KEPT = 10  # minutes of counts that stay, for whoever looks into an incident


class Exceeded(Exception):
    """The tenant has started all the runs of this minute; `retry_after` is in whole seconds."""

    def __init__(self, limit: int, retry_after: int) -> None:
        super().__init__(
            f"Your organisation may start {limit} runs a minute and has done so; try again in {retry_after} s"
        )
        self.retry_after = retry_after


class Quota:
    """Counts the runs of each tenant by minute."""

    def __init__(self, engine: Callable[[], AsyncEngine], *, clock: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._clock = clock

    async def take(self, tenant: str, limit: int | None) -> None:
        """Count one run of `tenant`; `limit` is the number of runs a minute, `None` counts nothing.

        Raises:
            Exceeded: The run would be one too many. It is not counted.
        """
        if limit is None:
            return
        moment = self._clock()
        minute = int(moment // _MINUTE)
        async with writing(self._engine()) as connection:
            count = _count(connection.dialect.name, tenant, minute, limit)
            if limit < 1 or await connection.scalar(count) is None:
                raise Exceeded(limit, math.ceil((minute + 1) * _MINUTE - moment))
            await connection.execute(sa.delete(run_counts).where(run_counts.c.minute < minute - _KEPT))


def _count(dialect: str, tenant: str, minute: int, limit: int) -> sa.Executable:
    insert = postgresql.insert if dialect == "postgresql" else sqlite.insert
    row = insert(run_counts).values(tenant=tenant, minute=minute, runs=1)
    return row.on_conflict_do_update(
        index_elements=[run_counts.c.tenant, run_counts.c.minute],
        set_={"runs": run_counts.c.runs + 1},
        where=run_counts.c.runs < limit,
    ).returning(run_counts.c.runs)
