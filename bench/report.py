"""docs/benchmarks/: a JSON file and a plot for each benchmark, and a README with the figures of all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from bench.machine import sentence

OUT = Path(__file__).parent.parent / "docs" / "benchmarks"

_HEAD = """# Benchmarks

Written by `make bench`; the figures of all benchmarks are in the JSON files beside their plots.

`make bench` runs all of them, `.venv/bin/python -m bench NAME` one. They need no network and no service:
the model is scripted and answers at once, Postgres comes from a package and is gone afterwards, as are all
databases. Times are ratios of pieces of work of the same run; milliseconds are given so that a ratio can be
judged, and mean nothing on another machine.
"""


class Benchmark(Protocol):
    """A module that measures."""

    __doc__: str | None

    async def measure(self) -> dict[str, Any]:
        """The result at full size, as JSON values."""
        ...

    def drawn(self, result: dict[str, Any]) -> str:
        """The result as SVG."""
        ...

    def rows(self, result: dict[str, Any]) -> list[tuple[str, str, str]]:
        """Figure, value and aim (or ""), for the README."""
        ...


def write(name: str, benchmark: Benchmark, result: dict[str, Any], *, out: Path = OUT) -> None:
    """Write the result and its plot."""
    out.mkdir(exist_ok=True)
    text = json.dumps(result, indent=1, ensure_ascii=False)
    (out / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    (out / f"{name}.svg").write_text(benchmark.drawn(result), encoding="utf-8")


def write_readme(benchmarks: Mapping[str, Benchmark], *, out: Path = OUT) -> None:
    """Write the README from the results that are there, those of earlier runs too."""
    parts = [_HEAD]
    for name, benchmark in benchmarks.items():
        file = out / f"{name}.json"
        if file.is_file():
            parts.append(_section(name, benchmark, json.loads(file.read_text(encoding="utf-8"))))
    (out / "README.md").write_text("\n".join(parts), encoding="utf-8")


def _section(name: str, benchmark: Benchmark, result: dict[str, Any]) -> str:
    lines = [f"| {figure} | {value} | {aim} |" for figure, value, aim in benchmark.rows(result)]
    table = "\n".join(["| figure | value | aim |", "|---|---|---|", *lines])
    about = (benchmark.__doc__ or "").strip()
    machine = f"Measured on {sentence(result['machine'])}."
    return f"## {name}\n\n{about}\n\n{table}\n\n{machine}\n\n![{name}]({name}.svg)\n"
