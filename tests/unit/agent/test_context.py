from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from agent.context import (
    AgentContext,
    Approval,
    ArgumentLimit,
    Compaction,
    Concurrency,
    Limits,
    MemoryRule,
    ModelChoice,
    Part,
    Stamp,
)
from tests.unit.agent.contexts import FULL, RELEASE, context

PARTS: dict[type[Part], dict[str, Any]] = {
    AgentContext: {},
    ModelChoice: {"name": "openai:gpt-5-mini"},
    ArgumentLimit: {},
    Approval: {"when": "always", "decisions": ["approve"]},
    Limits: {},
    Compaction: {"max_tokens": 1_000, "keep_recent": 2},
    MemoryRule: {"recall": 3},
    Concurrency: {"default": "reject", "allow": []},
    Stamp: {"principal": "acme/u1", "unattended": False, "mac": "0" * 64},
}


def all_parts(kind: type[BaseModel]) -> set[type[BaseModel]]:
    return {kind} | {part for below in kind.__subclasses__() for part in all_parts(below)}


def test_every_part_of_the_contract_is_looked_at_here() -> None:
    assert all_parts(Part) - {Part} == set(PARTS)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_an_unknown_key_is_refused(part: type[Part]) -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        part.model_validate({**PARTS[part], "permissions": "all"})


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_a_part_cannot_be_changed(part: type[Part]) -> None:
    value = part.model_validate(PARTS[part])
    before = value.model_dump()
    for name in part.model_fields:
        with pytest.raises(ValidationError, match="frozen"):
            setattr(value, name, None)
    assert before
    assert value.model_dump() == before


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_what_has_no_default_must_be_said(part: type[Part]) -> None:
    said = PARTS[part]
    required = {name for name, field in part.model_fields.items() if field.is_required()}
    assert required == set(said)
    for name in required:
        with pytest.raises(ValidationError, match="Field required"):
            part.model_validate({key: value for key, value in said.items() if key != name})


def test_silence_permits_nothing() -> None:
    assert context().total() == {
        "tenant": "acme",
        "assistant": "support",
        "release": RELEASE,
        "model": None,
        "prompt": "",
        "tools": [],
        "tool_limits": {},
        "policy_mode": "enforce",
        "approvals": {},
        "limits": {
            "steps": None,
            "model_calls": None,
            "tool_calls": None,
            "tokens": None,
            "usd_per_run": None,
            "usd_per_day": None,
            "tenant_usd_per_day": None,
            "seconds": None,
            "approvals": None,
            "repeats": None,
        },
        "compaction": None,
        "memory": None,
        "concurrency": None,
        "durability": "async",
        "stamp": None,
    }


def test_a_run_without_a_context_has_nobody_s_and_no_stamp_to_start_with() -> None:
    nothing = AgentContext()
    assert (nothing.tenant, nothing.assistant, nothing.release) == ("", "", "")
    assert (nothing.model, nothing.tools, nothing.stamp) == (None, (), None)


def test_an_approval_is_for_an_approver_who_did_not_ask() -> None:
    approval = Approval(when="always", decisions=("approve",))
    assert (approval.by, approval.self_approval, approval.expires) == ("approver", False, None)


def test_the_sample_uses_every_field_so_that_a_merge_could_leave_something() -> None:
    empty, full = context().total(), FULL.total()
    same = {name for name in empty if empty[name] == full[name]}
    assert same == {"tenant", "assistant", "release", "stamp"}


def test_a_total_context_leaves_nothing_of_another_in_a_shallow_merge() -> None:
    other = context(tenant="globex", assistant="sales", release="a1" * 32)
    assert {**FULL.total(), **other.total()} == other.total()


def test_a_total_context_names_every_field_at_every_depth() -> None:
    def check(part: BaseModel, dumped: dict[str, Any]) -> int:
        assert set(dumped) == set(type(part).model_fields)
        below = [(getattr(part, name), dumped[name]) for name in dumped]
        return 1 + sum(
            check(value, cast("dict[str, Any]", plain))
            for value, plain in below
            if isinstance(value, BaseModel)
        )

    assert check(FULL, FULL.total()) == 6


def test_a_total_context_is_json_and_reads_back_equal() -> None:
    assert AgentContext.model_validate(json.loads(json.dumps(FULL.total()))) == FULL


@given(
    prompt=st.text(st.characters(exclude_categories=["Cs"])),
    tools=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=4),
    steps=st.none() | st.integers(1, 10**6),
    seconds=st.none() | st.floats(allow_nan=False, allow_infinity=False),
)
def test_whatever_it_says_it_reads_back_equal(
    prompt: str, tools: list[str], steps: int | None, seconds: float | None
) -> None:
    said = context(prompt=prompt, tools=tools, limits=Limits(steps=steps, seconds=seconds))
    assert AgentContext.model_validate(json.loads(json.dumps(said.total()))) == said


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("policy_mode", "off"),
        ("policy_mode", ""),
        ("durability", "never"),
        ("tools", "orders.get"),
        ("tools", None),
        ("approvals", {"orders.refund": {"when": "always"}}),
        ("approvals", {"orders.refund": {"when": "always", "decisions": ["force"]}}),
        ("approvals", {"orders.refund": True}),
        ("concurrency", {"default": "both", "allow": []}),
        ("limits", {"steps": "many"}),
        ("limits", {"step": 3}),
        ("model", "openai:gpt-5-mini"),
        ("stamp", {"principal": "acme/u1", "mac": "0"}),
    ],
)
def test_a_value_of_another_kind_is_refused(field: str, value: object) -> None:
    with pytest.raises(ValidationError, match=field):
        context(**{field: value})
