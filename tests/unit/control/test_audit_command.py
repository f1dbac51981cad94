"""`signalbox audit` as people meet it, against served routes and a real ledger."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from agent.ledger import Entry, Event
from agent.ledger.tables import AUDIT, AUDIT_HEADS
from assistants.cli.audit import shown
from tests.unit.control.reports import Office, office
from tests.unit.ledger.racing import execute, untied
from tests.unit.server.reporting import NOON, R1, token

pytestmark = pytest.mark.anyio

EVENTS = [
    Event("tool.denied", "acme/u1", thread="t1", turn="m1", facts={"tool": "orders.refund", "amount": 150}),
    Event("approval.requested", "acme/u1", assistant="support", release=R1, thread="t1", run="run1"),
    Event("approval.approved", "acme/王", assistant="support", thread="t1", turn="m1"),
]


SHOWN = """\
    1  2026-03-01T12:00:00Z  tool.denied  acme/u1
       thread t1  turn m1
       amount=150  tool=orders.refund
    2  2026-03-01T12:01:00Z  approval.requested  acme/u1
       assistant support  release r-3f9a1c  thread t1  run run1
    3  2026-03-01T12:02:00Z  approval.approved  acme/王
       assistant support  thread t1  turn m1
"""


@pytest.fixture
async def here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Office]:
    monkeypatch.chdir(tmp_path)
    async with office(tmp_path, capsys) as one:
        yield one


async def written(here: Office, *, tenant: str = "acme") -> list[Entry]:
    return [
        await here.desk.ledger.audit.append(tenant, event, now=NOON + timedelta(minutes=number))
        for number, event in enumerate(EVENTS)
    ]


async def test_entries_are_shown_oldest_first(here: Office) -> None:
    await written(here)
    assert await here.run("audit --tenant acme") == (0, SHOWN, "")


async def test_the_way_to_the_next_page_is_told(here: Office) -> None:
    await written(here)
    code, out, _ = await here.run("audit --tenant acme --limit 2")
    assert (code, out.splitlines()[-1]) == (0, "There is more: --after 2")
    code, out, _ = await here.run("audit --tenant acme --limit 2 --after 2")
    assert (code, len(out.splitlines())) == (0, 2)
    assert "approval.approved" in out


async def test_no_entry_is_said_and_no_failure(here: Office) -> None:
    assert await here.run("audit --tenant acme") == (0, "acme: no entry matches.\n", "")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("--action approval.", [2, 3]),
        ("--action tool.denied", [1]),
        ("--actor acme/王", [3]),
        ("--assistant support", [2, 3]),
        ("--thread t1 --turn m1", [1, 3]),
        ("--thread t2", []),
        ("--since 2026-03-01T12:01:00Z --until 2026-03-01T12:02:00Z", [2]),
        ("--limit 1 --after 1", [2]),
    ],
)
async def test_every_filter_reaches_the_server(here: Office, words: str, found: list[int]) -> None:
    await written(here)
    code, out, err = await here.run(f"audit --tenant acme --json {words}")
    assert (code, err) == (0, "")
    assert [entry["seq"] for entry in json.loads(out)["entries"]] == found


async def test_an_export_is_every_entry_one_a_line_whatever_the_size_of_pages(here: Office) -> None:
    entries = await written(here)
    for words in ("", " --limit 1"):
        code, out, err = await here.run(f"audit --tenant acme --ndjson{words}")
        assert (code, err) == (0, "")
        assert [json.loads(line) for line in out.splitlines()] == [asdict(entry) for entry in entries]


async def test_an_operator_is_asked_whose_audit_and_an_approver_is_not(here: Office) -> None:
    await written(here)
    said = (
        "signalbox: Signalbox could not do what was asked. Say whose audit: --tenant acme; 'signalbox ids' "
        "lists the tenants.\n"
    )
    for words in ("audit", "audit --verify", "audit --ndjson"):
        assert await here.run(words) == (1, "", said)
    os.environ["SIGNALBOX_TOKEN"] = token("acme/boss approver")
    code, out, _ = await here.run("audit --verify")
    assert (code, out.splitlines()[0]) == (0, "acme: intact, 3 entries.")


@pytest.mark.parametrize("words", ["", " --json", " --ndjson", " --verify"])
async def test_what_the_server_refuses_is_told(here: Office, words: str) -> None:
    os.environ["SIGNALBOX_TOKEN"] = token("acme/ann user")
    said = "Reading the audit belongs to approvers and operators; ask one of them."
    assert await here.run(f"audit{words}") == (1, "", f"signalbox: The server refused. 403: {said}\n")


# Verification


async def head_of(here: Office) -> str:
    code, out, err = await here.run("audit --tenant acme --verify")
    assert (code, err) == (0, "")
    return out.splitlines()[-1].removeprefix("Keep this head elsewhere: ")


async def test_an_intact_chain_is_exit_code_0_and_its_head_can_be_kept(here: Office) -> None:
    entries = await written(here)
    head = await head_of(here)
    assert head == f"3:{entries[-1].hash}"
    await written(here)
    code, out, _ = await here.run(f"audit --tenant acme --verify --head {head}")
    assert (code, out.splitlines()[0]) == (0, "acme: intact, 6 entries.")


async def test_a_broken_chain_is_exit_code_1_and_says_where_and_why(here: Office) -> None:
    await written(here)
    await untied(here.desk.url)
    await execute(here.desk.url, sa.update(AUDIT).where(AUDIT.c.seq == 2).values(actor="acme/u9"))
    why = "Entry 2 is not what was written: it was changed, moved or put in."
    said = f"acme: BROKEN at entry 2 (altered). {why}\n"
    assert await here.run("audit --tenant acme --verify") == (1, said, "")
    code, out, _ = await here.run("audit --tenant acme --verify --json")
    assert (code, json.loads(out)["verdict"]) == (1, "broken")


async def test_a_cut_chain_does_not_fit_the_head_that_was_kept(here: Office) -> None:
    entries = await written(here)
    head = await head_of(here)
    await untied(here.desk.url)
    await execute(
        here.desk.url,
        sa.delete(AUDIT).where(AUDIT.c.seq == 3),
        sa.update(AUDIT_HEADS).values(seq=2, hash=entries[1].hash),
    )
    assert (await here.run("audit --tenant acme --verify"))[0] == 0
    code, out, _ = await here.run(f"audit --tenant acme --verify --head {head}")
    assert (code, out[:40]) == (1, "acme: BROKEN at entry 3 (missing). Entry")


async def test_a_misspelt_tenant_is_no_intact_chain(here: Office) -> None:
    code, out, err = await here.run("audit --tenant acmee --verify")
    assert (code, out) == (1, "")
    assert "Nothing is known of tenant 'acmee'" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--verify --action tool.", "--verify reads the whole chain; leave out --action."),
        ("--verify --limit 5", "--verify reads the whole chain; leave out --limit."),
        ("--verify --ndjson", "--verify prints no entries; leave out --ndjson."),
        (f"--head 3:{'a' * 64}", "--head is what --verify compares with; add --verify."),
        ("--json --ndjson", "--json prints one page, --ndjson all entries; choose one."),
        (
            "--verify --head 3",
            "--head is '3'; expected SEQ:HASH as 'signalbox audit --verify' prints it.",
        ),
    ],
)
async def test_words_that_do_not_go_together_are_refused(here: Office, words: str, said: str) -> None:
    code, out, err = await here.run(f"audit --tenant acme {words}")
    assert (code, out) == (1, "")
    assert err == f"signalbox: Signalbox could not do what was asked. {said}\n"


# What is printed of an entry


def entry(**changes: Any) -> dict[str, Any]:
    texts = dict.fromkeys(("assistant", "release", "thread", "turn", "run"), "")
    base = {"seq": 7, "at": "2026-03-01T12:00:00.000000Z", "action": "a.b", "actor": "acme/u1", "facts": "{}"}
    return {**base, **texts, **changes}


def test_an_entry_without_references_or_facts_is_one_line() -> None:
    assert shown(entry()).plain == "    7  2026-03-01T12:00:00Z  a.b  acme/u1"


def test_facts_are_shown_as_values() -> None:
    text = shown(entry(facts='{"amount":1.5,"dry":true,"tool":"orders.refund","why":null}')).plain
    assert text.splitlines()[1] == "       amount=1.5  dry=true  tool=orders.refund  why=null"


@pytest.mark.parametrize("facts", ["{not json", "[1, 2]", "5"])
def test_a_tampered_entry_is_shown_as_it_is(facts: str) -> None:
    assert shown(entry(facts=facts)).plain.splitlines()[1] == f"       {facts}"


def test_nothing_of_an_entry_steers_a_terminal_or_breaks_the_output() -> None:
    text = shown(entry(actor="\x1b[31m\udcff", thread="a\nb", facts='{"k":"\\u001b]0;x"}')).plain
    assert text == (
        "    7  2026-03-01T12:00:00Z  a.b  \\x1b[31m\\udcff\n       thread a\\nb\n       k=\\x1b]0;x"
    )
