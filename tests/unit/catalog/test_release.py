"""A release is named by everything that decides how an assistant behaves, and by nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from agent.context import (
    AgentContext,
    Approval,
    ArgumentLimit,
    Compaction,
    Concurrency,
    Limits,
    MemoryRule,
    ModelChoice,
    Stamp,
)
from agent.tools.registry import Registry, Risk
from assistants.release import FORMAT, Release, display, tool_digest
from assistants.spec import ThreadsSpec
from tests.unit.catalog.deployment import registry

CONTEXT = AgentContext(
    tenant="acme",
    assistant="support",
    release="",
    model=ModelChoice(
        name="openai:small",
        temperature=0,
        max_tokens=900,
        timeout=30,
        base_url="https://models.example/v1",
        api_key="env:ACME_KEY",
        profile="ollama",
        fallbacks=("openai:tiny",),
    ),
    prompt="You answer. 你好",
    tools=("orders.get", "orders.refund"),
    tool_limits={
        "orders.refund": {"amount": ArgumentLimit(minimum=1, maximum=500, prefix="x", one_of=("xy",))}
    },
    policy_mode="enforce",
    approvals={"orders.refund": Approval(when="amount >= 100", decisions=("approve",), expires=60)},
    limits=Limits(
        steps=40,
        model_calls=20,
        tool_calls=30,
        tokens=9_000,
        usd_per_run=0.4,
        usd_per_day=60,
        tenant_usd_per_day=200,
        seconds=120,
        approvals=3,
        repeats=2,
    ),
    compaction=Compaction(max_tokens=24_000, keep_recent=8),
    memory=MemoryRule(recall=5),
    concurrency=Concurrency(default="reject", allow=("reject", "enqueue"), pending="refuse"),
    durability="sync",
)
TOOLS = {tool.name: tool_digest(tool) for tool in registry}
THREADS = ThreadsSpec(upgrade="thread", on_abort="reask")
GOLDEN = "8f4d416f51c69c4417cd5f48096ff5fb2d59f5db7e9602cc8311fd677505bfab"


def release(context: AgentContext = CONTEXT, **changes: Any) -> Release:
    parts: dict[str, Any] = {"graph": "react", "description": "Answers", "threads": THREADS, "tools": TOOLS}
    return Release.of(context, **(parts | changes))


def test_digest_is_what_it_always_was() -> None:
    assert release().digest == GOLDEN
    assert (
        tool_digest(registry.select(["orders.refund"])[0])
        == "d538d938d68ac11b30b04fa617e07578056e41a40cd634af53aa0772373233b0"
    )
    bare = AgentContext(tenant="acme", assistant="bare", release="")
    assert (
        Release.of(bare, graph="react", description="", threads=ThreadsSpec(), tools={}).digest
        == "6bbc5c439c6ae5d33a5cc43ada96ca8284de9b1c09169d79358ba4d1a8328a19"
    )


def test_document_is_total_and_canonical() -> None:
    made = release()
    document = made.document
    assert list(document) == sorted(document)
    assert set(document) == {
        "format", "tenant", "assistant", "graph", "description", "context", "threads", "tools",
    }  # fmt: skip
    assert (document["format"], document["tenant"], document["assistant"]) == (FORMAT, "acme", "support")
    context = document["context"]
    assert isinstance(context, dict)
    assert set(context) == set(AgentContext.model_fields) - {"release", "stamp"}
    assert document["tools"] == {name: TOOLS[name] for name in ("orders.get", "orders.refund")}
    assert document["threads"] == {"upgrade": "thread", "on_abort": "reask"}
    assert b'"prompt":"You answer. \xe4\xbd\xa0\xe5\xa5\xbd"' in made.text
    assert b'"temperature":0,' in made.text
    assert (
        made.text == json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    )


def test_empty_fields_are_written_too() -> None:
    bare = AgentContext(tenant="acme", assistant="bare", release="")
    made = Release.of(bare, graph="react", description="", threads=ThreadsSpec(), tools={})
    context = made.document["context"]
    assert isinstance(context, dict)
    assert (context["model"], context["tools"], context["memory"]) == (None, [], None)
    assert context["limits"] == dict.fromkeys(Limits.model_fields)


def test_release_and_stamp_of_the_context_do_not_count() -> None:
    stamp = Stamp(principal="acme/u1", unattended=False, mac="00")
    again = CONTEXT.model_copy(update={"release": "f" * 64, "stamp": stamp})
    assert release(again) == release()


def other(value: Any) -> Any:
    """Another value of the same type; the table below says what has no such one."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case tuple():
            return (*value, "another")
        case _:
            return None


ELSEWHERE: Mapping[str, Any] = {"policy_mode": "shadow", "durability": "async"}


def changed(part: BaseModel) -> list[tuple[str, BaseModel]]:
    """Every way to change one field of a part or of a part below it, by the field's path."""
    found: list[tuple[str, BaseModel]] = []
    for name in type(part).model_fields:
        value = getattr(part, name)
        if isinstance(value, BaseModel):
            found.append((name, part.model_copy(update={name: None})))
            found += [
                (f"{name}.{below}", part.model_copy(update={name: one})) for below, one in changed(value)
            ]
        elif isinstance(value, dict):
            found.append((name, part.model_copy(update={name: {}})))
        else:
            found.append((name, part.model_copy(update={name: ELSEWHERE.get(name, other(value))})))
    return found


def changes_of_context() -> list[tuple[str, AgentContext]]:
    ways = [(path, one) for path, one in changed(CONTEXT) if path not in {"release", "stamp"}]
    limit = CONTEXT.tool_limits["orders.refund"]["amount"]
    approval = CONTEXT.approvals["orders.refund"]
    ways += [
        (
            f"tool_limits.{path}",
            CONTEXT.model_copy(update={"tool_limits": {"orders.refund": {"amount": one}}}),
        )
        for path, one in changed(limit)
    ]
    ways += [
        (f"approvals.{path}", CONTEXT.model_copy(update={"approvals": {"orders.refund": one}}))
        for path, one in changed(approval)
    ]
    return [(path, one) for path, one in ways if isinstance(one, AgentContext)]


def fields_of(part: Any, prefix: str = "") -> set[str]:
    """Every path of fields that the models of the contract declare."""
    found: set[str] = set()
    for name, field in part.model_fields.items():
        found.add(f"{prefix}{name}")
        for kind in parts_in(field.annotation):
            found |= fields_of(kind, f"{prefix}{name}.")
    return found


def parts_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [kind for argument in get_args(annotation) for kind in parts_in(argument)]


def test_table_of_changes_covers_every_field_of_the_contract() -> None:
    covered = {path for path, _ in changes_of_context()}
    own = {"release", "stamp", "stamp.principal", "stamp.roles", "stamp.unattended", "stamp.mac"}
    assert covered == fields_of(AgentContext) - own


@pytest.mark.parametrize(
    ("path", "context"), changes_of_context(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_field_of_the_context_changes_the_digest(path: str, context: AgentContext) -> None:
    tools = TOOLS | {"another": "0" * 64}
    assert context != CONTEXT, path
    assert release(context, tools=tools).digest != release(tools=tools).digest


@pytest.mark.parametrize(
    "changes",
    [
        {"graph": "digest"},
        {"description": "Answers."},
        {"threads": ThreadsSpec(upgrade="thread", on_abort="finish")},
        {"threads": ThreadsSpec(upgrade="turn", on_abort="reask")},
        {"tools": TOOLS | {"orders.get": "0" * 64}},
    ],
)
def test_everything_beside_the_context_changes_the_digest(changes: dict[str, Any]) -> None:
    assert release(**changes).digest != GOLDEN


def test_tools_that_are_not_used_do_not_count() -> None:
    assert release(tools=TOOLS | {"kb.search": "0" * 64}).digest == GOLDEN


def reordered(value: Any, draw: Callable[[st.SearchStrategy[list[str]]], list[str]]) -> Any:
    """The value with the keys of its maps in any order."""
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {key: reordered(entries[key], draw) for key in draw(st.permutations(list(entries)))}
    if isinstance(value, list):
        return [reordered(item, draw) for item in cast("list[Any]", value)]
    return value


@settings(deadline=None)
@given(st.data())
def test_digest_is_stable_under_reordering_of_keys(data: st.DataObject) -> None:
    shuffled = reordered(CONTEXT.model_dump(mode="json"), data.draw)
    tools = reordered(TOOLS, data.draw)
    assert release(AgentContext.model_validate(shuffled), tools=tools).digest == GOLDEN


def registered(
    *, name: str = "orders.get", risk: Risk = "read", doc: str = "Look up.", kind: Any = int
) -> str:
    own = Registry()

    async def get(number: Any, limit: int = 5) -> str:
        return f"{number}{limit}"

    get.__doc__ = doc
    get.__annotations__["number"] = kind
    own.tool(name, risk=risk)(get)
    return tool_digest(next(iter(own)))


def test_tool_digest_covers_name_words_arguments_and_risk() -> None:
    same = registered()
    assert registered() == same
    others = [
        registered(name="orders.find"),
        registered(risk="write"),
        registered(doc="Look up one."),
        registered(kind=str),
    ]
    assert len({same, *others}) == 5


def test_releases_with_one_text_are_one_release() -> None:
    assert release() == release()
    assert len({release(), release(), release(graph="digest")}) == 2


def test_display_is_short_and_longer_only_where_it_must_be() -> None:
    digest = "3f9c1a" + "0" * 58
    assert display(digest) == "r-3f9c1a"
    assert display(digest, [digest, "3f9c1b" + "0" * 58]) == "r-3f9c1a"
    assert display(digest, ["3f9c1a" + "1" * 58, "3f9c1a00" + "1" * 56]) == "r-3f9c1a000"
    assert display(digest, ["3f9c1a" + "0" * 57 + "1"]) == f"r-{digest}"


@settings(deadline=None)
@given(st.sets(st.text("01", min_size=64, max_size=64), min_size=1, max_size=20))
def test_displays_of_a_set_are_distinct(digests: set[str]) -> None:
    shown = {display(digest, digests) for digest in digests}
    assert len(shown) == len(digests)
