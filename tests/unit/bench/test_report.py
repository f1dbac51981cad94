from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.machine import machine, sentence
from bench.report import write, write_readme

pytestmark = pytest.mark.anyio


class Apples:
    """How many apples."""

    async def measure(self) -> dict[str, Any]:
        return {"machine": machine(), "apples": 3}

    def drawn(self, result: dict[str, Any]) -> str:
        return f"<svg>{result['apples']}</svg>"

    def rows(self, result: dict[str, Any]) -> list[tuple[str, str, str]]:
        return [("apples", str(result["apples"]), "≥ 2")]


async def _written(out: Path) -> dict[str, Any]:
    apples = Apples()
    result = await apples.measure()
    write("apples", apples, result, out=out)
    return result


async def test_a_result_is_written_as_json_and_plot(tmp_path: Path) -> None:
    result = await _written(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "apples.json").read_text(encoding="utf-8")) == result
    assert (tmp_path / "out" / "apples.svg").read_text(encoding="utf-8") == "<svg>3</svg>"


async def test_the_readme_has_every_result_that_is_there(tmp_path: Path) -> None:
    result = await _written(tmp_path)
    write_readme({"apples": Apples(), "pears": Apples()}, out=tmp_path)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert (
        "## apples\n\nHow many apples.\n\n| figure | value | aim |\n|---|---|---|\n| apples | 3 | ≥ 2 |"
        in text
    )
    assert sentence(result["machine"]) in text
    assert "## pears" not in text


def test_the_machine_is_described_without_names_and_paths() -> None:
    facts = machine()
    text = sentence(facts)
    assert f"{facts['cores']} cores" in text
    assert "/" not in text
    assert facts["cores"] >= 1
    assert facts["memory_gb"] >= 1


def test_a_busy_machine_is_said_to_be_busy() -> None:
    quiet, busy = ({**machine(), "cores": 2, "load_before": load} for load in (1.9, 2.1))
    assert "busy" not in sentence(quiet)
    assert sentence(busy).endswith("busy with other work and times are rough")
