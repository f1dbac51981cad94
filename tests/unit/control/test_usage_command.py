"""`signalbox usage` as people meet it, against served routes and a real ledger."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from assistants.cli.usage import WIDTH, cells, table
from tests.unit.control.reports import Office, office
from tests.unit.server.reporting import DAY, R1, R2, figures, model, token, tool, turn

pytestmark = pytest.mark.anyio

PERIOD = " ".join(f"--{name} {value}" for name, value in DAY.items())


@pytest.fixture
async def here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Office]:
    monkeypatch.chdir(tmp_path)
    async with office(tmp_path, capsys) as one:
        yield one


async def used(here: Office) -> None:
    ledger = here.desk.ledger
    await model(ledger, micros=1_234_567, latency_ms=1800)
    await model(ledger, micros=350, latency_ms=800, estimated=True, outcome="rate_limited")
    await tool(ledger, latency_ms=20)
    await tool(ledger, outcome="tool_denied", latency_ms=1)
    await tool(ledger, turn("m2"), outcome="tool_failed", latency_ms=30)
    await model(ledger, turn(tenant="globex", release=R2), run="run9", micros=10)


EXPECTED = """\
Usage, 2026-03-01 00:00 to 2026-03-02 00:00 (UTC)
Assistant       Runs     Models     Tools     p95 ms               USD

acme/support    1 run    2 calls    3 calls   model 1,800     1.234917
r-3f9a1c        2 turns  1 failed   1 failed  tools 30
                0 steps  2,000 in   1 denied
                         100 out    0 held
                         1 guessed

globex/support  1 run    1 call     0 calls   model 800       0.000010
r-3f9a1d        1 turn   0 failed   0 failed
                0 steps  1,000 in   0 denied
                         50 out     0 held

Total           2 runs   3 calls    3 calls                   1.234927
                3 turns  1 failed   1 failed
                0 steps  3,000 in   1 denied
                         150 out    0 held
                         1 guessed
"""


def stripped(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


async def test_figures_are_shown_as_a_table_that_is_plain_when_it_is_piped(here: Office) -> None:
    await used(here)
    code, out, err = await here.run(f"usage {PERIOD}")
    assert (code, err) == (0, "")
    assert stripped(out) == EXPECTED
    assert "\x1b" not in out
    assert max(len(line) for line in out.splitlines()) <= WIDTH == 100


async def test_a_narrow_terminal_loses_no_digit(here: Office) -> None:
    await used(here)
    os.environ.update({"FORCE_COLOR": "1", "COLUMNS": "40"})
    _, out, _ = await here.run(f"usage {PERIOD}")
    assert "\x1b[1m" in out
    assert stripped(re.sub(r"\x1b\[[0-9;]*m", "", out)) == EXPECTED


async def test_json_is_what_the_server_answers(here: Office) -> None:
    await used(here)
    code, out, err = await here.run(f"usage {PERIOD} --json")
    assert (code, err) == (0, "")
    assert json.loads(out) == (await here.desk.get("/ops/usage", **DAY)).json()


@pytest.mark.parametrize(
    ("words", "micros"),
    [
        ("--tenant globex", [10]),
        ("--assistant support", [1_234_917, 10]),
        ("--assistant plain", []),
        ("--release r-3f9a1d", [10]),
        (f"--release {R1}", [1_234_917]),
    ],
)
async def test_every_filter_reaches_the_server(here: Office, words: str, micros: list[int]) -> None:
    await used(here)
    _, out, _ = await here.run(f"usage {PERIOD} --json {words}")
    assert [row["micros"] for row in json.loads(out)["rows"]] == micros


async def test_nothing_used_is_said_and_no_failure(here: Office) -> None:
    said = "Nothing was used: 2026-03-01 00:00 to 2026-03-02 00:00 (UTC).\n"
    assert await here.run(f"usage {PERIOD}") == (0, said, "")


async def test_a_given_token_reads_what_it_may(here: Office) -> None:
    await used(here)
    os.environ["SIGNALBOX_TOKEN"] = token("globex/bob user")
    _, out, _ = await here.run(f"usage {PERIOD} --json")
    assert [row["tenant"] for row in json.loads(out)["rows"]] == ["globex"]
    code, out, err = await here.run("usage --tenant acme")
    assert (code, out) == (1, "")
    assert err == (
        "signalbox: The server refused. 403: You may read your own organisation's figures only; leave the "
        "parameter 'tenant' out.\n"
    )


async def test_a_wrong_value_is_refused_in_the_server_s_words(here: Office) -> None:
    code, out, err = await here.run("usage --since 7x")
    assert (code, out) == (1, "")
    assert err.startswith("signalbox: The server refused. 422: Parameter 'since' is '7x'; expected an ISO")


async def test_without_a_server_there_is_a_hint(here: Office) -> None:
    os.environ["SIGNALBOX_URL"] = "http://127.0.0.1:9"
    said = "signalbox: no server answers; start one with 'make dev' or set SIGNALBOX_URL.\n"
    assert await here.run("usage") == (1, "", said)


async def test_without_a_token_the_way_to_one_is_told(here: Office) -> None:
    os.environ["SIGNALBOX_ENV"] = "prod"
    code, out, err = await here.run("usage")
    assert (code, out) == (1, "")
    assert "set SIGNALBOX_TOKEN" in err


def large(**named: Any) -> dict[str, Any]:
    """More than anybody will use in a period."""
    amounts = {name: 1_234_567 for name, value in figures().items() if value == 0}
    amounts |= {"tokens_in": 9_876_543_210, "tokens_out": 987_654_321}
    return {**amounts, "usd": "123456.789012", "approval_rate": 0.985, **named}


def test_large_figures_and_long_names_fit_into_100_columns_without_losing_a_digit() -> None:
    row = large(
        tenant="a-tenant-with-a-long-slug",
        assistant="an-assistant-with-a-long-name",
        release=R1,
        p95_ms={"summarization.before_model": 1_234_567},
    )
    console = Console(width=WIDTH)
    with console.capture() as captured:
        console.print(table([row], large()))
    lines = captured.get().splitlines()
    assert max(len(line) for line in lines) <= WIDTH
    text = " ".join(captured.get().split())
    assert "…" not in text
    for figure in ("9,876,543,210 in", "987,654,321 out", "123456.789012", "98% approved", "1,234,567 held"):
        assert text.count(figure) == 2
    column = lines[0].index("Runs")
    names = "".join(line[:column].strip() for line in lines)
    assert names == "Assistanta-tenant-with-a-long-slug/an-assistant-with-a-long-namer-3f9a1cTotal"


def test_releases_that_begin_alike_are_shown_apart() -> None:
    row = large(tenant="acme", assistant="support", release=R1, p95_ms={})
    alike = R1[:6] + "f" * 58
    assert cells(row, releases={R1, alike})[0] == "acme/support\nr-3f9a1c0"
    assert cells(row, releases={R1})[0] == "acme/support\nr-3f9a1c"


def test_an_approval_rate_is_shown_where_something_was_decided() -> None:
    none = large(approval_rate=None)
    assert "approved" not in cells(none)[3]
    assert cells(large(approval_rate=0.0))[3].endswith("\n0% approved")


def test_names_are_shown_as_they_are_and_not_as_markup() -> None:
    row = large(tenant="acme", assistant="support", release=R1, p95_ms={"[red]:x:": 5})
    console = Console(width=WIDTH)
    with console.capture() as captured:
        console.print(table([row], large()))
    assert "[red]:x: 5" in captured.get()
