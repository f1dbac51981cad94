"""Where spans go is decided by the standard variables, and a wrong one never ends a start."""

from __future__ import annotations

import logging
import threading

import pytest

from agent.telemetry import destination
from agent.telemetry.destination import Seldom, Unsupported, wanted
from tests.unit.telemetry.collector import Collector

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}


@pytest.mark.parametrize(
    "environment",
    [
        ENDPOINT,
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"},
        {"OTEL_TRACES_EXPORTER": "otlp"},
        {**ENDPOINT, "OTEL_TRACES_EXPORTER": " otlp "},
        {**ENDPOINT, "OTEL_TRACES_EXPORTER": ""},
        {**ENDPOINT, "OTEL_SDK_DISABLED": "false"},
        {**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
        {
            **ENDPOINT,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
        },
    ],
)
def test_spans_are_exported_where_the_variables_ask_for_it(environment: dict[str, str]) -> None:
    assert wanted(environment) is True


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": " "},
        {"OTEL_SERVICE_NAME": "x", "OTEL_TRACES_SAMPLER": "always_on"},
        {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:4318"},
        {"LANGSMITH_TRACING": "true"},
        {**ENDPOINT, "OTEL_SDK_DISABLED": "true"},
        {**ENDPOINT, "OTEL_SDK_DISABLED": "TRUE"},
        {**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"},
        {**ENDPOINT, "OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
    ],
)
def test_spans_are_not_exported_otherwise(environment: dict[str, str]) -> None:
    assert wanted(environment) is False


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"OTEL_TRACES_EXPORTER": "console"}, "'console'; expected 'otlp' or 'none'"),
        ({"OTEL_TRACES_EXPORTER": "otlp,zipkin"}, "'otlp,zipkin'; expected 'otlp' or 'none'"),
        ({**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "'grpc'; expected 'http/protobuf'"),
        ({**ENDPOINT, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"}, "'http/json'; expected"),
    ],
)
def test_what_is_not_supported_is_said(environment: dict[str, str], words: str) -> None:
    with pytest.raises(Unsupported, match=words):
        wanted(environment)


def test_with_nothing_set_nothing_is_built_and_no_thread_starts() -> None:
    before = threading.active_count()
    assert destination.provider() is None
    assert threading.active_count() == before


def test_an_unsupported_exporter_is_logged_and_exports_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    assert destination.provider() is None
    [record] = caplog.records
    assert (
        record.getMessage() == "no telemetry: OTEL_TRACES_EXPORTER is 'console'; expected 'otlp' or 'none'."
    )


def test_a_setting_that_the_sdk_can_not_use_never_ends_the_start(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "-1")
    assert destination.provider() is None
    assert "the OTEL_ variables can't be used" in caplog.text


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({}, "signalbox"),
        ({"OTEL_SERVICE_NAME": "mine"}, "mine"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=ours,deployment.environment=test"}, "ours"),
    ],
)
def test_headers_path_and_service_are_the_standard_ones(
    receiver: Collector, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], name: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-token=sesame")
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    made = destination.provider()
    assert made is not None
    made.get_tracer("tests").start_span("one").end()
    made.shutdown()
    [span] = receiver.spans
    assert (span.name, span.resource["service.name"]) == ("one", name)
    assert receiver.paths == ["/v1/traces"]
    assert receiver.headers[0]["x-token"] == "sesame"


def test_an_endpoint_for_traces_alone_is_taken_as_it_is(
    receiver: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{receiver.url}/own/path")
    made = destination.provider()
    assert made is not None
    made.get_tracer("tests").start_span("one").end()
    made.shutdown()
    assert receiver.paths == ["/own/path"]
    assert len(receiver.spans) == 1


def test_an_endpoint_that_is_down_says_so_once_a_minute() -> None:
    now = 100.0
    seldom = Seldom(pause=60, clock=lambda: now)
    record = logging.LogRecord("x", logging.ERROR, "", 0, "down", None, None)
    assert [seldom.filter(record) for _ in range(3)] == [True, False, False]
    now = 159.9
    assert seldom.filter(record) is False
    now = 160.0
    assert [seldom.filter(record) for _ in range(2)] == [True, False]


def test_the_exporters_log_is_thinned_out_once(
    receiver: Collector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    exporter = logging.getLogger("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    monkeypatch.setattr(exporter, "filters", [])
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    receiver.mood = "refuses"
    for _ in range(3):
        made = destination.provider()
        assert made is not None
        made.get_tracer("tests").start_span("one").end()
        made.shutdown()
    assert len(receiver.bodies) == 3
    assert [type(one) for one in exporter.filters] == [Seldom]
    said = [record for record in caplog.records if record.name == exporter.name]
    assert len(said) == 1
    assert "Failed to export" in said[0].getMessage()
