"""The values of a script: what a test makes the endpoint say, refuse and break, validated when it is put."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agent.offline.refusal import Refusal, Wording
from agent.offline.reply import Call, Reply
from agent.offline.wire import ToolIds, ToolIndex

Finish = Literal["stop", "length", "tool_calls", "content_filter"]
Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0, le=60)]


class Part(BaseModel):
    """A frozen value; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ScriptedCall(Part):
    """A tool call to make: `args` as JSON, or `raw_arguments` word for word (for broken JSON).

    Without an `id` the call gets one that is unique in its conversation.
    """

    name: str
    args: dict[str, Any] = Field(default_factory=dict)
    raw_arguments: str | None = None
    id: str | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.raw_arguments is not None and self.args:
            raise ValueError("give 'args' or 'raw_arguments', not both")
        return self

    @property
    def arguments(self) -> str:
        """The arguments as text on the wire."""
        return json.dumps(self.args) if self.raw_arguments is None else self.raw_arguments


class TokenDetails(Part):
    """The details of a usage object, in tokens."""

    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class UsageFigures(Part):
    """A usage object, in tokens; `total_tokens` is the sum unless given."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int | None = None
    prompt_tokens_details: TokenDetails | None = None
    completion_tokens_details: TokenDetails | None = None

    def wire(self) -> dict[str, Any]:
        """OpenAI's usage object."""
        total = self.prompt_tokens + self.completion_tokens
        return {"total_tokens": total, **self.model_dump(exclude_none=True)}


class ChunkGate(Part):
    """A gate in the middle of a stream: `n` events are sent, the next waits until gate `name` is opened."""

    name: str
    n: int = Field(ge=0)


class Expect(Part):
    """What a request must be like for its turn; a mismatch is a 400 and does not use the turn up.

    `tools` are the names offered, exactly and in any order; `last_role` is the last message's role;
    `contains` occurs in the text of a message or in the arguments of a tool call.
    """

    tools: tuple[str, ...] | None = None
    last_role: str | None = None
    contains: str | None = None


class Turn(Part):
    """One answer of the endpoint.

    Counts of chunks are server-sent events, of which the first carries only the role; without a stream a
    `gate_after_chunks` holds the whole response and a `cut_after_chunks` sends half of it. `usage` is counted
    by default, `null` sends none; `finish_reason` follows from the calls by default, `null` is never sent
    by a healthy endpoint. A `status` from 400 on answers with `error` instead.
    """

    content: str | None = None
    tool_calls: tuple[ScriptedCall, ...] = ()
    chunks: Positive | None = None
    usage: UsageFigures | Literal["counted"] | None = "counted"
    finish_reason: Finish | Literal["auto"] | None = "auto"
    status: int = Field(default=200, ge=200, le=599)
    error: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    gate: str | None = None
    gate_after_chunks: ChunkGate | None = None
    cut_after_chunks: int | None = Field(default=None, ge=0)
    delay: Seconds = 0
    reasoning: str | None = None
    expect: Expect | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if 200 < self.status < 400:
            raise ValueError(f"status {self.status} is neither 200 nor an error; use 200 or 400 to 599")
        if self.error is not None and self.status == 200:
            raise ValueError("'error' needs a 'status' of 400 to 599")
        if self.content is None and not self.tool_calls and self.status == 200:
            raise ValueError("a turn needs 'content' (also \"\"), 'tool_calls' or an error 'status'")
        return self

    def gates(self) -> set[str]:
        """Names of the gates that this turn waits at."""
        return {name for name in (self.gate, self.gate_after_chunks and self.gate_after_chunks.name) if name}

    def reply(self, *, prefix: str) -> Reply:
        """The turn as a reply; calls without an id get `prefix` and their number."""
        calls = tuple(
            Call(call.id or f"{prefix}{number}", call.name, call.arguments)
            for number, call in enumerate(self.tool_calls)
        )
        finish = self.finish_reason
        if finish == "auto":
            finish = "tool_calls" if calls else "stop"
        return Reply(self.content, calls, reasoning=self.reasoning, finish_reason=finish)

    def failure(self) -> Refusal:
        """The turn's error as a refusal; for a `status` from 400 on."""
        limited = self.status == 429
        kind = "rate_limit_error" if limited else "server_error" if self.status >= 500 else None
        return Refusal(
            self.error or f"scripted error {self.status}",
            status=self.status,
            code="rate_limit_exceeded" if limited else None,
            kind=kind or "invalid_request_error",
            headers=self.headers,
        )


class RateLimit(Part):
    """Call number `call` of the conversation (from 1) is refused with 429 and uses no turn up."""

    call: Positive
    retry_after: Seconds


class Script(Part):
    """A conversation's turns, and the habits of its endpoint.

    A request belongs to the script whose key occurs in the request's first human message (the longest key
    wins); each request uses the next turn up. `strict` refuses histories that strict providers refuse
    (`agent.offline.history`); the `refuse_…`, `require_…` and `only_…` switches are the habits of endpoints
    that call themselves compatible, `context_limit` is in tokens as `agent.offline.tokens` counts them (too
    long is refused in the words of `context_error`).
    """

    turns: tuple[Turn, ...] = ()
    strict: bool = True
    refuse_null_content: bool = False
    refuse_blank_content: bool = False
    refuse_json_schema: bool = False
    refuse_forced_tool_choice: bool = False
    refuse_parallel_tool_calls: bool = False
    refuse_stream_options: bool = False
    only_max_tokens: bool = False
    require_reasoning: bool = False
    refuse_reasoning: bool = False
    no_usage: bool = False
    tool_ids: ToolIds = "normal"
    tool_index: ToolIndex = "normal"
    context_limit: Positive | None = None
    context_error: Wording = "current"
    rate_limit_at: RateLimit | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.require_reasoning and self.refuse_reasoning:
            raise ValueError("'require_reasoning' and 'refuse_reasoning' exclude each other")
        return self

    def gates(self) -> set[str]:
        """Names of every gate in the turns."""
        return {name for turn in self.turns for name in turn.gates()}


class Authorization(Part):
    """The Authorization header without its value; `sha256` (hexadecimal) is of what follows the scheme."""

    present: bool
    scheme: str | None = None
    sha256: str | None = None


class SeenRequest(Part):
    """A chat request as it came in: number `n` of this server (from 1), and what became of it.

    `key` names its script and `turn` (from 0) the turn it used up, if any; `refused` is the error text.
    """

    n: int
    key: str | None
    turn: int | None
    refused: str | None
    body: Any
    headers: dict[str, str]
    authorization: Authorization


class SeenRequests(Part):
    """The answer of the request routes; `left` is the number of unused turns of the script."""

    requests: tuple[SeenRequest, ...]
    left: int | None = None
