"""`python -m agent.shop --url URL --tenants acme,globex`: prepare a shop's database and count its rows."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence

from agent.errors import AgentError
from agent.shop.profiles import profile_of
from agent.shop.seed import TENANTS, counts, prepare
from agent.shop.shop import shop_url


def report(rows: Mapping[str, Mapping[str, int]]) -> str:
    """One line a tenant: `acme: 150 customers, 60 products, …`."""
    return "\n".join(
        f"{tenant}: " + ", ".join(f"{number} {table}" for table, number in tables.items())
        for tenant, tables in rows.items()
    )


async def main(arguments: Sequence[str]) -> int:
    """Prepare the database that the arguments name and print its counts; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m agent.shop", description=__doc__)
    parser.add_argument(
        "--url", help="database URL (default: SIGNALBOX_SHOP_DB, or shop.db in SIGNALBOX_HOME)"
    )
    parser.add_argument("--tenants", default=",".join(TENANTS), help="comma-separated (default: %(default)s)")
    options = parser.parse_args(arguments)
    tenants = [tenant.strip() for tenant in options.tenants.split(",") if tenant.strip()]
    url = options.url or shop_url()
    try:
        for tenant in tenants:
            profile_of(tenant)
        await prepare(url, tenants=tenants)
        sys.stdout.write(report(await counts(url, tenants=tenants)) + "\n")
    except AgentError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main(sys.argv[1:])))
