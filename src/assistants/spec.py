"""What an assistant's file may say: the keys of `tenants/<slug>/<assistant>.yaml` and of bases.

A base may leave anything out, so the top level has no required key; what an assistant needs (a name, a graph,
a model) is checked once its bases are merged. Values are strict: `"40"` is not a number.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable
from typing import Annotated, Any, Final, Literal, TypeVar, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from agent.context import Decision, Durability, Pending, Strategy
from assistants.loading.fields import (
    BaseUrl,
    Condition,
    Lifetime,
    ModelName,
    ProfileName,
    SecretReference,
    Slug,
    Timetable,
    Upgrade,
)
from assistants.principal import Role

Item = TypeVar("Item")

INCOMPLETE: Final = "incomplete"
"""The error type of what a base may leave to the files that extend it."""

BELOW: Final = "below"
"""The key of an error's context that holds the path from the reported value to the wrong part of it."""


def distinct(items: tuple[Item, ...], *, by: str | None = None) -> tuple[Item, ...]:
    """The items, no two of them equal (in the attribute `by`)."""
    seen: set[Hashable] = set()
    for index, item in enumerate(items):
        value = cast("Hashable", item if by is None else getattr(item, by))
        if value in seen:
            below = (index,) if by is None else (index, by)
            raise PydanticCustomError(
                "twice", "expected each value once, this one is there before", {BELOW: below}
            )
        seen.add(value)
    return items


Distinct = AfterValidator(distinct)
Text = Annotated[str, Field(min_length=1, max_length=2_000)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(gt=0)]
Amount = Annotated[float, Field(gt=0)]


class Section(BaseModel):
    """A frozen part of a file; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ModelSpec(Section):
    """Which model answers. `timeout` in seconds; `api_key` names a tenant's secret, `profile` a dialect."""

    name: ModelName
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Positive | None = None
    timeout: Amount | None = None
    base_url: BaseUrl | None = None
    api_key: SecretReference | None = None
    profile: ProfileName | None = None
    fallbacks: Annotated[tuple[ModelName, ...], Distinct] = ()

    @model_validator(mode="after")
    def _key_has_endpoint(self) -> ModelSpec:
        if self.api_key is not None and self.base_url is None:
            raise PydanticCustomError(INCOMPLETE, "api_key needs the base_url of the endpoint it belongs to")
        return self


class PromptSpec(Section):
    """The system prompt: a Markdown `file` or `text`, with a value for each `{{ variable }}`."""

    file: Text | None = None
    text: Annotated[str, Field(min_length=1, max_length=100_000)] | None = None
    vars: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_source(self) -> PromptSpec:
        if self.file is not None and self.text is not None:
            raise ValueError("expected either file or text; set the other to null to remove what a base sets")
        if self.file is None and self.text is None:
            raise PydanticCustomError(INCOMPLETE, "expected file or text")
        return self


class ArgumentSpec(Section):
    """Bounds on one argument of a tool."""

    minimum: float | None = None
    maximum: float | None = None
    prefix: Text | None = None
    one_of: Annotated[tuple[str, ...], Distinct, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _bounds(self) -> ArgumentSpec:
        if not self.model_fields_set:
            raise PydanticCustomError(INCOMPLETE, "expected minimum, maximum, prefix or one_of")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError("expected a minimum that is not above the maximum")
        return self


class ToolsSpec(Section):
    """The tools that may be used, and within which arguments. `shadow` only records denials."""

    allow: Annotated[tuple[str, ...], Distinct] = ()
    limits: dict[str, dict[str, ArgumentSpec]] = Field(default_factory=dict)
    mode: Literal["enforce", "shadow"] = "enforce"


class ApprovalSpec(Section):
    """When a call waits for a person, for how long, and who may decide.

    By default every call waits, for a day, for an approver other than the one who asked, who approves or
    rejects; letting the person edit the arguments is a choice.
    """

    when: Condition = "always"
    decisions: Annotated[tuple[Decision, ...], Distinct, Field(min_length=1)] = ("approve", "reject")
    expires: Lifetime = "24h"
    by: Role = "approver"
    self_approval: bool = Field(default=False, alias="self")


class LimitsSpec(Section):
    """The budgets of one turn: super-steps, calls, tokens, US dollars, seconds, questions, repeats."""

    steps: Positive | None = None
    model_calls: Positive | None = None
    tool_calls: Count | None = None
    tokens: Positive | None = None
    usd_per_run: Amount | None = None
    usd_per_day: Amount | None = None
    seconds: Amount | None = None
    approvals: Count | None = None
    repeats: Positive | None = None


class CompactionSpec(Section):
    """The size of the view that the model gets: tokens in all, turns word for word."""

    max_tokens: Positive
    keep_recent: Positive


class MemorySpec(Section):
    """How many remembered facts a turn recalls."""

    recall: Annotated[int, Field(ge=0, le=100)]


class ConcurrencySpec(Section):
    """What a second message does while the first is answered; `default` is always allowed.

    `pending` is what a message does while an approval is awaited: it is refused, or rejects what waits.
    """

    default: Strategy | None = None
    allow: Annotated[tuple[Strategy, ...], Distinct] = ()
    pending: Pending = "refuse"


class ScheduleSpec(Section):
    """One schedule, in the tenant's time zone, named by `key` within its assistant.

    The server refuses a run without input, so `input` is never empty.
    """

    key: Slug
    cron: Timetable
    input: Annotated[dict[str, Any], Field(min_length=1)]
    overlap: Literal["skip", "queue"] = "skip"
    until: dt.date | None = None
    enabled: bool = True


class ThreadsSpec(Section):
    """What happens to threads when another release takes over."""

    upgrade: Upgrade = "stay"
    on_abort: Literal["finish", "reask"] = "finish"


def _distinct_keys(schedules: tuple[ScheduleSpec, ...]) -> tuple[ScheduleSpec, ...]:
    return distinct(schedules, by="key")


class AssistantSpec(Section):
    """An assistant's file, or a base's."""

    name: Slug | None = None
    extends: Text | None = None
    graph: Text | None = None
    description: Annotated[str, Field(max_length=1_000)] = ""
    model: ModelSpec | None = None
    prompt: PromptSpec | None = None
    tools: ToolsSpec = ToolsSpec()
    approvals: dict[str, ApprovalSpec] = Field(default_factory=dict)
    limits: LimitsSpec = LimitsSpec()
    compaction: CompactionSpec | None = None
    memory: MemorySpec | None = None
    concurrency: ConcurrencySpec | None = None
    durability: Durability = "async"
    schedule: Annotated[tuple[ScheduleSpec, ...], AfterValidator(_distinct_keys)] = ()
    threads: ThreadsSpec = ThreadsSpec()
    rollout: Slug | None = None
