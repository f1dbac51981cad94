"""The offline model as a process: how it starts, and how it ends."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from agent.offline.__main__ import main
from tests.unit.offline.speech import user

pytestmark = pytest.mark.anyio

SECOND = 1.0


@asynccontextmanager
async def launched(*arguments: str) -> AsyncGenerator[tuple[asyncio.subprocess.Process, dict[str, Any]]]:
    """A process and its one line; it is killed when the block is left, whatever happened."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "agent.offline",
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), 20)
        yield process, json.loads(line)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.parametrize(("mode", "number"), [("rules", signal.SIGTERM), ("script", signal.SIGINT)])
async def test_process_says_where_it_serves_and_ends_on_a_signal(mode: str, number: signal.Signals) -> None:
    async with launched("--mode", mode) as (process, line):
        async with httpx.AsyncClient() as client:
            models = await client.get(f"{line['url']}/models")
        process.send_signal(number)
        started = time.monotonic()
        out, err = await process.communicate()
        took = time.monotonic() - started

    assert set(line) == {"url", "mode"}
    assert line["mode"] == mode
    assert line["url"].startswith("http://127.0.0.1:")
    assert line["url"].endswith("/v1")
    assert models.status_code == 200
    assert (process.returncode, out, err) == (0, b"", b"")
    assert took < SECOND


async def test_signal_ends_a_process_whose_clients_wait() -> None:
    async with launched("--mode", "script") as (process, line):
        root = line["url"].removesuffix("/v1")
        async with httpx.AsyncClient(base_url=root, timeout=20) as client:
            await client.put("/script/held", json={"turns": [{"content": "never", "gate": "go"}]})
            body = {"model": "m", "messages": [user("held")]}
            waiting = asyncio.create_task(client.post("/v1/chat/completions", json=body))
            await client.get("/script/held/requests", params={"wait_for": 1})
            process.terminate()
            started = time.monotonic()
            out, err = await process.communicate()
            took = time.monotonic() - started
            with pytest.raises(httpx.HTTPError):
                await waiting

    assert (process.returncode, out, err) == (0, b"", b"")
    assert took < SECOND


async def test_process_ends_with_its_stdin_when_asked_to() -> None:
    async with launched("--mode", "script", "--until-eof") as (process, _):
        assert process.stdin is not None
        process.stdin.write(b"still here\n")
        await process.stdin.drain()
        running = process.returncode is None
        process.stdin.close()
        started = time.monotonic()
        await process.wait()
        took = time.monotonic() - started

    assert running
    assert process.returncode == 0
    assert took < SECOND


async def test_signal_ends_a_process_that_still_reads_its_stdin() -> None:
    async with launched("--mode", "rules", "--until-eof") as (process, _):
        process.terminate()
        out, err = await process.communicate()

    assert (process.returncode, out, err) == (0, b"", b"")


async def test_process_outlives_its_stdin_unless_asked_to() -> None:
    async with launched("--mode", "rules") as (process, line):
        assert process.stdin is not None
        process.stdin.close()
        async with httpx.AsyncClient() as client:
            body = {"model": "m", "messages": [user("thanks")]}
            response = await client.post(f"{line['url']}/chat/completions", json=body)

        assert process.returncode is None
    assert response.json()["choices"][0]["message"]["content"] == "You're welcome."


@pytest.fixture
def _handlers() -> Generator[None]:
    """The process's own signal handlers come back after the test."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_handlers")
def test_taken_port_is_an_error_that_names_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SystemExit) as ended:
            main(["--mode", "rules", "--pace", "500", "--port", str(port)])

    assert str(ended.value.code).startswith(f"Port {port} on 127.0.0.1 cannot be used (")
    assert str(ended.value.code).endswith("choose another one, or 0.")


@pytest.mark.parametrize(
    "arguments",
    [[], ["--mode", "llm"], ["--mode", "rules", "--pace", "0"], ["--mode", "rules", "--pace", "x"]],
)
def test_wrong_arguments_end_with_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    assert "usage: python -m agent.offline" in capsys.readouterr().err
