"""The spans under way, by LangChain's run ids: each below the one that caused it, none below another run's.

Nothing here depends on what is current in a task or thread: a child names its parent, so runs that take turns
on one event loop can't mix.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, StatusCode, Tracer

from agent.telemetry.chat import Value
from agent.telemetry.identity import Identity
from agent.telemetry.outcome import CANCELLED, Outcome


@dataclass(slots=True, eq=False)
class Run:
    """One run under way: whose it is, what it has used, and the ids of everything below it."""

    identity: Identity
    confirmed: bool = False
    interrupted: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    members: set[UUID] = field(default_factory=set[UUID])

    def totals(self) -> dict[str, Value]:
        """The sums over the whole run, for its root span."""
        return {
            "gen_ai.usage.input_tokens": self.input_tokens,
            "gen_ai.usage.output_tokens": self.output_tokens,
            "signalbox.model_calls": self.model_calls,
            "signalbox.tool_calls": self.tool_calls,
        }


@dataclass(slots=True, eq=False)
class Branch:
    """A span under way. `began` is in seconds of `time.perf_counter`.

    `failures` counts failed model calls in a row directly below it, by their purpose; `purpose` is a model
    call's own. `call` is the span of the tool call that a node's task is for, `call_id` that call's id.
    """

    span: Span
    run: Run
    context: Context
    parent: Branch | None = None
    began: float = field(default_factory=time.perf_counter)
    purpose: str = ""
    waiting: bool = True
    failures: dict[str, int] = field(default_factory=dict[str, int])
    call: Branch | None = None
    call_id: str = ""

    def finish(self, outcome: Outcome) -> None:
        """End the span; what failed is told by its type alone."""
        if self.call is not None:
            self.call.finish(outcome)
            self.call = None
        self.span.set_attribute("signalbox.outcome", outcome.code)
        if outcome.error is not None:
            self.span.set_attribute("error.type", outcome.error)
            self.span.set_status(StatusCode.ERROR)
        self.span.end()


class Spans:
    """Begins and ends spans with `tracer`; every span carries the identity of its run."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._branches: dict[UUID, Branch] = {}
        self._through: dict[UUID, Branch] = {}

    def __len__(self) -> int:
        return len(self._branches) + len(self._through)

    def find(self, identifier: UUID | None) -> Branch | None:
        """The span under way for that id, or the one above it where the id has none of its own."""
        if identifier is None:
            return None
        return self._branches.get(identifier) or self._through.get(identifier)

    def begin_run(self, identifier: UUID, identity: Identity, *, graph: str, attempt: int) -> None:
        """The root span of a run: never a child, whatever trace the caller is in; that one is linked to.

        A client that sends a `traceparent` can thus neither choose what is sampled here nor put its spans
        into another's trace.
        """
        if self.find(identifier) is not None:
            return
        attributes = {
            **identity.attributes(),
            **_agent(identity),
            "signalbox.kind": "run",
            "signalbox.graph": graph,
            "signalbox.run.attempt": attempt,
        }
        span = self._tracer.start_span(
            _title(identity, graph), context=Context(), attributes=attributes, links=_caller()
        )
        if span.is_recording():
            self._keep(identifier, Branch(span, Run(identity), trace.set_span_in_context(span, Context())))

    def begin(
        self, parent: Branch, name: str, *, kind: str, attributes: Mapping[str, Value], remote: bool = False
    ) -> Branch:
        """A span below `parent`; `kind` is `node`, `model` or `tool`, `remote` that it waits for another."""
        span = self._tracer.start_span(
            name,
            context=parent.context,
            kind=SpanKind.CLIENT if remote else SpanKind.INTERNAL,
            attributes={**parent.run.identity.attributes(), "signalbox.kind": kind, **attributes},
        )
        return Branch(span, parent.run, trace.set_span_in_context(span, parent.context), parent)

    def keep(self, identifier: UUID, branch: Branch) -> None:
        """Find `branch` under that id from now on."""
        if identifier not in self._branches:
            self._keep(identifier, branch)

    def pass_through(self, identifier: UUID, parent: Branch) -> None:
        """What begins below that id belongs to `parent`, as LangChain's own steps in between do."""
        if self.find(identifier) is None:
            self._through[identifier] = parent
            parent.run.members.add(identifier)

    def confirm(self, run: Run) -> None:
        """Correct the identity of a run once its context can be seen, also on the spans under way."""
        if run.confirmed:
            return
        run.confirmed = True
        identity = run.identity.confirmed()
        if identity == run.identity:
            return
        run.identity = identity
        for branch in [branch for one in run.members if (branch := self._branches.get(one))]:
            attributes = identity.attributes()
            if branch.parent is None:
                branch.span.update_name(_title(identity, ""))
                attributes |= _agent(identity)
            branch.span.set_attributes(attributes)

    def end(self, identifier: UUID) -> Branch | None:
        """Let go of an id: the branch that it stood for, which the caller finishes; `None` without one."""
        branch = self._branches.pop(identifier, None)
        passed = self._through.pop(identifier, None)
        owner = branch or passed
        if owner is not None:
            owner.run.members.discard(identifier)
        return branch

    def end_run(self, branch: Branch, outcome: Outcome) -> None:
        """End a root span and what was left open below it, as by a cancellation."""
        for identifier in tuple(branch.run.members):
            left = self.end(identifier)
            if left is not None:
                left.finish(CANCELLED)
        branch.span.set_attributes(branch.run.totals())
        branch.finish(outcome)

    def _keep(self, identifier: UUID, branch: Branch) -> None:
        self._branches[identifier] = branch
        branch.run.members.add(identifier)


def _title(identity: Identity, graph: str) -> str:
    return f"invoke_agent {identity.assistant or graph}".strip()


def _agent(identity: Identity) -> dict[str, str]:
    found = {"gen_ai.agent.name": identity.assistant, "gen_ai.conversation.id": identity.thread}
    known = {key: value for key, value in found.items() if value}
    return {"gen_ai.operation.name": "invoke_agent", **known}


def _caller() -> list[Link]:
    """A link to the span that is current where the run starts; its `tracestate` is a client's free text."""
    current = trace.get_current_span().get_span_context()
    if not current.is_valid:
        return []
    bare = SpanContext(current.trace_id, current.span_id, current.is_remote, current.trace_flags)
    return [Link(bare)]
