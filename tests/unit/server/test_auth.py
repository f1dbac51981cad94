from __future__ import annotations

import os
import uuid
from collections.abc import AsyncGenerator, Collection
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph_sdk import Auth

from agent.context import AgentContext
from agent.ledger import Approval, Verdict
from agent.stamp import RunKey, verify
from agent.tools.shipped import ledger
from assistants import store
from assistants.principal import Principal
from assistants.server import auth as module
from assistants.server import deployment as deployed
from assistants.server import inbox
from assistants.server.auth import auth
from assistants.server.deployment import deployment
from assistants.server.door import GRAPHS_NAMESPACE
from assistants.server.quota import Exceeded
from assistants.server.token import Expectation, issue, now
from assistants.server.waiting import ThreadFacts
from tests.unit.server.catalogs import found, written
from tests.unit.server.waits import APPROVE, NOON, ONE, TWO, asked, thread

pytestmark = pytest.mark.anyio

Refused = Auth.exceptions.HTTPException
SECRET = "q7Zk3v9Qw10f8Hc7Lr5Ty2Ux4Bn6Mp0Ea9Jd"
ANN = ("acme/ann", ["user"])
OPERATOR = ("platform/ops", ["operator"])
SCHEDULE: tuple[str, list[str]] = ("platform/ops", [])
EVERYONE = [ANN, ("acme/boss", ["approver"]), OPERATOR, SCHEDULE]


@pytest.fixture
async def here(tmp_path: Path) -> AsyncGenerator[deployed.Deployment]:
    """A deployment with a catalog and a database of its own, as the environment describes it."""
    values = {
        "SIGNALBOX_ENV": "dev",
        "SIGNALBOX_JWT_SECRET": SECRET,
        "SIGNALBOX_CATALOG": str(written(tmp_path / "catalog")),
        "SIGNALBOX_DB": f"sqlite+aiosqlite:///{tmp_path / 'control.db'}",
    }
    before = dict(os.environ)
    os.environ.update(values)
    deployment.cache_clear()
    await store.prepare(values["SIGNALBOX_DB"])
    started: Any = module._STARTED  # pyright: ignore[reportPrivateUsage]
    token = started.set(None)
    yield deployment()
    started.reset(token)
    await ledger.dispose()
    await deployed.engines.dispose()
    os.environ.clear()
    os.environ.update(before)
    deployment.cache_clear()


def context(who: tuple[str, list[str]], resource: str, action: str) -> Any:
    identity, permissions = who
    user = SimpleNamespace(identity=identity)
    return SimpleNamespace(user=user, permissions=permissions, resource=resource, action=action)


async def dispatch(who: tuple[str, list[str]], resource: str, action: str, value: Any) -> Any:
    """What the server does with an event: the handler that fits best, asked."""
    handlers: Any = auth._handlers  # pyright: ignore[reportPrivateUsage]
    for key in ((resource, action), (resource, "*"), ("*", action), ("*", "*")):
        if handlers.get(key):
            return await handlers[key][-1](ctx=context(who, resource, action), value=value)
    (fallback,) = auth._global_handlers  # pyright: ignore[reportPrivateUsage]
    return await fallback(ctx=context(who, resource, action), value=value)


async def status(who: tuple[str, list[str]], resource: str, action: str, value: Any) -> int:
    with pytest.raises(Refused) as caught:
        await dispatch(who, resource, action, value)
    return caught.value.status_code


# Who asks


async def test_a_caller_is_known_by_identity_and_roles(here: deployed.Deployment) -> None:
    who = Principal("acme", "ann", frozenset({"user", "approver"}))
    token = issue(who, secret=SECRET, ttl=timedelta(hours=1), expectation=Expectation(), now=now())
    answer = await module.authenticate({b"authorization": f"Bearer {token}".encode()}, {})
    assert answer == {"identity": "acme/ann", "permissions": ["approver", "user"]}
    assert token not in str(answer)


async def test_a_caller_who_is_not_known_is_refused_with_the_reason(here: deployed.Deployment) -> None:
    with pytest.raises(Refused) as caught:
        await module.authenticate({}, {})
    assert caught.value.status_code == 401
    assert "no credentials were sent" in str(caught.value.detail)


@pytest.mark.parametrize("identity", ["langgraph-studio-user", "", "acme", "acme/a/b", "None"])
async def test_an_identity_that_is_not_of_this_server_may_do_nothing(identity: str) -> None:
    for action in ("create", "read", "search"):
        for roles in (["operator"], ["user"], []):
            assert await status((identity, roles), "threads", action, {"metadata": {}}) == 403


# Default deny


@pytest.mark.parametrize("who", EVERYONE, ids=lambda who: who[0])
@pytest.mark.parametrize(
    ("resource", "action"), [("runs", "create"), ("threads", "prune"), ("files", "read"), ("", "")]
)
async def test_what_no_handler_knows_is_refused(
    who: tuple[str, list[str]], resource: str, action: str
) -> None:
    assert await dispatch(who, resource, action, {}) is False


async def test_every_event_of_the_server_has_a_handler_of_its_own() -> None:
    handlers: Any = auth._handlers  # pyright: ignore[reportPrivateUsage]
    known = {
        *(("threads", action) for action in ("create", "read", "update", "delete", "search", "create_run")),
        *(("assistants", action) for action in ("create", "read", "update", "delete", "search")),
        *(("crons", action) for action in ("create", "read", "update", "delete", "search")),
        ("store", "*"),
    }
    assert set(handlers) == known
    assert all(len(chain) == 1 for chain in handlers.values())


async def test_a_handler_without_a_filter_never_lets_a_user_through() -> None:
    """The server takes `None` and `True` for "everything"."""
    for resource, actions in {
        "threads": ("create", "read", "update", "delete", "search"),
        "assistants": ("read", "search"),
        "crons": ("read", "search"),
    }.items():
        for action in actions:
            answer = await dispatch(ANN, resource, action, {"metadata": {}})
            assert answer["tenant"] == "acme"


# Threads


async def test_a_new_thread_is_marked_as_its_maker_s_whatever_the_maker_says() -> None:
    value = {
        "thread_id": "t",
        "metadata": {
            "tenant": "globex",
            "owner": "globex/x",
            "pin": "r",
            "assistant_id": "a",
            "graph_id": "react",
            "note": "x",
        },
    }
    answer = await dispatch(ANN, "threads", "create", value)
    assert value["metadata"] == {"tenant": "acme", "owner": "acme/ann", "graph_id": "react", "note": "x"}
    assert answer == {"tenant": "acme", "owner": "acme/ann"}


async def test_a_user_may_not_write_state_copy_a_thread_or_take_one_over() -> None:
    assert await status(ANN, "threads", "update", {"thread_id": "t"}) == 403
    assert await status(ANN, "threads", "create", {"thread_id": "t"}) == 403
    assert await status(ANN, "threads", "update", {"metadata": {"owner": "acme/boss"}}) == 403


# Runs


def run_of(assistant: Any, **values: Any) -> dict[str, Any]:
    """A run as the server shows it to the door; a client has put in what it can."""
    value: dict[str, Any] = {
        "thread_id": uuid.UUID(int=7),
        "assistant_id": assistant,
        "run_id": uuid.UUID(int=9),
        "metadata": {"tenant": "globex", "owner": "globex/x", "pin": "r", "graph_id": "g", "note": "x"},
        "kwargs": {
            "input": {"messages": [{"role": "user", "content": "hello"}]},
            "command": None,
            "context": {"tenant": "globex", "tools": ["files.delete"]},
            "durability": "exit",
            "temporary": False,
            "config": {
                "recursion_limit": 10**9,
                "metadata": {"tenant": "globex"},
                "configurable": {
                    "tenant": "globex",
                    "user_id": "root",
                    "__pregel_resuming": True,
                    "langgraph_auth_user_id": "acme/ann",
                    "__request_start_time_ms__": 5,
                },
            },
        },
    }
    return {**value, **values}


async def test_a_run_is_written_as_the_door_decided(
    here: deployed.Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing_waits(_thread: str, *, most: int) -> int:  # outside a server there is nobody to ask
        assert most == 6
        return 0

    monkeypatch.setattr(module, "waiting_runs", nothing_waits)
    support = found(here.catalog, "acme", "support")
    value = run_of(support.id)
    config, configurable = value["kwargs"]["config"], value["kwargs"]["config"]["configurable"]
    answer = await dispatch(ANN, "threads", "create_run", value)
    assert answer == {"tenant": "acme", "owner": "acme/ann"}
    kwargs = value["kwargs"]
    written_context = AgentContext.model_validate(kwargs["context"])
    assert set(kwargs["context"]) == set(AgentContext.model_fields)
    assert written_context.model_copy(update={"stamp": None}) == support.context
    key = RunKey(run=str(uuid.UUID(int=9)), thread=str(uuid.UUID(int=7)), assistant=str(support.id))
    assert verify(written_context, key, secret=here.secret).principal == "acme/ann"
    assert kwargs["durability"] == "sync"
    assert kwargs["config"] is config
    assert config == {"configurable": configurable, "recursion_limit": 50}
    assert configurable == {"langgraph_auth_user_id": "acme/ann", "__request_start_time_ms__": 5}
    assert value["metadata"] == {
        "tenant": "acme",
        "owner": "acme/ann",
        "assistant": "acme/support",
        "release": support.release.digest,
        "release_reason": "stable",
        "rollout": None,
        "stage": None,
        "note": "x",
    }


async def test_a_stateless_run_keeps_no_checkpoints_in_step(here: deployed.Deployment) -> None:
    value = run_of(found(here.catalog, "acme", "support").id, thread_id=None)
    value["kwargs"]["temporary"] = True
    await dispatch(ANN, "threads", "create_run", value)
    assert value["kwargs"]["durability"] == "async"
    context_ = AgentContext.model_validate(value["kwargs"]["context"])
    key = RunKey(run=str(uuid.UUID(int=9)), thread="made later", assistant=str(value["assistant_id"]))
    assert verify(context_, key, secret=here.secret)


async def test_a_run_that_is_refused_is_not_changed(here: deployed.Deployment) -> None:
    foreign = found(here.catalog, "globex", "support")
    for assistant, expected in (
        (foreign.id, 404),
        (uuid.uuid4(), 404),
        ("react", 404),
        (uuid.uuid5(GRAPHS_NAMESPACE, "react"), 403),
    ):
        value = run_of(assistant)
        before = repr(value)
        assert await status(ANN, "threads", "create_run", value) == expected
        assert repr(value) == before


async def test_a_tenant_starts_no_more_runs_than_its_file_allows(here: deployed.Deployment) -> None:
    limit = here.catalog.runs_per_minute("acme")
    assert limit == 60
    support = found(here.catalog, "acme", "support")
    moment = 30_000_000 * 60.0
    counting: Any = module._quota  # pyright: ignore[reportPrivateUsage]
    clock = counting._clock
    counting._clock = lambda: moment
    try:
        for _ in range(limit):
            await dispatch(ANN, "threads", "create_run", run_of(support.id, thread_id=None))
        with pytest.raises(Refused) as caught:
            await dispatch(ANN, "threads", "create_run", run_of(support.id, thread_id=None))
        await dispatch(
            OPERATOR,
            "threads",
            "create_run",
            run_of(found(here.catalog, "globex", "support").id, thread_id=None),
        )
    finally:
        counting._clock = clock
    assert caught.value.status_code == 429
    assert dict(caught.value.headers or {}) == {"retry-after": "60"}


async def test_a_schedule_runs_for_its_tenant_only_and_a_refusal_is_reported(
    here: deployed.Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    support = found(here.catalog, "acme", "support")
    value = run_of(support.id, thread_id=None, metadata={"tenant": "acme"})
    assert await dispatch(SCHEDULE, "threads", "create_run", value) == {"tenant": "acme"}
    assert caplog.records == []
    assert await status(SCHEDULE, "threads", "create_run", run_of(support.id)) == 404
    assert [record.message for record in caplog.records] == ["a scheduled run was refused"]
    assert await ledger.audit.read("acme") == []
    (alert,) = await ledger.audit.read("globex")  # whose schedule it says it is
    assert (alert.action, alert.actor, alert.values) == ("run.refused", "globex/service", {"status": 404})


async def test_a_refused_schedule_of_no_known_tenant_is_in_nobody_s_audit(here: deployed.Deployment) -> None:
    support = found(here.catalog, "acme", "support")
    for metadata in ({}, {"tenant": "nosuch"}, {"tenant": None}):
        assert await status(SCHEDULE, "threads", "create_run", run_of(support.id, metadata=metadata)) == 404
    for tenant in ("acme", "globex", "nosuch"):
        assert await ledger.audit.read(tenant) == []


# Approvals


BOSS = ("acme/boss", ["approver"])
THREAD = str(uuid.UUID(int=7))


@pytest.fixture
async def waiting(here: deployed.Deployment, monkeypatch: pytest.MonkeyPatch) -> Approval:
    """Ann's thread waits for a refund; outside a server the test has to say what it is."""
    support = found(here.catalog, "acme", "support")

    async def thread_facts(identity: str) -> ThreadFacts:
        assert identity == THREAD
        return thread(ONE, assistant=support.id)

    async def nothing_waits(_thread: str, *, most: int) -> int:
        return 0

    monkeypatch.setattr(inbox, "thread_facts", thread_facts)
    monkeypatch.setattr(module, "waiting_runs", nothing_waits)
    record = asked(release=support.context.release, thread=THREAD, expires_at=None)
    return await ledger.approvals.request(record.request)


def resuming(here: deployed.Deployment, resume: object) -> dict[str, Any]:
    value = run_of(found(here.catalog, "acme", "support").id)
    value["kwargs"].update(input=None, command={"resume": resume})
    return value


async def state_of(record: Approval) -> tuple[str, str | None]:
    current = await ledger.approvals.get("acme", record.id)
    assert current is not None
    return current.state, current.decided_by


async def test_an_answer_is_recorded_and_the_run_acts_for_who_asked(
    here: deployed.Deployment, waiting: Approval
) -> None:
    value = resuming(here, APPROVE)
    command = value["kwargs"]["command"]
    assert await dispatch(BOSS, "threads", "create_run", value) == {"tenant": "acme"}
    assert value["kwargs"]["command"] is command
    assert command == {"resume": {ONE: APPROVE}}, "a lone answer becomes a map"
    assert value["kwargs"]["context"]["stamp"]["principal"] == "acme/ann"
    assert (value["metadata"]["tenant"], value["metadata"]["owner"]) == ("acme", "acme/ann")
    assert await state_of(waiting) == ("approved", "acme/boss")


@pytest.mark.parametrize(
    ("who", "resume", "code"),
    [
        (BOSS, "yes", 422),
        (BOSS, {TWO: APPROVE}, 409),
        (ANN, APPROVE, 403),
        (("acme/ann", ["user", "approver"]), APPROVE, 403),
        (("acme/ben", ["user"]), APPROVE, 404),
        (("globex/boss", ["approver"]), APPROVE, 404),
        (OPERATOR, APPROVE, 403),
        (SCHEDULE, APPROVE, 404),
    ],
)
async def test_a_refused_answer_leaves_the_question_as_it_was(
    here: deployed.Deployment, waiting: Approval, who: tuple[str, list[str]], resume: object, code: int
) -> None:
    value = resuming(here, resume)
    before = repr(value)
    assert await status(who, "threads", "create_run", value) == code
    assert repr(value) == before
    assert await state_of(waiting) == ("pending", None)
    await dispatch(BOSS, "threads", "create_run", resuming(here, APPROVE))
    assert await state_of(waiting) == ("approved", "acme/boss")


async def test_an_answer_beyond_the_quota_is_not_recorded(
    here: deployed.Deployment, waiting: Approval, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise Exceeded(1, 7)

    monkeypatch.setattr(module._quota, "take", full)  # pyright: ignore[reportPrivateUsage]
    assert await status(BOSS, "threads", "create_run", resuming(here, APPROVE)) == 429
    assert await state_of(waiting) == ("pending", None)


async def test_who_was_slower_is_refused(
    here: deployed.Deployment, waiting: Approval, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two people at once: both pass the judgement, the ledger takes one."""

    async def meanwhile(*_: object) -> None:
        verdict = Verdict("reject", "acme/bea", frozenset({"approver"}))
        await ledger.approvals.decide("acme", waiting.id, verdict, now=NOON)

    monkeypatch.setattr(module._quota, "take", meanwhile)  # pyright: ignore[reportPrivateUsage]
    assert await status(BOSS, "threads", "create_run", resuming(here, APPROVE)) == 409
    assert await state_of(waiting) == ("rejected", "acme/bea")


async def test_a_message_on_a_waiting_thread_is_refused(here: deployed.Deployment, waiting: Approval) -> None:
    value = run_of(found(here.catalog, "acme", "support").id)
    assert await status(ANN, "threads", "create_run", value) == 409
    assert await state_of(waiting) == ("pending", None)


async def test_a_schedule_on_a_waiting_thread_is_refused_with_an_alert(
    here: deployed.Deployment, waiting: Approval
) -> None:
    value = run_of(found(here.catalog, "acme", "support").id, metadata={"tenant": "acme"})
    assert await status(SCHEDULE, "threads", "create_run", value) == 409
    alert = (await ledger.audit.read("acme"))[-1]
    assert (alert.action, alert.thread, alert.values) == ("run.refused", THREAD, {"status": 409})


async def test_an_approver_reads_a_thread_while_it_waits_and_in_the_request_that_answers_it(
    here: deployed.Deployment, waiting: Approval
) -> None:
    support = found(here.catalog, "acme", "support")

    async def read(identity: object) -> Any:
        return await dispatch(BOSS, "threads", "read", {"thread_id": identity})

    nothing = {"tenant": "acme", "waiting": "no"}
    assert await read(uuid.UUID(int=7)) == {"tenant": "acme"}
    assert await read(uuid.UUID(int=8)) == nothing
    assert await dispatch(("globex/boss", ["approver"]), "threads", "read", {"thread_id": THREAD}) == {
        "tenant": "globex",
        "waiting": "no",
    }
    assert await status(BOSS, "assistants", "read", {"assistant_id": support.id}) == 403
    await dispatch(BOSS, "threads", "create_run", resuming(here, APPROVE))
    assert await read(uuid.UUID(int=7)) == {"tenant": "acme"}, "its run is being waited for"
    assert (await dispatch(BOSS, "assistants", "read", {"assistant_id": support.id}))["tenant"] == "acme"
    assert await status(BOSS, "assistants", "read", {"assistant_id": uuid.UUID(int=1)}) == 403
    module._STARTED.set(None)  # pyright: ignore[reportPrivateUsage] - the next request
    assert await read(uuid.UUID(int=7)) == nothing
    assert await status(BOSS, "assistants", "read", {"assistant_id": support.id}) == 403


async def test_an_approver_s_search_brings_the_marks_up_to_date(
    here: deployed.Deployment, waiting: Approval, monkeypatch: pytest.MonkeyPatch
) -> None:
    marked: list[tuple[str, set[str]]] = []

    async def mark_waiting(tenant: str, threads: Collection[str]) -> list[str]:
        marked.append((tenant, set(threads)))
        return []

    monkeypatch.setattr(inbox, "mark_waiting", mark_waiting)
    assert await dispatch(BOSS, "threads", "search", {}) == {"tenant": "acme", "waiting": True}
    assert marked == [("acme", {THREAD})]
    for who in (ANN, OPERATOR, ("acme/olga", ["operator", "approver"])):
        await dispatch(who, "threads", "search", {})
    assert len(marked) == 1


# Assistants and crons


async def test_an_assistant_outside_the_catalog_is_marked_and_never_the_server_s_own() -> None:
    value: dict[str, Any] = {"metadata": {"created_by": "system", "kind": "channel", "tenant": "acme"}}
    await dispatch(OPERATOR, "assistants", "create", value)
    assert value["metadata"] == {"kind": "foreign", "tenant": "acme"}
    ours: dict[str, Any] = {
        "metadata": {"managed_by": "signalbox", "kind": "channel", "created_by": "system"}
    }
    await dispatch(OPERATOR, "assistants", "create", ours)
    assert ours["metadata"] == {"managed_by": "signalbox", "kind": "channel"}


@pytest.mark.parametrize("metadata", [{"created_by": "system", "note": "x"}, {"note": "x"}])
async def test_an_update_makes_no_assistant_the_server_s_own(metadata: dict[str, str]) -> None:
    value = {"metadata": metadata}
    await dispatch(OPERATOR, "assistants", "update", value)
    assert value["metadata"] == {"note": "x"}
    assert await dispatch(OPERATOR, "assistants", "update", {"metadata": None})


@pytest.mark.parametrize("action", ["create", "update", "delete"])
async def test_users_write_neither_assistants_nor_schedules(action: str) -> None:
    for resource in ("assistants", "crons"):
        assert await status(ANN, resource, action, {"metadata": {}, "payload": {}}) == 403


async def test_a_schedule_carries_its_assistant_s_tenant_and_nobody_s_identity(
    here: deployed.Deployment,
) -> None:
    support = found(here.catalog, "acme", "support")
    configurable = {
        "langgraph_auth_user": {"identity": "acme/boss"},
        "langgraph_auth_permissions": ["operator"],
    }
    value: dict[str, Any] = {
        "payload": {
            "assistant_id": str(support.id),
            "config": {"configurable": {**configurable, "cron_id": "c"}},
        },
        "metadata": {"tenant": "globex", "key": "digest"},
    }
    await dispatch(OPERATOR, "crons", "create", value)
    assert value["metadata"] == {"tenant": "acme", "key": "digest"}
    assert value["payload"]["config"]["configurable"] == {"cron_id": "c"}


@pytest.mark.parametrize("assistant", ["react", None, str(uuid.UUID(int=5))])
async def test_a_schedule_of_an_unknown_assistant_is_refused(
    here: deployed.Deployment, assistant: str | None
) -> None:
    assert (
        await status(OPERATOR, "crons", "create", {"payload": {"assistant_id": assistant}, "metadata": {}})
        == 404
    )


async def test_a_schedule_s_tenant_stays() -> None:
    value = {"metadata": {"tenant": "globex", "key": "digest"}}
    await dispatch(OPERATOR, "crons", "update", value)
    assert value["metadata"] == {"key": "digest"}
    assert await dispatch(OPERATOR, "crons", "update", {"metadata": None}) == {}


async def test_operators_delete_and_users_read() -> None:
    assert await dispatch(OPERATOR, "crons", "delete", {}) == {}
    assert await dispatch(ANN, "crons", "read", {}) == {"tenant": "acme"}
    assert set(await dispatch(OPERATOR, "assistants", "delete", {})) == {"$or"}


# The store


@pytest.mark.parametrize("action", ["put", "get", "search", "delete", "list_namespaces"])
@pytest.mark.parametrize(
    ("asked", "written_to"),
    [
        (("notes",), ("acme", "ann", "notes")),
        (["notes"], ("acme", "ann", "notes")),
        ((), ("acme", "ann")),
        (None, ("acme", "ann")),
        (("acme", "boss"), ("acme", "ann", "acme", "boss")),
        (("globex", "ann"), ("acme", "ann", "globex", "ann")),
        (("acme", "ann", "notes"), ("acme", "ann", "notes")),
    ],
)
async def test_every_store_action_happens_in_the_caller_s_own_space(
    action: str, asked: Any, written_to: tuple[str, ...]
) -> None:
    value = {"namespace": asked, "key": "k"}
    await dispatch(ANN, "store", action, value)
    assert value == {"namespace": written_to, "key": "k"}


async def test_a_store_action_without_a_namespace_gets_one() -> None:
    value: dict[str, Any] = {}
    await dispatch(OPERATOR, "store", "list_namespaces", value)
    assert value == {"namespace": ("platform", "ops")}


@pytest.mark.parametrize("who", [("acme/boss", ["approver"]), SCHEDULE], ids=["approver", "schedule"])
async def test_without_a_seat_there_is_no_store(who: tuple[str, list[str]]) -> None:
    assert await status(who, "store", "get", {"namespace": ("acme", "ann")}) == 403
