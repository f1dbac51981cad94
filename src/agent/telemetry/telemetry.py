"""Telemetry of a process: attached to its graphs, closed within a bound."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TypeVar

from langgraph.pregel import Pregel
from opentelemetry.sdk.trace import TracerProvider

from agent.telemetry.handler import SpanHandler
from agent.telemetry.spans import Spans

GRACE = 3.0
"""Seconds that a stopping server waits for its last spans to be sent."""

Graph = TypeVar("Graph", bound=Pregel[Any, Any, Any, Any])


class Telemetry:
    """Spans of the graphs that it is attached to; without a provider it does nothing at all.

    Args:
        provider: Makes and exports the spans (`agent.telemetry.destination`); `None` is no telemetry.
    """

    def __init__(self, provider: TracerProvider | None) -> None:
        self._provider = provider
        self.spans = Spans(provider.get_tracer("signalbox")) if provider is not None else None

    def attach(self, graph: Graph, *, tools: Iterable[str]) -> Graph:
        """The graph with a callback that records its runs; the very same graph where nothing is exported.

        Args:
            graph: A compiled graph; the result is of the same class.
            tools: Wire names of its tools. A name that a model made up is told as `_OTHER`.
        """
        if self.spans is None:
            return graph
        handler = SpanHandler(self.spans, graph=graph.get_name(), tools=frozenset(tools))
        return graph.with_config(callbacks=[handler])

    async def close(self, *, grace: float = GRACE) -> None:
        """Send what has ended, for at most `grace` seconds; later spans are dropped.

        The thread that sends is left to itself when the time is up. It is a daemon, so that an endpoint which
        hangs does not keep the process alive.
        """
        if self._provider is None:
            return
        provider, loop, sent = self._provider, asyncio.get_running_loop(), asyncio.Event()

        def shut() -> None:
            provider.shutdown()
            with suppress(RuntimeError):  # the loop has gone without waiting
                loop.call_soon_threadsafe(sent.set)

        threading.Thread(target=shut, name="signalbox-telemetry-close", daemon=True).start()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await sent.wait()
