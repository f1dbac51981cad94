"""Spans without a network: the SDK's own exporter into memory."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.unit.telemetry.collector import Collector, collector


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """No `OTEL_` variable of the developer's own."""
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def memory() -> InMemorySpanExporter:
    """What has ended."""
    return InMemorySpanExporter()


@pytest.fixture
def provider(memory: InMemorySpanExporter) -> Generator[TracerProvider]:
    """A provider whose spans are in `memory` at once."""
    made = TracerProvider(shutdown_on_exit=False)
    made.add_span_processor(SimpleSpanProcessor(memory))
    yield made
    made.shutdown()


@pytest.fixture
def receiver() -> Generator[Collector]:
    """A real OTLP receiver."""
    with collector() as seen:
        yield seen
