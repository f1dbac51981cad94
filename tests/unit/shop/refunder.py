"""A second process that refunds: `refunder.py URL ORDER MINOR KEY…` waits for a line, then refunds each key.

Prints the outcome of each key, `created`, `already_recorded` or the code of the refusal, one a line.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime

from agent.errors import AgentError
from agent.shop import Shop
from agent.shop.refunds import refund


async def main(url: str, order: int, minor: int, keys: list[str]) -> None:
    """Refund `minor` of the order once for each key."""
    shop = Shop(url)
    async with shop.reading():
        sys.stdout.write("ready\n")
        sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    for key in keys:
        sys.stdout.write(await _outcome(shop, order, minor, key) + "\n")
    await shop.dispose()


async def _outcome(shop: Shop, order: int, minor: int, key: str) -> str:
    try:
        async with shop.writing() as connection:
            _entry, outcome = await refund(
                connection,
                tenant="acme",
                order=order,
                amount_minor=minor,
                reason="two processes",
                key=key,
                requested_by="acme/u1",
                now=datetime.now(UTC),
            )
    except AgentError as error:
        return error.code
    return outcome


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
