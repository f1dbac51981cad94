"""Spans hang below the one that caused them, and carry their run's identity."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanContext, SpanKind, StatusCode, TraceFlags, TraceState

from agent.telemetry.identity import Identity
from agent.telemetry.outcome import OK, Outcome
from agent.telemetry.spans import Branch, Spans

WHO = Identity("acme", "support", "a" * 64, "thread-1", "run-1")
OUTSIDE = SpanContext(
    0x4BF92F3577B34DA6A3CE929D0E0E4736,
    0x00F067AA0BA902B7,
    is_remote=True,
    trace_flags=TraceFlags(TraceFlags.DEFAULT),
    trace_state=TraceState([("v", "free-text")]),
)


@pytest.fixture
def spans(provider: TracerProvider) -> Spans:
    return Spans(provider.get_tracer("tests"))


def run(spans: Spans, identity: Identity = WHO) -> tuple[UUID, Branch]:
    identifier = uuid4()
    spans.begin_run(identifier, identity, graph="react", attempt=1)
    branch = spans.find(identifier)
    assert branch is not None
    return identifier, branch


def attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def test_a_child_is_below_its_parent_and_tells_whose_it_is(
    spans: Spans, memory: InMemorySpanExporter
) -> None:
    identifier, root = run(spans)
    child = spans.begin(root, "chat x", kind="model", attributes={"gen_ai.request.model": "x"}, remote=True)
    child.finish(OK)
    spans.end(identifier)
    spans.end_run(root, OK)
    below, above = memory.get_finished_spans()
    assert (above.name, below.name) == ("invoke_agent support", "chat x")
    assert above.context is not None
    assert below.parent is not None
    assert below.parent.span_id == above.context.span_id
    assert below.kind is SpanKind.CLIENT
    assert attributes(below) == {
        **WHO.attributes(),
        "signalbox.kind": "model",
        "gen_ai.request.model": "x",
        "signalbox.outcome": "ok",
    }


def test_an_error_is_told_by_its_type_without_a_description(
    spans: Spans, memory: InMemorySpanExporter
) -> None:
    _, root = run(spans)
    root.finish(Outcome("error", "ValueError"))
    [span] = memory.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description is None
    assert attributes(span)["error.type"] == "ValueError"
    assert not span.events


def test_a_run_is_a_root_also_inside_of_anothers_trace(spans: Spans, memory: InMemorySpanExporter) -> None:
    """Case: a client's `traceparent` that says not to sample must not blind the operator."""
    with trace.use_span(trace.NonRecordingSpan(OUTSIDE)):
        _, root = run(spans)
    root.finish(OK)
    [span] = memory.get_finished_spans()
    assert span.parent is None
    assert span.context is not None
    assert span.context.trace_id != OUTSIDE.trace_id
    [link] = span.links
    assert (link.context.trace_id, link.context.span_id) == (OUTSIDE.trace_id, OUTSIDE.span_id)
    assert not link.context.trace_state


def test_a_run_that_nobody_outside_caused_has_no_link(spans: Spans, memory: InMemorySpanExporter) -> None:
    run(spans)[1].finish(OK)
    [span] = memory.get_finished_spans()
    assert span.links == ()


def test_an_unknown_assistant_leaves_the_graph_as_the_name(
    spans: Spans, memory: InMemorySpanExporter
) -> None:
    run(spans, Identity(run="run-1"))[1].finish(OK)
    [span] = memory.get_finished_spans()
    assert span.name == "invoke_agent react"
    assert "gen_ai.agent.name" not in attributes(span)


def test_what_is_left_open_ends_with_its_run_and_not_with_another(
    spans: Spans, memory: InMemorySpanExporter
) -> None:
    identifier, root = run(spans)
    _, other = run(spans, Identity(run="run-2"))
    left, foreign = uuid4(), uuid4()
    spans.keep(left, spans.begin(root, "node tools", kind="node", attributes={}))
    inner = spans.find(left)
    assert inner is not None
    inner.call = spans.begin(inner, "execute_tool x", kind="tool", attributes={})
    spans.pass_through(uuid4(), inner.call)
    spans.keep(foreign, spans.begin(other, "node model", kind="node", attributes={}))
    spans.end(identifier)
    spans.end_run(root, OK)
    outcomes = [(span.name, attributes(span)["signalbox.outcome"]) for span in memory.get_finished_spans()]
    assert outcomes == [
        ("execute_tool x", "cancelled"),
        ("node tools", "cancelled"),
        ("invoke_agent support", "ok"),
    ]
    assert spans.find(left) is None
    assert spans.find(foreign) is not None
    assert len(spans) == 2


def test_an_id_without_a_span_leads_to_the_one_above(spans: Spans, memory: InMemorySpanExporter) -> None:
    _, root = run(spans)
    through = uuid4()
    spans.pass_through(through, root)
    assert spans.find(through) is root
    assert spans.end(through) is None
    assert spans.find(through) is None
    assert memory.get_finished_spans() == ()


def test_the_same_id_begins_only_once(spans: Spans) -> None:
    identifier, root = run(spans)
    spans.begin_run(identifier, Identity(run="other"), graph="react", attempt=1)
    assert spans.find(identifier) is root
    spans.pass_through(identifier, root)
    spans.keep(identifier, Branch(root.span, root.run, root.context))
    assert spans.find(identifier) is root
    assert len(spans) == 1


def test_what_is_unknown_is_nothing(spans: Spans) -> None:
    assert spans.find(None) is None
    assert spans.find(uuid4()) is None
    assert spans.end(uuid4()) is None


def test_a_confirmed_identity_reaches_the_spans_under_way(
    spans: Spans, memory: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = Identity("globex", "desk", "b" * 64, "thread-1", "run-1")

    def confirmed(_: Identity) -> Identity:
        return truth

    monkeypatch.setattr(Identity, "confirmed", confirmed)
    identifier, root = run(spans)
    node = uuid4()
    spans.keep(node, spans.begin(root, "node model", kind="node", attributes={}))
    spans.confirm(root.run)
    later = spans.begin(root, "chat x", kind="model", attributes={})
    later.finish(OK)
    spans.end(identifier)
    spans.end_run(root, OK)
    found = memory.get_finished_spans()
    assert [span.name for span in found] == ["chat x", "node model", "invoke_agent desk"]
    told = [{key: attributes(span)[key] for key in truth.attributes()} for span in found]
    assert told == [truth.attributes()] * 3
    assert attributes(found[-1])["gen_ai.agent.name"] == "desk"


def test_a_run_that_is_not_sampled_is_not_kept() -> None:
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    spans, identifier = Spans(provider.get_tracer("tests")), uuid4()
    spans.begin_run(identifier, WHO, graph="react", attempt=1)
    assert spans.find(identifier) is None
    assert len(spans) == 0
