"""Tools for tests: they count what they really did."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from agent.errors import ToolFailure
from agent.tools.registry import Registry, ToolCall


@dataclass
class Log:
    """What the tools did: (tool, argument, idempotency key)."""

    effects: list[tuple[str, object, str]] = field(default_factory=list[tuple[str, object, str]])
    started: int = 0
    together: asyncio.Event = field(default_factory=asyncio.Event)
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    hung: int = 0
    more: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def begun(self, count: int) -> None:
        """Wait until so many tools hang."""
        async with self.more:
            await self.more.wait_for(lambda: self.hung >= count)


def workbench(log: Log) -> Registry:
    """A registry of tools that write to `log`."""
    registry = Registry()

    @registry.tool("bench.echo", risk="read")
    async def echo(call: ToolCall, text: str) -> dict[str, object]:
        """Say it back."""
        log.effects.append(("echo", text, call.key))
        return {"echo": text, "tenant": call.tenant, "principal": call.principal}

    @registry.tool("bench.slow", risk="read", timeout=0.2)
    async def slow(call: ToolCall) -> str:
        """Never finishes."""
        log.effects.append(("slow", None, call.key))
        await asyncio.Event().wait()
        return "never"

    @registry.tool("bench.boom", risk="read")
    async def boom() -> str:
        """Break."""
        raise RuntimeError("secret /etc/passwd sk-123")

    @registry.tool("bench.fail", risk="read")
    async def fail() -> str:
        """Refuse."""
        raise ToolFailure("There is no such thing here; ask for another.")

    @registry.tool("bench.meet", risk="read", timeout=5.0)
    async def meet(place: str) -> str:
        """Return only when two calls are under way at once."""
        log.started += 1
        if log.started == 2:
            log.together.set()
        await log.together.wait()
        return f"met at {place}"

    @registry.tool("bench.pay", risk="write")
    async def pay(call: ToolCall, amount: Annotated[float, Field(gt=0)]) -> dict[str, object]:
        """Pay an amount."""
        log.effects.append(("pay", amount, call.key))
        return {"paid": amount}

    @registry.tool("bench.big", risk="read", output_cap=100)
    async def big() -> str:
        """Say a lot."""
        return "a" * 500 + "z" * 500

    _hard_cases(registry, log)
    assert all(callable(tool) for tool in (echo, slow, boom, fail, meet, pay, big))
    return registry


def _hard_cases(registry: Registry, log: Log) -> None:
    @registry.tool("bench.hang", risk="read")
    async def hang(call: ToolCall) -> str:
        """Read something for as long as the run lives."""
        return await forever("hang", call)

    @registry.tool("bench.send", risk="write")
    async def send(call: ToolCall) -> str:
        """Change something, then hang."""
        return await forever("send", call)

    async def forever(name: str, call: ToolCall) -> str:
        log.effects.append((name, None, call.key))
        log.hanging.set()
        async with log.more:
            log.hung += 1
            log.more.notify_all()
        await asyncio.Event().wait()
        return "never"

    @registry.tool("bench.nasty", risk="read")
    async def nasty() -> str:
        """Say what databases and endpoints refuse."""
        return "null \x00 lone \ud83d pair \ud83d\ude00"

    @registry.tool("bench.long", risk="read", output_cap=8_000)
    async def long(page: str) -> str:
        """Say a lot about a page."""
        return f"begin {page} " + "word " * 2_000 + f"end {page}"

    assert all(callable(tool) for tool in (hang, send, nasty, long))
