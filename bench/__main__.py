"""`make bench`: runs the benchmarks, writes their results as JSON, plots and a README to docs/benchmarks/."""

from __future__ import annotations

import asyncio
import sys
from typing import cast

from rich.console import Console

from agent.tools.shipped import ledger, shop
from bench import endurance, growth, report, rounds
from bench.harness import environment
from bench.machine import machine

CONSOLE = Console()
BENCHMARKS = {
    name: cast("report.Benchmark", module)
    for name, module in (("rounds", rounds), ("growth", growth), ("endurance", endurance))
}


async def run(names: list[str]) -> None:
    """Run these benchmarks, one after the other, and report each when it is done."""
    try:
        for name in names:
            await one(name, BENCHMARKS[name])
        report.write_readme(BENCHMARKS)
    finally:  # a connection that stays open keeps the process from ending
        await ledger.dispose()
        await shop.dispose()


async def one(name: str, benchmark: report.Benchmark) -> None:
    """Run a benchmark, write its files and print its figures."""
    here = machine()
    result = {"machine": here, **await benchmark.measure()}
    report.write(name, benchmark, result)
    for figure, value, aim in benchmark.rows(result):
        CONSOLE.print(f"{name}: {figure}: {value}" + (f" (aim {aim})" if aim else ""), markup=False)


def main() -> None:
    """Run the benchmarks that are named, or all of them."""
    names = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"There is no benchmark {unknown[0]!r}; choose from {', '.join(BENCHMARKS)}.")
    with environment():
        asyncio.run(run(names))


if __name__ == "__main__":
    main()
