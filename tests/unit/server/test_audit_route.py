"""`GET /ops/audit` and `GET /ops/audit/verify` as they are served, over a real ledger."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import rfc8785
import sqlalchemy as sa

from agent.ledger import AuditFilter, Broken, Entry, Event, Head, Intact
from agent.ledger.tables import AUDIT, AUDIT_HEADS
from assistants.principal import principal
from assistants.server.audit import NDJSON, Check, Wanted, check, exported, forbidden, verdict, wanted
from assistants.server.query import QueryRefused
from tests.unit.ledger.racing import execute, untied
from tests.unit.server.reporting import NOON, R1, Desk, desk

pytestmark = pytest.mark.anyio

OPERATOR = principal("platform/ops", ["operator"])
APPROVER = principal("acme/boss", ["approver"])
ZEROS = "0" * 64
EVENTS = [
    Event("tool.denied", "acme/u1", thread="t1", turn="m1", run="run1", facts={"tool": "orders.refund"}),
    Event("approval.requested", "acme/u1", assistant="support", release=R1, thread="t1", turn="m1"),
    Event("approval.approved", "acme/u2", assistant="support", thread="t1", turn="m1", facts={"amount": 150}),
    Event("tool.failed", "acme/王", thread="t2", turn="m9", facts={"tool": "kb.search"}),
    Event("toolbox.opened", "acme/u1", thread="t2", turn="m9"),
]


@pytest.fixture
async def here(tmp_path: Path) -> AsyncGenerator[Desk]:
    async with desk(tmp_path) as one:
        yield one


async def written(here: Desk, *, tenant: str = "acme", times: int = 1) -> list[Entry]:
    return [
        await here.ledger.audit.append(tenant, event, now=NOON + timedelta(minutes=number))
        for number, event in enumerate(EVENTS * times)
    ]


def numbers(answer: Any) -> list[int]:
    return [entry["seq"] for entry in answer.json()["entries"]]


# Entries


async def test_entries_are_answered_oldest_first_with_everything_that_was_hashed(here: Desk) -> None:
    entries = await written(here)
    answer = await here.get("/ops/audit", tenant="acme")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {
        "tenant": "acme",
        "since": None,
        "until": None,
        "entries": [asdict(entry) for entry in entries],
        "next": None,
    }
    assert answer.json()["entries"][3]["actor"] == "acme/王"


async def test_whoever_has_an_export_can_check_its_hashes_without_this_program(here: Desk) -> None:
    await written(here)
    exported = [
        json.loads(line)
        for line in (await here.get("/ops/audit", tenant="acme", accept=NDJSON)).text.splitlines()
    ]
    before = ZEROS
    for entry in exported:
        body = {name: value for name, value in entry.items() if name != "hash"}
        assert entry["prev"] == before
        assert hashlib.sha256(rfc8785.dumps(body)).hexdigest() == entry["hash"]
        before = entry["hash"]
    assert len(exported) == 5


FILTERS: list[tuple[dict[str, Any], list[int]]] = [
    ({}, [1, 2, 3, 4, 5]),
    ({"action": "tool.denied"}, [1]),
    ({"action": "tool."}, [1, 4]),
    ({"action": "tool"}, []),
    ({"actor": "acme/u1"}, [1, 2, 5]),
    ({"actor": "acme/王"}, [4]),
    ({"assistant": "support"}, [2, 3]),
    ({"thread": "t2", "actor": "acme/u1"}, [5]),
    ({"turn": "m9"}, [4, 5]),
    ({"since": "2026-03-01T12:01:00Z", "until": "2026-03-01T12:03:00Z"}, [2, 3]),
    ({"after": 2}, [3, 4, 5]),
    ({"after": 2, "action": "tool."}, [4]),
    ({"after": 5}, []),
    ({"thread": "a\x00b"}, []),
]


@pytest.mark.parametrize(("given", "found"), FILTERS, ids=str)
async def test_a_filter_leaves_what_matches(here: Desk, given: dict[str, Any], found: list[int]) -> None:
    await written(here)
    await written(here, tenant="globex")
    answer = await here.get("/ops/audit", tenant="acme", **given)
    assert (answer.status_code, numbers(answer), answer.json()["next"]) == (200, found, None)
    assert {entry["tenant"] for entry in answer.json()["entries"]} <= {"acme"}


async def test_durations_are_told_as_the_moments_that_they_stood_for(here: Desk) -> None:
    now = datetime.now(UTC)
    for hours in (30, 20, 2):
        await here.ledger.audit.append("acme", EVENTS[0], now=now - timedelta(hours=hours))
    answer = await here.get("/ops/audit", tenant="acme", since="24h", until="10h")
    assert numbers(answer) == [2]
    since, until = (datetime.fromisoformat(answer.json()[name]) for name in ("since", "until"))
    assert until - since == timedelta(hours=14)
    assert timedelta(hours=24) <= datetime.now(UTC) - since < timedelta(hours=24, minutes=1)


@pytest.mark.parametrize("limit", [1, 2, 4, 5, 6, 1000])
async def test_pages_cover_every_entry_once_and_an_export_is_all_of_them(here: Desk, limit: int) -> None:
    entries = await written(here, times=2)
    await written(here, tenant="globex")
    after, pages = 0, list[list[Any]]()
    while True:
        found = (await here.get("/ops/audit", tenant="acme", after=after, limit=limit)).json()
        pages.append(found["entries"])
        if found["next"] is None:
            break
        assert found["next"] == found["entries"][-1]["seq"]
        after = found["next"]
    collected = [entry for page in pages for entry in page]
    assert collected == [asdict(entry) for entry in entries]
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert len(pages) == -(-10 // limit)
    export = await here.get("/ops/audit", tenant="acme", limit=limit, accept=NDJSON)
    assert export.headers["content-type"].partition(";")[0] == NDJSON
    assert [json.loads(line) for line in export.text.splitlines()] == collected
    assert export.text.endswith("\n")


async def test_a_filter_holds_on_every_page(here: Desk) -> None:
    await written(here, times=3)
    first = await here.get("/ops/audit", tenant="acme", action="tool.", limit=4)
    assert (numbers(first), first.json()["next"]) == ([1, 4, 6, 9], 9)
    second = await here.get("/ops/audit", tenant="acme", action="tool.", limit=4, after=9)
    assert (numbers(second), second.json()["next"]) == ([11, 14], None)
    export = await here.get("/ops/audit", tenant="acme", action="tool.", limit=4, after=1, accept=NDJSON)
    assert [json.loads(line)["seq"] for line in export.text.splitlines()] == [4, 6, 9, 11, 14]


async def test_an_export_of_nothing_is_empty(here: Desk) -> None:
    export = await here.get("/ops/audit", tenant="acme", accept=NDJSON)
    assert (export.status_code, export.content) == (200, b"")


@pytest.mark.parametrize(
    ("accept", "export"),
    [
        ("application/x-ndjson", True),
        ("text/html, Application/X-NDJSON;q=0.5", True),
        ("*/*", False),
        ("application/json", False),
        ("", False),
        ("application/x-ndjsonp", False),
    ],
)
def test_only_who_names_the_type_gets_an_export(accept: str, export: bool) -> None:  # noqa: FBT001
    assert exported(accept) is export


# Who may ask

ROLES: list[tuple[str, dict[str, str], int]] = [
    ("platform/ops operator", {"tenant": "acme"}, 200),
    ("platform/ops operator", {"tenant": "globex"}, 200),
    ("acme/olga operator", {"tenant": "globex"}, 200),
    ("acme/olga operator approver", {}, 422),
    ("acme/boss approver", {}, 200),
    ("acme/boss approver", {"tenant": "acme"}, 200),
    ("acme/boss approver user", {}, 200),
    ("acme/boss approver", {"tenant": "globex"}, 403),
    ("acme/boss approver", {"tenant": "nosuch"}, 403),
    ("acme/ann user", {}, 403),
    ("acme/ann user", {"tenant": "acme"}, 403),
    ("acme/ann user", {"tenant": "globex"}, 403),
]


@pytest.mark.parametrize("path", ["/ops/audit", "/ops/audit/verify"])
@pytest.mark.parametrize(("who", "given", "status"), ROLES, ids=str)
async def test_each_role_reads_what_it_may(
    here: Desk, path: str, who: str, given: dict[str, str], status: int
) -> None:
    await written(here)
    await written(here, tenant="globex", times=2)
    answer = await here.get(path, who, **given)
    assert answer.status_code == status
    if status != 200:
        assert list(answer.json()) == ["detail"]
        assert "globex" not in answer.text
        return
    tenant = given.get("tenant", "acme")
    assert answer.json()["tenant"] == tenant
    count = {"acme": 5, "globex": 10}[tenant]
    if path == "/ops/audit":
        assert {entry["tenant"] for entry in answer.json()["entries"]} == {tenant}
        assert len(answer.json()["entries"]) == count
    else:
        assert (answer.json()["verdict"], answer.json()["count"]) == ("intact", count)


@pytest.mark.parametrize("path", ["/ops/audit", "/ops/audit/verify"])
async def test_a_foreign_tenant_and_one_that_does_not_exist_are_refused_alike(here: Desk, path: str) -> None:
    await written(here, tenant="globex")
    answers = [await here.get(path, "acme/boss approver", tenant=name) for name in ("globex", "nosuch")]
    assert [answer.status_code for answer in answers] == [403, 403]
    assert answers[0].content == answers[1].content
    assert answers[0].json() == {
        "detail": "You may read your own organisation's audit only; leave the parameter 'tenant' out."
    }


async def test_an_export_meets_the_same_refusals(here: Desk) -> None:
    await written(here)
    refused = [
        await here.get("/ops/audit", "acme/ann user", accept=NDJSON),
        await here.get("/ops/audit", "globex/bob approver", tenant="acme", accept=NDJSON),
        await here.get("/ops/audit", accept=NDJSON),
    ]
    assert [answer.status_code for answer in refused] == [403, 403, 422]
    assert [list(answer.json()) for answer in refused] == [["detail"]] * 3


def test_a_second_tenant_does_not_hide_behind_the_first() -> None:
    assert forbidden(APPROVER, ["acme"]) is None
    for tenants in (["acme", "globex"], ["globex", "acme"]):
        refused = forbidden(APPROVER, tenants)
        assert refused is not None
        assert refused.status == 403
    assert wanted([("tenant", "globex")], APPROVER, now=NOON).tenant == "acme"
    assert check([("tenant", "globex")], APPROVER).tenant == "acme"
    unattended = forbidden(principal("acme/service", []), [])
    assert unattended is not None
    assert unattended.status == 403


async def test_an_operator_is_told_of_a_tenant_that_nobody_knows(here: Desk) -> None:
    """A typing error must not be answered with an intact chain."""
    answers = [await here.get(path, tenant="acmee") for path in ("/ops/audit", "/ops/audit/verify")]
    said = {"detail": "Nothing is known of tenant 'acmee'; the catalog has acme, globex."}
    assert [(answer.status_code, answer.json()) for answer in answers] == [(404, said)] * 2
    head = await here.get("/ops/audit/verify", tenant="acmee", seq=3, hash="a" * 64)
    assert (head.status_code, head.json()["verdict"]) == (200, "broken")
    await written(here, tenant="acmee")  # one that has left the catalog keeps its audit
    assert numbers(await here.get("/ops/audit", tenant="acmee")) == [1, 2, 3, 4, 5]
    assert numbers(await here.get("/ops/audit", tenant="acmee", action="nothing")) == []
    assert (await here.get("/ops/audit/verify", tenant="acmee")).json()["verdict"] == "intact"


# What is asked


def test_without_parameters_an_approver_asks_for_the_first_entries_of_its_tenant() -> None:
    assert wanted([], APPROVER, now=NOON) == Wanted("acme", AuditFilter())


def test_every_parameter_reaches_the_filter() -> None:
    given = {
        "tenant": "globex",
        "action": "tool.",
        "actor": "globex/bob",
        "assistant": "support",
        "thread": "t1",
        "turn": "m1",
        "since": "2h",
        "until": "1h",
        "after": "7",
        "limit": "1000",
    }
    assert wanted(given.items(), OPERATOR, now=NOON) == Wanted(
        "globex",
        AuditFilter(
            action="tool.",
            actor="globex/bob",
            assistant="support",
            thread="t1",
            turn="m1",
            since=NOON - timedelta(hours=2),
            until=NOON - timedelta(hours=1),
            after=7,
            limit=1000,
        ),
    )


CODE = "a code such as tool.denied, or its beginning with a dot at the end"
MOMENT = "an ISO 8601 time, or a duration back from now of at most 366d"
MOMENTS = "24h, 7d, 2026-03-01 or 2026-03-01T08:00:00Z"
WRONG: list[tuple[str, str, str, str]] = [
    ("tenant", "No", "a tenant's slug", "acme"),
    ("action", "", CODE, "tool."),
    ("action", "tool denied", CODE, "tool."),
    ("actor", "", "an id or a name", "acme/ann"),
    ("thread", "", "an id or a name", "a thread's id"),
    ("since", "yesterday", MOMENT, MOMENTS),
    ("until", "2026-02-30", MOMENT, MOMENTS),
    ("after", "-1", "a whole number of 0 or more", "200"),
    ("limit", "0", "a whole number from 1 to 1000", "200"),
    ("limit", "1001", "a whole number from 1 to 1000", "200"),
    ("seq", "five", "a whole number of 0 or more", "5"),
    ("hash", "abc", "64 hexadecimal digits", ZEROS),
]


@pytest.mark.parametrize(("name", "value", "expected", "example"), WRONG, ids=str)
async def test_a_wrong_parameter_is_named_with_what_was_expected_and_an_example(
    here: Desk, name: str, value: str, expected: str, example: str
) -> None:
    path = "/ops/audit/verify" if name in {"seq", "hash"} else "/ops/audit"
    answer = await here.get(path, **{"tenant": "acme", name: value})
    said = f"Parameter {name!r} is {value!r}; expected {expected}; for example {name}={example}."
    assert (answer.status_code, answer.json()) == (422, {"detail": said})


@pytest.mark.parametrize("path", ["/ops/audit", "/ops/audit/verify"])
async def test_an_operator_must_say_whose_audit(here: Desk, path: str) -> None:
    answer = await here.get(path)
    said = "Parameter 'tenant' is missing; an operator says whose audit; for example tenant=acme."
    assert (answer.status_code, answer.json()) == (422, {"detail": said})


def test_all_wrong_parameters_are_told_at_once() -> None:
    given = [("since", "1h"), ("until", "1h"), ("limits", "1")]
    with pytest.raises(QueryRefused) as caught:
        wanted(given, OPERATOR, now=NOON)
    assert caught.value.detail == (
        "Parameter 'limits' is not known; did you mean 'limit'? Parameter 'tenant' is missing; an operator "
        "says whose audit; for example tenant=acme. Parameter 'since' is not before 'until'; expected a "
        "period; for example since=7d."
    )


def test_a_head_is_a_number_with_its_hash() -> None:
    digest = "a" * 64
    assert check([("seq", "5"), ("hash", digest)], APPROVER) == Check("acme", Head(5, digest))
    assert check([("seq", "0"), ("hash", ZEROS)], APPROVER) == Check("acme", Head(0, ZEROS))
    assert check([], APPROVER) == Check("acme")
    for given in ([("seq", "5")], [("hash", digest)], [("seq", "0"), ("hash", digest)]):
        with pytest.raises(QueryRefused, match="'seq' and 'hash' are not a head; expected both as they were"):
            check(given, APPROVER)


# Verification


async def verdict_on(here: Desk, **parameters: Any) -> Any:
    answer = await here.get("/ops/audit/verify", tenant="acme", **parameters)
    assert answer.status_code == 200
    return answer.json()


async def test_a_whole_chain_is_intact_and_its_head_can_be_kept(here: Desk) -> None:
    assert await verdict_on(here) == {
        "tenant": "acme",
        "verdict": "intact",
        "count": 0,
        "head": {"seq": 0, "hash": ZEROS},
    }
    entries = await written(here)
    found = await verdict_on(here)
    assert found == {
        "tenant": "acme",
        "verdict": "intact",
        "count": 5,
        "head": {"seq": 5, "hash": entries[-1].hash},
    }
    await written(here)
    assert (await verdict_on(here, **found["head"]))["count"] == 10


def at(seq: int) -> sa.ColumnElement[bool]:
    return sa.and_(AUDIT.c.tenant == "acme", AUDIT.c.seq == seq)


async def test_a_row_that_was_changed_behind_the_products_back_is_found(here: Desk) -> None:
    await written(here)
    await written(here, tenant="globex")
    await untied(here.url)
    await execute(here.url, sa.update(AUDIT).where(at(3)).values(actor="acme/u9"))
    assert await verdict_on(here) == {
        "tenant": "acme",
        "verdict": "broken",
        "seq": 3,
        "reason": "altered",
        "detail": "Entry 3 is not what was written: it was changed, moved or put in.",
    }
    other = await here.get("/ops/audit/verify", tenant="globex")
    assert other.json()["verdict"] == "intact"


async def test_a_cut_tail_is_found_with_the_head_that_was_remembered(here: Desk) -> None:
    entries = await written(here)
    head = (await verdict_on(here))["head"]
    await untied(here.url)
    await execute(
        here.url,
        sa.delete(AUDIT).where(AUDIT.c.seq > 3),
        sa.update(AUDIT_HEADS).values(seq=3, hash=entries[2].hash),
    )
    assert (await verdict_on(here))["verdict"] == "intact"  # which is why a head is kept elsewhere
    assert await verdict_on(here, **head) == {
        "tenant": "acme",
        "verdict": "broken",
        "seq": 4,
        "reason": "missing",
        "detail": "Entry 4 is missing: it was removed, or the chain was cut off before it.",
    }


async def test_a_chain_that_was_written_anew_is_found_with_the_head_that_was_remembered(here: Desk) -> None:
    await written(here)
    head = (await verdict_on(here))["head"]
    await untied(here.url)
    await execute(here.url, sa.delete(AUDIT), sa.delete(AUDIT_HEADS))
    for event in EVENTS:
        await here.ledger.audit.append("acme", replace(event, actor="acme/u9"), now=NOON)
    assert (await verdict_on(here))["verdict"] == "intact"
    assert await verdict_on(here, **head) == {
        "tenant": "acme",
        "verdict": "broken",
        "seq": 5,
        "reason": "not_the_head",
        "detail": "Entry 5 is not the one that was the head: the chain was written anew up to it.",
    }


async def test_bytes_that_are_no_text_can_be_read_and_are_found(here: Desk) -> None:
    await written(here)
    await untied(here.url)
    with closing(sqlite3.connect(here.file)) as connection, connection:
        changed = connection.execute(
            "UPDATE ledger_audit SET actor = CAST(x'ff' || substr(actor, 2) AS TEXT) WHERE seq = 4"
        )
        assert changed.rowcount == 1
    assert (await verdict_on(here))["seq"] == 4
    page = await here.get("/ops/audit", tenant="acme")
    assert page.status_code == 200
    assert page.json()["entries"][3]["actor"] == "\udcffcme/王"
    export = await here.get("/ops/audit", tenant="acme", accept=NDJSON)
    assert [json.loads(line) for line in export.text.splitlines()] == page.json()["entries"]


@pytest.mark.parametrize("reason", ["missing", "altered", "not_the_head"])
def test_every_reason_has_a_sentence(reason: Any) -> None:
    said = verdict("acme", Broken(7, reason))
    assert said["detail"].startswith("Entry 7 is ")
    assert (said["seq"], said["reason"]) == (7, reason)
    assert "detail" not in verdict("acme", Intact(0, Head(0, ZEROS)))
