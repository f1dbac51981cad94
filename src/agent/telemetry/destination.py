"""Where spans go: decided by OpenTelemetry's standard variables and by nothing else.

Endpoint, headers, timeouts, batch sizes, sampler and resource are read by the SDK itself
(https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

logger = logging.getLogger(__name__)

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_PROTOCOL = "http/protobuf"
_UNNAMED = "unknown_service"  # what the SDK calls a service without a name
_EXPORTER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"  # its logger
_PAUSE = 60.0  # seconds between two lines about an endpoint that is down


class Unsupported(Exception):
    """The variables ask for an exporter that this deployment does not have."""


class Seldom(logging.Filter):
    """Lets one record in `pause` seconds through: every batch that is not delivered logs several.

    `clock` gives monotonic seconds and is replaced by tests.
    """

    def __init__(self, *, pause: float = _PAUSE, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._pause, self._clock = pause, clock
        self._next = clock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged."""
        now = self._clock()
        if now < self._next:
            return False
        self._next = now + self._pause
        return True


def wanted(environment: Mapping[str, str]) -> bool:
    """Whether spans are to be exported: an endpoint is set, or `OTEL_TRACES_EXPORTER` says `otlp`.

    Raises:
        Unsupported: Another exporter or protocol is asked for.
    """

    def first(*names: str) -> str:
        return next((value for name in names if (value := environment.get(name, "").strip())), "")

    if first("OTEL_SDK_DISABLED").lower() == "true":
        return False
    exporters = [name.strip() for name in first("OTEL_TRACES_EXPORTER").split(",") if name.strip()]
    if "none" in exporters or not (exporters or first(*_ENDPOINTS)):
        return False
    if exporters and exporters != ["otlp"]:
        raise Unsupported(f"OTEL_TRACES_EXPORTER is {','.join(exporters)!r}; expected 'otlp' or 'none'.")
    protocol = first(*_PROTOCOLS) or _PROTOCOL
    if protocol != _PROTOCOL:
        raise Unsupported(f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol!r}; expected {_PROTOCOL!r}.")
    return True


def provider() -> TracerProvider | None:
    """A provider that exports in a thread of its own, or `None` where nothing is to be exported.

    A wrong setting is logged and exports nothing: telemetry never keeps a server from starting. The global
    provider is left alone; what else is instrumented in the process is not ours to export.
    """
    try:
        if not wanted(os.environ):
            return None
        made = TracerProvider(resource=_resource(), shutdown_on_exit=False)
        made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        _hush(logging.getLogger(_EXPORTER))
    except Unsupported as unsupported:
        logger.warning("no telemetry: %s", unsupported)
        return None
    except Exception as error:  # whatever the SDK makes of the variables
        logger.exception("no telemetry: the OTEL_ variables can't be used", exc_info=error)
        return None
    return made


def _hush(exporter: logging.Logger) -> None:
    if not any(isinstance(one, Seldom) for one in exporter.filters):
        exporter.addFilter(Seldom())


def _resource() -> Resource:
    found = Resource.create()
    if str(found.attributes[SERVICE_NAME]).startswith(_UNNAMED):
        return found.merge(Resource({SERVICE_NAME: "signalbox"}))
    return found
