"""`make bench`: runs the benchmarks, writes their results as JSON and a plot to docs/benchmarks/."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

from rich.console import Console

OUT = Path(__file__).parent.parent / "docs" / "benchmarks"


def main() -> None:
    """Run everything and write the report."""
    os.environ["SIGNALBOX_SERVER_SECRET"] = "benchmark-secret"  # noqa: S105 - signs nothing but the benchmark's runs
    from bench import plot, rounds  # noqa: PLC0415 - the secret is read when a run starts

    results: dict[str, Any] = {"python": platform.python_version(), "cores": os.cpu_count()}
    console = Console()

    def report(name: str, value: Any) -> None:  # noqa: ANN401
        results[name] = value
        console.print(f"{name}: {value}", markup=False)

    rounds.run(report)
    OUT.mkdir(exist_ok=True)
    (OUT / "rounds.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    (OUT / "rounds.svg").write_text(plot.bars(results), encoding="utf-8")


if __name__ == "__main__":
    main()
