"""The routes' own decisions; what the server does with them is in `tests/server/test_approvals.py`."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from langgraph_sdk.errors import APIStatusError
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, BaseUser
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.ledger import Approval, Verdict
from agent.ledger.identity import stored
from agent.tools.shipped import ledger, shop
from assistants.principal import Principal
from assistants.server import deployment as deployed
from assistants.server.access import Refused
from assistants.server.app import app
from assistants.server.approvals import Body, body, forbidden, passed_on, shown, visible
from tests.support.server import SECRET
from tests.unit.server.catalogs import found, written
from tests.unit.server.waits import ANN, BOSS, NOON, ONE, OPERATOR, THREE, TWO, asked, edit

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ({"decision": "approve"}, {"decisions": [{"type": "approve"}]}),
        (
            {"decision": "reject", "reason": "no"},
            {"decisions": [{"type": "reject", "message": "no"}]},
        ),
        ({"decision": "edit", "arguments": {"amount": 1}}, edit({"amount": 1})),
        ({"decision": "edit", "arguments": {}, "reason": None}, edit({})),
    ],
)
def test_a_body_is_an_answer_in_langchain_s_form(given: object, answer: object) -> None:
    said = body(given)
    assert isinstance(said, Body)
    assert said.answer("orders_refund") == answer


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        "approve",
        {},
        {"decision": None},
        {"decision": "respond"},
        {"decision": ["approve"]},
        {"decision": "edit"},
        {"decision": "edit", "arguments": []},
        {"decision": "approve", "arguments": {}},
        {"decision": "reject", "reason": 5},
        {"decision": "approve", "by": "acme/boss"},
    ],
    ids=str,
)
def test_any_other_body_is_refused_with_the_right_one(given: object) -> None:
    refused = body(given)
    assert isinstance(refused, Refused)
    assert (refused.status, '"decision": "approve" | "edit" | "reject"' in refused.detail) == (422, True)


def test_a_record_is_shown_as_json() -> None:
    record = asked(
        state="edited",
        decided_by="acme/boss",
        decided_at=NOON,
        edited={"order": 1001, "amount": 1},
        reason="less",
        consumed_at=NOON + timedelta(minutes=1),
    )
    found = shown(record, now=NOON)
    assert json.loads(json.dumps(found)) == {
        "id": record.id,
        "state": "edited",
        "proposal": False,
        "tenant": "acme",
        "assistant": "support",
        "release": "r1",
        "thread": "t1",
        "interrupt": record.request.interrupt,
        "tool": "orders.refund",
        "arguments": {"order": 1001, "amount": 150},
        "requester": "acme/ann",
        "role": "approver",
        "self_approval": False,
        "decisions": ["approve", "edit", "reject"],
        "created_at": "2026-03-01T12:00:00.000000Z",
        "expires_at": "2026-03-01T13:00:00.000000Z",
        "decided_by": "acme/boss",
        "decided_at": "2026-03-01T12:00:00.000000Z",
        "edited": {"order": 1001, "amount": 1},
        "reason": "less",
        "executed_at": "2026-03-01T12:01:00.000000Z",
    }


def test_what_is_late_is_shown_as_expired_before_it_is_closed() -> None:
    record = asked(None)
    assert shown(record, now=NOON)["state"] == "pending"
    late = shown(record, now=NOON + timedelta(hours=1))
    assert (late["state"], late["proposal"], late["executed_at"]) == ("expired", True, None)


def test_everybody_reads_the_own_tenant_and_operators_all() -> None:
    for who in (ANN, BOSS):
        assert forbidden(who, []) is forbidden(who, ["acme"]) is None
        foreign = forbidden(who, ["globex"])
        assert isinstance(foreign, Refused)
        assert foreign.status == 403
        assert foreign == forbidden(who, ["nosuch"]) == forbidden(who, ["acme", "globex"])
    assert forbidden(OPERATOR, ["globex"]) is None
    nobody = forbidden(Principal("acme", "service", frozenset()), [])
    assert isinstance(nobody, Refused)


def test_who_may_know_of_a_record() -> None:
    record = asked()
    assert [visible(record, who) for who in (OPERATOR, BOSS, ANN)] == [True, True, True]
    for stranger in (
        Principal("acme", "ben", frozenset({"user"})),
        Principal("globex", "boss", frozenset({"approver"})),
        Principal("globex", "ann", frozenset({"user"})),
    ):
        assert not visible(record, stranger)


def test_a_person_whose_name_is_kept_as_a_digest_knows_the_own_record() -> None:
    user = "an\u200bn"  # not printable, so the ledger keeps a digest
    kept = asked(requester=stored(f"acme/{user}"))
    assert kept.request.requester.startswith("sha256:")
    assert visible(kept, Principal("acme", user, frozenset({"user"})))
    assert not visible(kept, ANN)


# Over HTTP, with a real ledger and a real tool; what starts runs needs a server


@pytest.fixture
async def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[deployed.Deployment]:
    """A deployment with a catalog, a ledger and a shop of its own."""
    monkeypatch.setenv("SIGNALBOX_ENV", "dev")
    monkeypatch.setenv("SIGNALBOX_JWT_SECRET", SECRET)
    monkeypatch.setenv("SIGNALBOX_CATALOG", str(written(tmp_path / "catalog")))
    monkeypatch.setenv("SIGNALBOX_DB", f"sqlite+aiosqlite:///{tmp_path / 'signalbox.db'}")
    monkeypatch.setenv("SIGNALBOX_SHOP_DB", f"sqlite+aiosqlite:///{tmp_path / 'shop.db'}")
    deployed.deployment.cache_clear()
    yield deployed.deployment()
    await shop.dispose()
    await ledger.dispose()
    deployed.deployment.cache_clear()


class As:
    """Starlette's authentication, as the server does it: the caller that the test names."""

    def __init__(self, app: ASGIApp, who: Principal) -> None:
        self._app, self._who = app, who

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["user"] = SimpleUser(self._who.identity)
        scope["auth"] = AuthCredentials(sorted(self._who.roles))
        await self._app(scope, receive, send)


class SimpleUser(BaseUser):
    def __init__(self, identity: str) -> None:
        self._identity = identity

    @property
    def identity(self) -> str:
        return self._identity


def client(who: Principal = BOSS) -> httpx.AsyncClient:
    routes = [route for route in app.routes if getattr(route, "path", "").startswith("/ops/approvals")]
    transport = httpx.ASGITransport(As(Starlette(routes=routes), who))
    return httpx.AsyncClient(transport=transport, base_url="http://server")


def release(here: deployed.Deployment) -> str:
    return found(here.catalog, "acme", "support").context.release


async def ids(who: Principal, **asked_for: str) -> list[str]:
    async with client(who) as http:
        answer = await http.get("/ops/approvals", params=asked_for)
    assert answer.status_code == 200, answer.text
    return [record["id"] for record in answer.json()["approvals"]]


async def test_everybody_lists_what_they_may_know_of(here: deployed.Deployment) -> None:
    bens = await ledger.approvals.request(
        asked(requester="acme/ben", created_at=NOON + timedelta(minutes=1), expires_at=None).request
    )
    anns = await ledger.approvals.request(asked(thread="t2", expires_at=None).request)
    theirs = await ledger.approvals.request(
        asked(tenant="globex", requester="globex/u", expires_at=None, created_at=NOON - timedelta(1)).request
    )
    assert await ids(OPERATOR) == [bens.id, anns.id, theirs.id]
    assert await ids(OPERATOR, tenant="globex") == [theirs.id]
    assert await ids(BOSS) == await ids(BOSS, tenant="acme") == [bens.id, anns.id]
    assert await ids(ANN) == [anns.id]
    assert await ids(BOSS, thread="t2") == [anns.id]
    assert await ids(BOSS, limit="1") == [bens.id]
    async with client() as http:
        for path in (f"/ops/approvals/{theirs.id}", "/ops/approvals/x"):
            for answer in (await http.get(path), await http.post(path, json={"decision": "approve"})):
                assert (answer.status_code, answer.json()) == (404, {"detail": "Approval not found."})
        shown_one = await http.get(f"/ops/approvals/{anns.id}")
    assert shown_one.json() == {"approval": shown(anns, now=NOON)}


async def test_a_list_is_of_one_state_or_of_all(here: deployed.Deployment) -> None:
    waiting = await ledger.approvals.request(asked(ONE, expires_at=None).request)
    late = await ledger.approvals.request(asked(TWO).request)  # long ago, and not closed yet
    decided = await ledger.approvals.request(asked(THREE, expires_at=None).request)
    verdict = Verdict("reject", "acme/boss", frozenset({"approver"}))
    await ledger.approvals.decide("acme", decided.id, verdict, now=NOON)
    assert await ids(BOSS) == await ids(BOSS, state="pending") == [waiting.id]
    assert await ids(BOSS, state="expired") == [late.id]
    assert await ids(BOSS, state="rejected") == [decided.id]
    assert await ids(BOSS, state="approved") == []
    assert sorted(await ids(BOSS, state="all")) == sorted([waiting.id, late.id, decided.id])


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({"tenant": "globex"}, 403, "your own organisation's approvals only"),
        ({"state": "open"}, 422, "Parameter 'state'"),
        ({"limit": "0"}, 422, "Parameter 'limit'"),
        ({"status": "pending"}, 422, "'status' is not known"),
    ],
)
async def test_a_wrong_list_is_refused(
    here: deployed.Deployment, given: dict[str, str], status: int, said: str
) -> None:
    async with client() as http:
        answer = await http.get("/ops/approvals", params=given)
    assert (answer.status_code, said in answer.json()["detail"]) == (status, True), answer.text


async def proposal(here: deployed.Deployment, **changes: Any) -> Approval:
    """A proposal of acme's support to refund an order that there is."""
    await shop.prepare(["acme"])
    async with shop.reading() as connection:
        query = sa.text(
            "SELECT number FROM orders WHERE status = 'delivered' AND total_minor > 20000 LIMIT 1"
        )
        order = await connection.scalar(query)
    asks: dict[str, Any] = {
        "release": release(here),
        "expires_at": None,
        "arguments": {"order": order, "amount": 150, "reason": "dented"},
        **changes,
    }
    return await ledger.approvals.request(asked(None, **asks).request)


async def refunds() -> list[int]:
    async with shop.reading() as connection:
        rows = await connection.execute(sa.text("SELECT amount_minor FROM refunds WHERE reason = 'dented'"))
        return [row.amount_minor for row in rows]


async def sent(record: Approval, who: Principal = BOSS, **said: Any) -> httpx.Response:
    async with client(who) as http:
        return await http.post(f"/ops/approvals/{record.id}", json=said)


async def test_a_proposal_is_carried_out_once_however_often_it_is_approved(here: deployed.Deployment) -> None:
    record = await proposal(here)
    outcomes: list[str] = []
    for _ in range(2):
        answer = await sent(record, decision="approve")
        assert (answer.status_code, answer.json()["run"]) == (200, None), answer.text
        assert answer.json()["approval"]["state"] == "approved"
        outcomes.append(json.loads(answer.json()["result"])["outcome"])
    assert outcomes == ["created", "already_recorded"]
    assert await refunds() == [15000]
    other = await sent(record, decision="reject")
    assert (other.status_code, "approved by acme/boss already" in other.json()["detail"]) == (409, True)


async def test_a_rejected_proposal_is_not_carried_out(here: deployed.Deployment) -> None:
    record = await proposal(here)
    answer = await sent(record, decision="reject", reason="no")
    assert (answer.json()["approval"]["reason"], answer.json()["result"]) == ("no", None)
    assert (await sent(record, decision="approve")).status_code == 409
    assert await refunds() == []


async def test_a_proposal_that_can_t_be_carried_out_says_why(here: deployed.Deployment) -> None:
    record = await proposal(here, arguments={"order": 1_999_999_999, "amount": 150, "reason": "dented"})
    answer = await sent(record, decision="approve")
    assert (answer.status_code, "1999999999" in answer.json()["detail"]) == (409, True), answer.text


@pytest.mark.parametrize(
    ("who", "said", "status"),
    [
        (ANN, {"decision": "approve"}, 403),
        (Principal("acme", "ann", frozenset({"approver"})), {"decision": "approve"}, 403),
        (BOSS, {"decision": "edit", "arguments": {"order": "x"}}, 422),
        (BOSS, {"decision": "edit"}, 422),
        (BOSS, {"decision": "perhaps"}, 422),
    ],
)
async def test_a_refused_decision_leaves_the_proposal(
    here: deployed.Deployment, who: Principal, said: dict[str, Any], status: int
) -> None:
    record = await proposal(here)
    assert (await sent(record, who, **said)).status_code == status
    assert await ledger.approvals.get("acme", record.id) == record
    assert await refunds() == []


@pytest.mark.parametrize("change", [{"release": "r0"}, {"assistant": "gone"}])
async def test_what_another_release_proposed_can_only_be_rejected(
    here: deployed.Deployment, change: dict[str, str]
) -> None:
    record = await proposal(here, **change)
    answer = await sent(record, decision="approve")
    assert (answer.status_code, "a release that serves no longer" in answer.json()["detail"]) == (409, True)
    assert (await sent(record, decision="reject")).json()["approval"]["state"] == "rejected"
    assert await refunds() == []


async def test_a_body_that_is_no_json_is_refused(here: deployed.Deployment) -> None:
    record = await proposal(here)
    async with client() as http:
        answer = await http.post(f"/ops/approvals/{record.id}", content=b"{")
    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ('{"detail": "Too many."}', "Too many."),
        ("", "The server refused the run; try again."),
        ('["x"]', "The server refused the run; try again."),
        ('{"error": "x"}', "The server refused the run; try again."),
    ],
)
def test_the_server_s_own_refusal_is_passed_on(text: str, detail: str) -> None:
    request = httpx.Request("POST", "http://server/threads/t/runs")
    response = httpx.Response(429, text=text, headers={"retry-after": "7", "x": "y"}, request=request)
    answer = passed_on(APIStatusError("refused", response=response, body=None))
    assert (answer.status_code, json.loads(bytes(answer.body))) == (429, {"detail": detail})
    assert (answer.headers["retry-after"], "x" in answer.headers) == ("7", False)
