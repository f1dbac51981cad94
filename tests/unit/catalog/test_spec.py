"""The assistant's file as a model: what is written is what is read."""

from __future__ import annotations

import datetime as dt
import io
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from ruamel.yaml import YAML

from agent.context import AgentContext, Limits
from agent.profile import PROFILES
from assistants.loading.inheritance import merge
from assistants.loading.node import Node, Place
from assistants.loading.source import parse
from assistants.loading.validation import validate
from assistants.spec import (
    ApprovalSpec,
    ArgumentSpec,
    AssistantSpec,
    CompactionSpec,
    ConcurrencySpec,
    LimitsSpec,
    MemorySpec,
    ModelSpec,
    PromptSpec,
    ScheduleSpec,
    ThreadsSpec,
    ToolsSpec,
    distinct,
)
from assistants.tenant import CeilingsSpec


def render(spec: AssistantSpec) -> str:
    """The file that says what `spec` says; keys without a value are left out."""
    stream = io.StringIO()
    writer = YAML(typ="safe", pure=True)
    writer.dump(trimmed(spec.model_dump(mode="json", by_alias=True)), stream)
    return stream.getvalue()


def trimmed(value: object) -> object:
    """Maps without their nulls; what stands in a list is data and stays."""
    if not isinstance(value, dict):
        return value
    entries = cast("dict[str, object]", value)
    return {key: trimmed(child) for key, child in entries.items() if child is not None}


def read(text: str) -> AssistantSpec:
    tree, problems = parse(text, file="f.yaml")
    assert problems == []
    assert tree is not None
    draft, problems = validate(AssistantSpec, merge(Node({}, Place("f.yaml")), tree))
    assert problems == []
    return draft.spec


SLUGS = st.from_regex(r"[a-z0-9][a-z0-9-]{0,8}", fullmatch=True)
# ruamel.yaml writes a key that begins with "?" without quotes and reads it as the mark of a complex key.
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=("C",), exclude_characters="?"), min_size=1, max_size=10
)
TOOLS = st.sampled_from(["orders.get", "orders.refund", "kb.search", "files.write"])
NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)
AMOUNTS = st.floats(0.001, 1e6)
COUNTS = st.integers(1, 10**6)
MODELS = TEXTS.map(lambda text: "openai:" + "".join(text.split())).filter(lambda name: name != "openai:")
KEYS = TEXTS.filter(lambda text: not text.startswith(":"))  # written without quotes too, and read as a mark
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=5,
)


def sets(items: st.SearchStrategy[Any], *, least: int = 0) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, unique=True, min_size=least, max_size=4).map(tuple)


def maybe(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | items


MODEL = st.builds(
    ModelSpec,
    name=MODELS,
    temperature=maybe(st.floats(0, 2)),
    max_tokens=maybe(COUNTS),
    timeout=maybe(AMOUNTS),
    base_url=st.just("https://models.example/v1"),
    api_key=maybe(st.just("secret:own")),
    profile=maybe(st.sampled_from(sorted(PROFILES))),
    fallbacks=sets(MODELS),
)
VARS = st.dictionaries(SLUGS, st.text(max_size=5).filter(str.isprintable), max_size=3)
PROMPT = st.builds(PromptSpec, file=TEXTS, text=st.none(), vars=VARS) | st.builds(
    PromptSpec, file=st.none(), text=TEXTS, vars=VARS
)
ARGUMENT = st.builds(ArgumentSpec, minimum=NUMBERS, maximum=st.none() | st.just(1e7)) | st.builds(
    ArgumentSpec, prefix=TEXTS, one_of=maybe(sets(TEXTS, least=1))
)
TOOLSPEC = st.builds(
    ToolsSpec,
    allow=sets(TOOLS),
    limits=st.dictionaries(TOOLS, st.dictionaries(SLUGS, ARGUMENT, max_size=2), max_size=2),
    mode=st.sampled_from(["enforce", "shadow"]),
)
APPROVAL = st.fixed_dictionaries(
    {
        "when": st.sampled_from(["always", "never", 'amount >= 100 and not reason contains "x"']),
        "decisions": sets(st.sampled_from(["approve", "edit", "reject"]), least=1),
        "expires": st.sampled_from(["30m", "24h", "7d"]),
        "by": st.sampled_from(["user", "approver", "operator"]),
        "self": st.booleans(),
    }
).map(ApprovalSpec.model_validate)
LIMITS = st.builds(
    LimitsSpec,
    **{
        name: maybe(AMOUNTS if "usd" in name or name == "seconds" else COUNTS)
        for name in LimitsSpec.model_fields
    },
)
STRATEGIES = st.sampled_from(["reject", "enqueue", "interrupt", "rollback"])
SCHEDULE = st.builds(
    ScheduleSpec,
    key=SLUGS,
    cron=st.sampled_from(["0 7 * * 1-5", "*/15 * * * *"]),
    input=st.dictionaries(KEYS, JSON, min_size=1, max_size=3),
    overlap=st.sampled_from(["skip", "queue"]),
    until=maybe(st.dates(dt.date(2020, 1, 1), dt.date(2100, 1, 1))),
    enabled=st.booleans(),
)
SPECS = st.builds(
    AssistantSpec,
    name=maybe(SLUGS),
    extends=maybe(TEXTS),
    graph=maybe(TEXTS),
    description=st.text(max_size=20).filter(str.isprintable),
    model=maybe(MODEL),
    prompt=maybe(PROMPT),
    tools=TOOLSPEC,
    approvals=st.dictionaries(TOOLS, APPROVAL, max_size=2),
    limits=LIMITS,
    compaction=maybe(st.builds(CompactionSpec, max_tokens=COUNTS, keep_recent=COUNTS)),
    memory=maybe(st.builds(MemorySpec, recall=st.integers(0, 100))),
    concurrency=maybe(st.builds(ConcurrencySpec, default=STRATEGIES, allow=sets(STRATEGIES))),
    durability=st.sampled_from(["sync", "async", "exit"]),
    schedule=st.lists(SCHEDULE, max_size=2, unique_by=lambda entry: entry.key).map(tuple),
    threads=st.builds(
        ThreadsSpec,
        upgrade=st.sampled_from(["stay", "thread", "turn", "idle>24h"]),
        on_abort=st.sampled_from(["finish", "reask"]),
    ),
    rollout=maybe(SLUGS),
)


@settings(max_examples=150, deadline=None)
@given(SPECS)
def test_what_is_rendered_is_read_back(spec: AssistantSpec) -> None:
    assert read(render(spec)) == spec


def test_dates_and_lists_are_read_but_strings_are_no_numbers() -> None:
    text = "schedule: [{key: a, cron: '0 7 * * *', input: {x: 1}, until: 2027-12-31}]\nlimits: {seconds: 120}"
    spec = read(text)
    assert spec.schedule[0].until == dt.date(2027, 12, 31)
    assert spec.limits.seconds == 120.0
    for wrong in (
        '{"limits": {"seconds": "120"}}',
        '{"limits": {"steps": 4.0}}',
        '{"limits": {"steps": true}}',
    ):
        with pytest.raises(ValidationError):
            AssistantSpec.model_validate_json(wrong, strict=True)


@pytest.mark.parametrize("until", ["2027-13-01", "2027-12-31T10:00:00", "20271231", "31.12.2027", "tomorrow"])
def test_date_that_is_none_is_refused(until: str) -> None:
    tree, _ = parse(f"schedule: [{{key: a, cron: '0 7 * * *', input: {{x: 1}}, until: {until}}}]", file="f")
    assert tree is not None
    _, problems = validate(AssistantSpec, tree)
    (problem,) = problems
    assert problem.message.startswith("schedule[0].until: expected a date such as 2027-12-31, got ")


def test_specs_are_frozen() -> None:
    spec = read("limits: {steps: 3}")
    with pytest.raises(ValidationError):
        spec.limits.steps = 4


def test_keys_of_limits_are_those_of_the_context_and_have_ceilings() -> None:
    assert set(LimitsSpec.model_fields) == set(Limits.model_fields) - {"tenant_usd_per_day"}  # a ceiling only
    assert set(LimitsSpec.model_fields) < set(CeilingsSpec.model_fields)


def test_every_field_of_the_context_has_its_place_in_the_file() -> None:
    sources = {
        "tenant": None,  # the folder
        "assistant": "name",
        "release": None,  # the digest of all the others
        "model": "model",
        "prompt": "prompt",
        "tools": "tools",
        "tool_limits": "tools",
        "policy_mode": "tools",
        "approvals": "approvals",
        "limits": "limits",
        "compaction": "compaction",
        "memory": "memory",
        "concurrency": "concurrency",
        "durability": "durability",
        "stamp": None,  # a run's
    }
    assert set(sources) == set(AgentContext.model_fields)
    beside = {"extends", "graph", "description", "schedule", "threads", "rollout"}
    assert {key for key in sources.values() if key} | beside == set(AssistantSpec.model_fields)


def test_defaults_are_the_careful_ones() -> None:
    spec = read("name: a")
    assert (spec.tools.allow, spec.tools.mode, spec.model) == ((), "enforce", None)
    assert (spec.threads.upgrade, spec.threads.on_abort, spec.durability) == ("stay", "finish", "async")
    approval = ApprovalSpec()
    assert (approval.when, approval.self_approval, approval.decisions) == (
        "always",
        False,
        ("approve", "reject"),
    )


def test_duplicate_schedule_keys_are_refused_at_the_second_key() -> None:
    entry = "  - {key: daily, cron: '0 7 * * *', input: {x: 1}}\n"
    tree, _ = parse(f"schedule:\n{entry}{entry}", file="f")
    assert tree is not None
    _, problems = validate(AssistantSpec, tree)
    assert [str(problem) for problem in problems] == [
        "f:3:11: schedule[1].key: expected each value once, this one is there before"
    ]


def test_distinct_items_are_kept_in_their_order() -> None:
    assert distinct((3, 1, 2)) == (3, 1, 2)


def test_key_without_an_endpoint_is_refused() -> None:
    tree, _ = parse("model: {name: 'openai:x', api_key: 'secret:own'}", file="f")
    assert tree is not None
    _, problems = validate(AssistantSpec, tree)
    assert [str(problem) for problem in problems] == [
        "f:1:8: model: api_key needs the base_url of the endpoint it belongs to"
    ]


def test_schema_for_editors_can_be_made() -> None:
    schema = AssistantSpec.model_json_schema(by_alias=True)
    assert schema["additionalProperties"] is False
    assert "required" not in schema
    assert schema["$defs"]["ApprovalSpec"]["properties"]["self"]["type"] == "boolean"
