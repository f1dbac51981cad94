"""The contract between the packages: everything that an assistant can set for a run.

`assistants` writes it, whole, into every run; `agent` reads nothing else. No field has a permissive
default: no tool list means no tools, no model means that the run is refused. The server merges a run's
context shallowly over the assistant's, so a context is always dumped *total*: every field, also the empty
ones (`AgentContext.total`).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Decision = Literal["approve", "edit", "reject"]
Strategy = Literal["reject", "enqueue", "interrupt", "rollback"]
Durability = Literal["sync", "async", "exit"]
Pending = Literal["refuse", "reject"]


class Part(BaseModel):
    """A frozen value; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelChoice(Part):
    """Which model answers, and where.

    `name` is `provider:model`. `timeout` is in seconds. `base_url` and `api_key` replace the deployment's
    endpoint for this assistant; `api_key` is a reference (`env:NAME`), resolved when a request is sent.
    `profile` names the endpoint's dialect (`agent.profile`); `None` finds it by endpoint and model.
    """

    name: str
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float | None = None
    base_url: str | None = None
    api_key: str | None = None
    profile: str | None = None
    fallbacks: tuple[str, ...] = ()


class ArgumentLimit(Part):
    """Bounds on one argument of one tool: `minimum`/`maximum` for numbers, `prefix`/`one_of` for text."""

    minimum: float | None = None
    maximum: float | None = None
    prefix: str | None = None
    one_of: tuple[str, ...] | None = None


class Approval(Part):
    """When a tool call waits for a person.

    `when` is `always` or a predicate over the arguments (`agent.predicate`); `expires` is in seconds;
    `by` is the role that may decide; `self_approval` lets the requester decide on its own request.
    """

    when: str
    decisions: tuple[Decision, ...]
    expires: int | None = None
    by: str = "approver"
    self_approval: bool = False


class Limits(Part):
    """The budgets of one turn (from a person's message to its final answer); `None` is no limit.

    `steps` are super-steps, `seconds` wall time, `usd_per_run` and `usd_per_day` US dollars, `approvals`
    questions to people, `repeats` identical tool calls. `tenant_usd_per_day` is the tenant's ceiling over
    all its assistants, which a run carries because the data plane knows no catalog.
    """

    steps: int | None = None
    model_calls: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    usd_per_run: float | None = None
    usd_per_day: float | None = None
    tenant_usd_per_day: float | None = None
    seconds: float | None = None
    approvals: int | None = None
    repeats: int | None = None


class Compaction(Part):
    """The size of the view that the model gets: `max_tokens` in all, `keep_recent` turns word for word."""

    max_tokens: int
    keep_recent: int


class MemoryRule(Part):
    """How many remembered facts a turn recalls."""

    recall: int


class Concurrency(Part):
    """What a second message does while the first is answered: the default and what a client may choose.

    `pending` is what a message does while a person's approval is awaited: it is refused, or it rejects what
    waits and is answered.
    """

    default: Strategy
    allow: tuple[Strategy, ...]
    pending: Pending = "refuse"


class Stamp(Part):
    """The door's word for this run, written by the server alone (see `agent.stamp`).

    `principal` is `tenant/user`, `roles` what they are allowed; `unattended` is true when nobody waits for
    the answer (a cron); `mac` is the hexadecimal HMAC-SHA256.
    """

    principal: str
    roles: tuple[str, ...] = ()
    unattended: bool
    mac: str


class AgentContext(Part):
    """Everything an assistant can set for a run, and the stamp that lets it start."""

    tenant: str = Field(default="", description="Slug of the tenant whose data this run may touch.")
    assistant: str = Field(default="", description="Name of the assistant within its tenant.")
    release: str = Field(default="", description="sha256 (hexadecimal) of the release that serves the run.")
    model: ModelChoice | None = Field(default=None, description="No model: the run is refused.")
    prompt: str = Field(default="", description="System prompt, rendered.")
    tools: tuple[str, ...] = Field(default=(), description="Names of the tools that may be used.")
    tool_limits: dict[str, dict[str, ArgumentLimit]] = Field(
        default_factory=dict, description="Per tool and argument: the values that are allowed."
    )
    policy_mode: Literal["enforce", "shadow"] = Field(
        default="enforce", description="`shadow` records what would have been denied."
    )
    approvals: dict[str, Approval] = Field(
        default_factory=dict, description="Per tool: when a person decides first."
    )
    limits: Limits = Field(default_factory=Limits)
    compaction: Compaction | None = None
    memory: MemoryRule | None = None
    concurrency: Concurrency | None = None
    durability: Durability = "async"
    stamp: Stamp | None = Field(default=None, description="Written by the server; never by a client.")

    def total(self) -> dict[str, Any]:
        """The context as JSON values, every field present: a shallow merge then leaves nothing of another."""
        return self.model_dump(mode="json")
