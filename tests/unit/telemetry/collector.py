"""A real OTLP/HTTP receiver on this machine: what arrives is decoded from protobuf, and kept as bytes too."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Proto
from opentelemetry.proto.trace.v1.trace_pb2 import Status

Mood = Literal["takes", "hangs", "refuses"]
Value = str | int | float | bool | tuple[str, ...]
Tree = tuple[str, tuple["Tree", ...]]


@dataclass(frozen=True, slots=True)
class Seen:
    """A span as it arrived; `parent` is "" for a root span."""

    name: str
    trace: str
    id: str
    parent: str
    began: int
    ended: int
    kind: str
    error: bool
    message: str
    attributes: dict[str, Value]
    events: int
    links: tuple[tuple[str, str, str], ...]
    resource: dict[str, Value]

    @property
    def identity(self) -> tuple[Value | None, ...]:
        """Tenant, assistant, release, thread and run."""
        facts = ("tenant", "assistant", "release", "thread", "run")
        return tuple(self.attributes.get(f"signalbox.{fact}") for fact in facts)

    def number(self, key: str) -> int:
        """A whole number among the attributes."""
        value = self.attributes[key]
        assert isinstance(value, int)
        return value

    @property
    def outcome(self) -> Value | None:
        return self.attributes.get("signalbox.outcome")


@dataclass
class Collector:
    """What has arrived so far, and how the next request is answered."""

    url: str = ""
    mood: Mood = "takes"
    bodies: list[bytes] = field(default_factory=list[bytes])
    paths: list[str] = field(default_factory=list[str])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    came: threading.Condition = field(default_factory=threading.Condition)
    released: threading.Event = field(default_factory=threading.Event)

    def take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        """The status to answer with."""
        with self.came:
            self.paths.append(path)
            self.headers.append(headers)
            self.bodies.append(body)
            self.came.notify_all()
        if self.mood == "hangs":
            self.released.wait(60)
        return 400 if self.mood == "refuses" else 200

    @property
    def spans(self) -> list[Seen]:
        """Every span, by the time it began."""
        with self.came:
            bodies = list(self.bodies)
        return sorted((span for body in bodies for span in decoded(body)), key=lambda span: span.began)

    async def until(self, count: int, *, name: str = "", within: float = 30.0) -> list[Seen]:
        """The spans whose names begin with `name`, once there are `count`."""

        def wait() -> list[Seen]:
            last = time.monotonic() + within
            while True:
                found = [span for span in self.spans if span.name.startswith(name)]
                if len(found) >= count:
                    return found
                with self.came:
                    if not self.came.wait(max(0.0, last - time.monotonic())):
                        raise AssertionError(f"{len(found)} spans of {count}: {[s.name for s in found]}")

        return await asyncio.to_thread(wait)

    async def requested(self, *, within: float = 30.0) -> None:
        """Return when a request has come, whether or not it was answered."""

        def wait() -> None:
            with self.came:
                assert self.came.wait_for(lambda: bool(self.bodies), within)

        await asyncio.to_thread(wait)


@contextmanager
def collector() -> Generator[Collector]:
    """A receiver on a free port of 127.0.0.1."""
    seen = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status = seen.take(self.path, headers, body)
            try:
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()
            except OSError:  # the client gave up waiting
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        seen.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield seen
        finally:
            seen.released.set()
            server.shutdown()
            thread.join()


def decoded(body: bytes) -> list[Seen]:
    """The spans of one export request."""
    request = ExportTraceServiceRequest.FromString(body)
    return [
        _seen(span, _values(group.resource.attributes))
        for group in request.resource_spans
        for scope in group.scope_spans
        for span in scope.spans
    ]


def trees(spans: Iterable[Seen]) -> list[Tree]:
    """Names below names: a tree for each root span, children by the time they began."""
    several = list(spans)

    def below(parent: str) -> tuple[Tree, ...]:
        return tuple((span.name, below(span.id)) for span in several if span.parent == parent)

    return list(below(""))


def _seen(span: Proto, resource: dict[str, Value]) -> Seen:
    return Seen(
        name=span.name,
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        began=span.start_time_unix_nano,
        ended=span.end_time_unix_nano,
        kind=Proto.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
        error=span.status.code == Status.STATUS_CODE_ERROR,
        message=span.status.message,
        attributes=_values(span.attributes),
        events=len(span.events),
        links=tuple((link.trace_id.hex(), link.span_id.hex(), link.trace_state) for link in span.links),
        resource=resource,
    )


def _values(pairs: Iterable[KeyValue]) -> dict[str, Value]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Value:
    which = value.WhichOneof("value")
    if which == "array_value":
        return tuple(one.string_value for one in value.array_value.values)
    return getattr(value, which or "string_value")
