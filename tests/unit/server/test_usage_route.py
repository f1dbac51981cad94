"""`GET /ops/usage` as it is served, over a real ledger."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.context import Limits
from agent.ledger import Period, Reservation, Spend
from assistants.principal import Principal, principal
from assistants.server.access import Refused
from assistants.server.query import QueryRefused
from assistants.server.usage import Wanted, forbidden, usd, wanted
from tests.unit.ledger.samples import asking, saying
from tests.unit.server.reporting import DAY, NOON, R1, R2, Desk, desk, figures, model, tool, turn

pytestmark = pytest.mark.anyio

OPERATOR = principal("platform/ops", ["operator"])
USER = principal("acme/ann", ["user"])
APPROVER = principal("acme/boss", ["approver"])
SCHEDULE = principal("acme/service", [])


@pytest.fixture
async def here(tmp_path: Path) -> AsyncGenerator[Desk]:
    async with desk(tmp_path) as one:
        yield one


async def used(here: Desk) -> None:
    """Two releases of acme's support, its plain assistant, and globex, each with a price of its own."""
    turns = [turn(), turn(release=R2), turn(assistant="plain"), turn(tenant="globex")]
    for number, of in enumerate(turns):
        await model(here.ledger, of, micros=10**number, run=f"run{number}")


def keys(answer: Any) -> list[tuple[str, str, str, int]]:
    return [(row["tenant"], row["assistant"], row["release"], row["micros"]) for row in answer.json()["rows"]]


EVERYTHING = [
    ("acme", "plain", R1, 100),
    ("acme", "support", R1, 1),
    ("acme", "support", R2, 10),
    ("globex", "support", R1, 1000),
]


# What is answered


async def test_nothing_used_is_no_row_and_totals_of_nothing(here: Desk) -> None:
    answer = await here.get("/ops/usage", **DAY)
    assert answer.status_code == 200
    assert answer.json() == {
        "since": "2026-03-01T00:00:00.000000Z",
        "until": "2026-03-02T00:00:00.000000Z",
        "rows": [],
        "totals": figures(),
    }


async def test_a_run_with_tools_is_counted_once_and_each_of_its_calls_once(here: Desk) -> None:
    """Totals count root spans only: a run that encloses calls adds nothing to what they cost."""
    held = await here.ledger.budgets.reserve(turn(), spend=Spend(steps=3), limits=Limits(), now=NOON)
    assert isinstance(held, Reservation)
    await model(here.ledger, micros=350)
    await tool(here.ledger, call_id="call1")
    await tool(here.ledger, call_id="call2", outcome="tool_failed", latency_ms=40)
    await tool(here.ledger, call_id="call3", outcome="tool_denied", latency_ms=1)
    await model(here.ledger, micros=1_000_000, tokens_in=2000, tokens_out=70, estimated=True, latency_ms=900)
    expected = figures(
        runs=1,
        turns=1,
        steps=3,
        model_calls=2,
        tokens_in=3000,
        tokens_out=120,
        estimated_calls=1,
        micros=1_000_350,
        usd="1.000350",
        tool_calls=3,
        tool_failures=1,
        denials=1,
    )
    found = (await here.get("/ops/usage", **DAY)).json()
    (row,) = found["rows"]
    named = {"tenant": "acme", "assistant": "support", "release": R1}
    assert row == {**named, **expected, "p95_ms": {"model": 900, "tools": 40}}
    assert found["totals"] == expected


async def test_totals_are_the_sums_of_what_is_returned(here: Desk) -> None:
    await used(here)
    await model(here.ledger, turn(tenant="globex", id="m2"), run="run9", outcome="rate_limited", micros=5)
    everybody = (await here.get("/ops/usage", **DAY)).json()
    assert everybody["totals"] == figures(
        runs=5,
        turns=5,
        model_calls=5,
        model_failures=1,
        tokens_in=5000,
        tokens_out=250,
        micros=1116,
        usd="0.001116",
    )
    acme = (await here.get("/ops/usage", tenant="acme", **DAY)).json()
    assert (acme["totals"]["micros"], acme["totals"]["runs"], acme["totals"]["usd"]) == (111, 3, "0.000111")


async def test_the_approval_rate_of_totals_is_over_all_decisions(here: Desk) -> None:
    """Not the mean of the rows' rates: 1 of 1 and 1 of 3 is 2 of 4."""
    decided: list[tuple[str, Any]] = [
        ("plain", "approve"),
        *(("support", decision) for decision in ("approve", "reject", "reject", None)),
    ]
    for number, (assistant, decision) in enumerate(decided):
        request = asking(assistant=assistant, release=R1, call_id=f"call{number}")
        approval = await here.ledger.approvals.request(request)
        if decision is not None:
            await here.ledger.approvals.decide("acme", approval.id, saying(decision), now=NOON)
    found = (await here.get("/ops/usage", **DAY)).json()
    rates = {row["assistant"]: (row["interrupts"], row["approval_rate"]) for row in found["rows"]}
    assert rates == {"plain": (1, 1.0), "support": (4, 1 / 3)}
    assert found["totals"] == figures(interrupts=5, approved=2, rejected=2, approval_rate=0.5)


FILTERS: list[tuple[dict[str, str], list[int]]] = [
    ({}, [0, 1, 2, 3]),
    ({"tenant": "acme"}, [0, 1, 2]),
    ({"tenant": "globex"}, [3]),
    ({"assistant": "support"}, [1, 2, 3]),
    ({"tenant": "acme", "assistant": "support"}, [1, 2]),
    ({"release": R2}, [2]),
    ({"release": "r-3f9a1d"}, [2]),
    ({"release": "r-3f9a1c"}, [0, 1, 3]),
    ({"release": "r-aaaaaa"}, []),
    ({"tenant": "acme", "assistant": "plain", "release": R1}, [0]),
]


@pytest.mark.parametrize(("given", "rows"), FILTERS, ids=str)
async def test_a_filter_leaves_what_matches(here: Desk, given: dict[str, str], rows: list[int]) -> None:
    await used(here)
    answer = await here.get("/ops/usage", **DAY, **given)
    assert answer.status_code == 200
    assert keys(answer) == [EVERYTHING[number] for number in rows]
    assert answer.json()["totals"]["micros"] == sum(EVERYTHING[number][3] for number in rows)


async def test_by_default_the_last_24_hours_are_told(here: Desk) -> None:
    now = datetime.now(UTC)
    for number, hours in enumerate((1, 23, 25, 24 * 6, 24 * 8)):
        await model(here.ledger, at=now - timedelta(hours=hours), micros=10**number)
    asked: list[dict[str, str]] = [{}, {"since": "7d"}, {"since": "7d", "until": "24h"}, {"until": "2h"}]
    found = [(await here.get("/ops/usage", **given)).json()["totals"]["micros"] for given in asked]
    assert found == [11, 1111, 1100, 110]


# Who may ask

OWN = [EVERYTHING[number] for number in (0, 1, 2)]
ROLES: list[tuple[str, dict[str, str], Any]] = [
    ("platform/ops operator", {}, EVERYTHING),
    ("platform/ops operator", {"tenant": "globex"}, EVERYTHING[3:]),
    ("acme/olga operator", {}, EVERYTHING),
    ("acme/olga operator user", {"tenant": "globex"}, EVERYTHING[3:]),
    ("acme/ann user", {}, OWN),
    ("acme/ann user", {"tenant": "acme"}, OWN),
    ("acme/boss approver", {}, OWN),
    ("acme/boss approver user", {"tenant": "acme"}, OWN),
    ("globex/bob user", {}, EVERYTHING[3:]),
    ("globex/bob user", {"release": R2}, []),
    ("globex/bob user", {"assistant": "plain"}, []),
    ("acme/ann user", {"tenant": "globex"}, 403),
    ("acme/boss approver", {"tenant": "globex"}, 403),
    ("acme/ann user", {"tenant": "nosuch"}, 403),
    ("acme/ann user", {"tenant": "No Slug"}, 403),
]


@pytest.mark.parametrize(("who", "given", "expected"), ROLES, ids=str)
async def test_each_role_reads_what_it_may(
    here: Desk, who: str, given: dict[str, str], expected: Any
) -> None:
    await used(here)
    answer = await here.get("/ops/usage", who, **DAY, **given)
    if expected == 403:
        assert (answer.status_code, list(answer.json())) == (403, ["detail"])
    else:
        assert (answer.status_code, keys(answer)) == (200, expected)


async def test_a_foreign_tenant_and_one_that_does_not_exist_are_refused_alike(here: Desk) -> None:
    await used(here)
    answers = [await here.get("/ops/usage", "acme/ann user", tenant=name) for name in ("globex", "nosuch")]
    assert [answer.status_code for answer in answers] == [403, 403]
    assert answers[0].content == answers[1].content
    assert answers[0].json() == {
        "detail": "You may read your own organisation's figures only; leave the parameter 'tenant' out."
    }


def test_a_second_tenant_does_not_hide_behind_the_first() -> None:
    assert forbidden(USER, ["acme", "globex"]) == forbidden(USER, ["globex", "acme"])
    assert isinstance(forbidden(USER, ["globex", "acme"]), Refused)
    assert forbidden(USER, ["acme"]) is None
    assert forbidden(SCHEDULE, []) == Refused(403, "Your roles do not allow this; ask an operator.")


@pytest.mark.parametrize("who", [USER, APPROVER])
def test_whoever_is_no_operator_asks_for_their_own_tenant_whatever_they_say(who: Principal) -> None:
    assert wanted([], who, now=NOON).period.tenant == "acme"
    assert wanted([("tenant", "globex")], who, now=NOON).period.tenant == "acme"


async def test_an_operator_is_told_of_a_tenant_that_nobody_knows(here: Desk) -> None:
    answer = await here.get("/ops/usage", tenant="acmee", **DAY)
    assert answer.status_code == 404
    assert answer.json() == {"detail": "Nothing is known of tenant 'acmee'; the catalog has acme, globex."}
    await model(here.ledger, turn(tenant="acmee"))  # a tenant that has left the catalog still has its figures
    assert [key[0] for key in keys(await here.get("/ops/usage", tenant="acmee", **DAY))] == ["acmee"]
    assert (await here.get("/ops/usage", tenant="platform", **DAY)).json()["rows"] == []


# What is asked


def test_a_request_without_parameters_is_for_the_last_24_hours_of_everybody() -> None:
    assert wanted([], OPERATOR, now=NOON) == Wanted(Period(NOON - timedelta(hours=24), NOON))


def test_every_parameter_reaches_the_period() -> None:
    given = [
        ("since", "2026-02-28T12:30:00+01:00"),
        ("until", "30m"),
        ("tenant", "globex"),
        ("assistant", "support"),
        ("release", R1),
    ]
    assert wanted(given, OPERATOR, now=NOON) == Wanted(
        Period(
            datetime(2026, 2, 28, 11, 30, tzinfo=UTC),
            NOON - timedelta(minutes=30),
            "globex",
            "support",
        ),
        R1,
    )


MOMENT = "an ISO 8601 time, or a duration back from now of at most 366d"
MOMENTS = "24h, 7d, 2026-03-01 or 2026-03-01T08:00:00Z"
NAME = "an assistant's name without its tenant"
DIGEST = "64 hexadecimal digits, or r- and the first 6 or more"
WRONG: list[tuple[str, str, str, str]] = [
    ("since", "7x", MOMENT, MOMENTS),
    ("until", "", MOMENT, MOMENTS),
    ("tenant", "No", "a tenant's slug", "acme"),
    ("assistant", "acme/support", NAME, "support"),
    ("release", "3f9a1c", DIGEST, "r-3f9a1c"),
]


@pytest.mark.parametrize(("name", "value", "expected", "example"), WRONG, ids=str)
async def test_a_wrong_parameter_is_named_with_what_was_expected_and_an_example(
    here: Desk, name: str, value: str, expected: str, example: str
) -> None:
    answer = await here.get("/ops/usage", **{name: value})
    said = f"Parameter {name!r} is {value!r}; expected {expected}; for example {name}={example}."
    assert (answer.status_code, answer.json()) == (422, {"detail": said})


async def test_a_misspelt_parameter_does_not_widen_what_is_answered(here: Desk) -> None:
    await used(here)
    answer = await here.get("/ops/usage", tennant="acme", **DAY)
    said = "Parameter 'tennant' is not known; did you mean 'tenant'?"
    assert (answer.status_code, answer.json()) == (422, {"detail": said})


@pytest.mark.parametrize("until", ["1h", "2h"])
def test_a_period_has_a_beginning_before_its_end(until: str) -> None:
    with pytest.raises(QueryRefused, match="'since' is not before 'until'; expected a period"):
        wanted([("since", "1h"), ("until", until)], OPERATOR, now=NOON)


def test_all_wrong_parameters_are_told_at_once() -> None:
    given = [("tenant", "acme"), ("tenant", "globex"), ("since", "soon"), ("zone", "UTC")]
    with pytest.raises(QueryRefused) as caught:
        wanted(given, OPERATOR, now=NOON)
    assert caught.value.detail == (
        "Parameter 'tenant' comes more than once; expected it once. Parameter 'zone' is not known; expected "
        "one of assistant, release, since, tenant, until. Parameter 'since' is 'soon'; expected an ISO 8601 "
        "time, or a duration back from now of at most 366d; for example since=24h, 7d, 2026-03-01 or "
        "2026-03-01T08:00:00Z."
    )


@pytest.mark.parametrize(
    ("micros", "dollars"),
    [(0, "0.000000"), (1, "0.000001"), (1_000_000, "1.000000"), (2**53 + 1, "9007199254.740993")],
)
def test_money_is_exact(micros: int, dollars: str) -> None:
    assert usd(micros) == dollars
