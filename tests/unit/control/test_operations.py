"""Reading the server's routes: what is sent, and what is said of an answer that is none."""

from __future__ import annotations

import json
from typing import Any

import httpx
import jwt
import pytest

from assistants.cli.credential import NoToken
from assistants.cli.operations import OperationRefused, lines, operations, read
from tests.unit.server.reporting import SECRET

pytestmark = pytest.mark.anyio

DEVELOPMENT = {"SIGNALBOX_ENV": "dev", "SIGNALBOX_JWT_SECRET": SECRET, "SIGNALBOX_URL": "http://desk.example"}


def answering(status: int, content: bytes) -> tuple[httpx.AsyncClient, list[httpx.Request]]:
    """A client whose server always answers the same, and what it was asked."""
    asked: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(status, content=content)

    return httpx.AsyncClient(transport=httpx.MockTransport(handle), base_url="http://desk"), asked


async def test_what_is_not_given_is_not_sent() -> None:
    client, asked = answering(200, b'{"a": 1}')
    async with client:
        assert await read(client, "/ops/x", {"tenant": None, "after": 0, "since": ""}) == {"a": 1}
    assert [str(request.url) for request in asked] == ["http://desk/ops/x?after=0&since="]


@pytest.mark.parametrize("content", [b"<html>hello</html>", b"", b"[1]", b'"text"', b"\xff"])
async def test_an_answer_that_is_no_report_is_said_to_be_of_something_else(content: bytes) -> None:
    client, _ = answering(200, content)
    async with client:
        with pytest.raises(OperationRefused, match="'/ops/x' is no Signalbox server; check SIGNALBOX_URL"):
            await read(client, "/ops/x", {})


REFUSALS: list[tuple[int, Any, str]] = [
    (403, {"detail": "Not yours."}, "The server refused. 403: Not yours."),
    (404, {"detail": "Not Found"}, "The server refused. 404: Not Found"),
    (502, None, "The server refused. 502: it gave no reason."),
    (500, ["x"], "The server refused. 500: it gave no reason."),
    (307, {}, "The server refused. 307: it gave no reason."),
]


@pytest.mark.parametrize(("status", "body", "said"), REFUSALS, ids=str)
async def test_a_refusal_is_told_in_the_server_s_words(status: int, body: Any, said: str) -> None:
    client, _ = answering(status, b"<html>" if body is None else json.dumps(body).encode())
    async with client:
        with pytest.raises(OperationRefused) as caught:
            await read(client, "/ops/x", {})
        assert str(caught.value) == said
        with pytest.raises(OperationRefused) as caught:
            [line async for line in lines(client, "/ops/x", {}, accept="application/x-ndjson")]
        assert str(caught.value) == said


async def test_lines_come_without_their_ends_and_are_asked_for_by_type() -> None:
    client, asked = answering(200, b'{"a":1}\n{"a":2}\n')
    async with client:
        found = [line async for line in lines(client, "/ops/x", {"limit": 2}, accept="application/x-ndjson")]
    assert found == ['{"a":1}', '{"a":2}']
    assert [(request.url.query, request.headers["accept"]) for request in asked] == [
        (b"limit=2", "application/x-ndjson")
    ]


async def test_in_development_the_command_is_an_operator_of_the_platform() -> None:
    async with operations(DEVELOPMENT) as client:
        assert str(client.base_url) == "http://desk.example"
        token = client.headers["authorization"].removeprefix("Bearer ")
    claims = jwt.decode(token, SECRET, algorithms=["HS256"])
    assert (claims["tenant"], claims["sub"], claims["roles"]) == ("platform", "cli", ["operator"])


async def test_a_given_token_is_used_and_without_any_there_is_no_request() -> None:
    async with operations({**DEVELOPMENT, "SIGNALBOX_TOKEN": "given"}) as client:
        assert client.headers["authorization"] == "Bearer given"
    with pytest.raises(NoToken):
        async with operations({**DEVELOPMENT, "SIGNALBOX_ENV": "prod"}):
            raise AssertionError("there is no client")
