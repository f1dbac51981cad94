"""Serving an app inside the running loop."""

from __future__ import annotations

import socket

import httpx
import pytest

from agent.offline.app import rules_app
from agent.offline.serving import serving

pytestmark = pytest.mark.anyio


async def test_app_is_served_on_loopback_while_the_block_runs() -> None:
    async with httpx.AsyncClient() as client:
        async with serving(rules_app()) as url:
            during = await client.get(f"{url}/models")
        with pytest.raises(httpx.ConnectError):
            await client.get(f"{url}/models")

    assert url.startswith("http://127.0.0.1:")
    assert during.status_code == 200


async def test_two_servers_take_two_ports() -> None:
    async with serving(rules_app()) as first, serving(rules_app()) as second:
        assert first != second


async def test_given_port_is_used_and_may_be_used_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    for _ in range(2):
        async with serving(rules_app(), port=port) as url:
            assert url == f"http://127.0.0.1:{port}/v1"


async def test_taken_port_is_refused_by_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=rf"Port {port} on 127\.0\.0\.1 cannot be used"):
            async with serving(rules_app(), port=port):
                pytest.fail("the port was taken")


async def test_failure_inside_the_block_passes_and_still_stops_the_server() -> None:
    url = ""
    with pytest.raises(ValueError, match="inside"):
        async with serving(rules_app()) as url:
            raise ValueError("inside")

    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(f"{url}/models")
