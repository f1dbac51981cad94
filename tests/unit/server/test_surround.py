from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assistants.server.surround import Info, Shield, shut
from tests.unit.server.listener import listening

pytestmark = pytest.mark.anyio


class Inside:
    """The server behind the middleware; notes which requests reach it."""

    def __init__(self, answer: Callable[[], Response] | None = None) -> None:
        self.reached: list[str] = []
        self._answer = answer or (lambda: PlainTextResponse("inside"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.reached.append(scope.get("path", scope["type"]))
        if scope["type"] == "http":
            await self._answer()(scope, receive, send)


async def ask(
    app: ASGIApp, path: str, *, method: str = "GET", kind: str = "http", root: str = ""
) -> list[Message]:
    """The messages that `app` answers a request with."""
    sent: list[Message] = []
    incoming: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if not incoming:
            await asyncio.Event().wait()  # the client stays
        return incoming.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    scope: dict[str, Any] = {
        "type": kind,
        "path": path,
        "root_path": root,
        "headers": [],
        "query_string": b"",
    }
    if kind == "http":
        scope["method"] = method
    await app(scope, receive, send)
    return sent


def headers(message: Message) -> dict[str, str]:
    return {name.decode().lower(): value.decode() for name, value in message["headers"]}


def body(messages: list[Message]) -> bytes:
    return b"".join(message.get("body", b"") for message in messages[1:])


# The shield

SIDE_DOORS = [
    "/internal",
    "/internal/",
    "/internal/truncate",
    "/internal/debug/thread/5f0c",
    "/internal//truncate",
    "//internal/truncate",
    "///internal///truncate//",
    "/INTERNAL/truncate",
    "/Internal/Truncate",
    "/deploy",
    "/deploy/",
    "/deploy/logs",
    "//deploy",
    "/Deploy",
]
OPEN = [
    "/",
    "",
    "/ok",
    "/info",
    "/internals",
    "/internal-docs",
    "/deployments",
    "/threads/internal",
    "/threads/5f0c/deploy",
    "/store/items/deploy/x",
    "/ops/health",
    "/api/internal/truncate",
]


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "OPTIONS", "DELETE", "BREW"])
@pytest.mark.parametrize("path", SIDE_DOORS)
async def test_a_side_door_is_shut_however_it_is_written(path: str, method: str) -> None:
    inside = Inside()
    sent = await ask(Shield(inside), path, method=method)
    assert inside.reached == []
    assert sent[0]["status"] == 404
    assert json.loads(body(sent)) == {"detail": "Not Found"}


@pytest.mark.parametrize("path", OPEN)
async def test_every_other_path_is_passed_on(path: str) -> None:
    inside = Inside()
    sent = await ask(Shield(inside), path)
    assert inside.reached == [path]
    assert (sent[0]["status"], body(sent)) == (200, b"inside")


@pytest.mark.parametrize("path", SIDE_DOORS)
async def test_a_websocket_is_shut_out_too(path: str) -> None:
    inside = Inside()
    sent = await ask(Shield(inside), path, kind="websocket")
    assert inside.reached == []
    assert sent[0]["type"] == "websocket.http.response.start"
    assert sent[0]["status"] == 404


async def test_a_websocket_elsewhere_is_passed_on() -> None:
    inside = Inside()
    assert await ask(Shield(inside), "/threads/5f0c/stream/events", kind="websocket") == []
    assert inside.reached == ["/threads/5f0c/stream/events"]


async def test_the_lifespan_is_passed_on() -> None:
    inside = Inside()
    await ask(Shield(inside), "/internal", kind="lifespan")
    assert inside.reached == ["/internal"]


@pytest.mark.parametrize("root", ["/api", "/api/v1"])
@pytest.mark.parametrize("door", ["/internal/truncate", "//Internal/truncate", "/deploy"])
async def test_a_side_door_below_a_mount_or_a_proxy_is_shut(root: str, door: str) -> None:
    inside = Inside()
    sent = await ask(Shield(inside), f"{root}{door}", root=root)
    assert (inside.reached, sent[0]["status"]) == ([], 404)


async def test_the_server_s_own_loopback_is_shut_out_too() -> None:
    inside = Inside()
    await ask(Shield(inside), "/internal/truncate", root="/noauth")
    await ask(Shield(inside), "/threads", root="/noauth")
    assert inside.reached == ["/threads"]


async def test_a_mounted_server_s_side_doors_are_shut() -> None:
    """As the server does with `mount_prefix`: the whole application, our middleware too, below a prefix."""
    reached: list[str] = []

    async def note(request: Request) -> Response:
        reached.append(request.url.path)
        return PlainTextResponse("inside")

    inner = Starlette(
        routes=[Route("/internal/truncate", note, methods=["POST"]), Route("/threads", note)],
        middleware=[Middleware(Shield)],
    )
    outer = Starlette(routes=[Mount("/api", app=inner)])
    shut_out = await ask(outer, "/api/internal/truncate", method="POST")
    passed = await ask(outer, "/api/threads")
    assert (shut_out[0]["status"], passed[0]["status"]) == (404, 200)
    assert reached == ["/api/threads"]


spellings = st.lists(
    st.sampled_from(["", "internal", "INTERNAL", "deploy", "Deploy", "x", ".", "internal."]), max_size=4
)


@given(parts=spellings, lead=st.sampled_from(["/", "//", ""]))
def test_a_path_is_shut_exactly_when_its_first_word_is_a_side_door(parts: list[str], lead: str) -> None:
    words = [part.lower() for part in parts if part]
    expected = bool(words) and words[0] in {"internal", "deploy"}
    assert shut(lead + "/".join(parts)) is expected


@pytest.fixture
async def served() -> AsyncGenerator[tuple[Inside, str]]:
    inside = Inside()
    async with listening(Shield(inside)) as url:
        yield inside, url


@pytest.mark.parametrize(
    "target",
    [
        "/internal/truncate",
        "/%69nternal/truncate",
        "/%49NTERNAL/%74runcate",
        "//internal/truncate",
        "/%2Finternal/truncate",
        "/internal%2Ftruncate",
        "/internal/truncate?x=/ok",
        "/deploy?force=true",
        "/internal/truncate;x",
        "http://127.0.0.1/internal/truncate",
    ],
)
async def test_escapes_in_a_real_request_open_nothing(served: tuple[Inside, str], target: str) -> None:
    inside, url = served
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        f"POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
    )
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert inside.reached == []
    assert answer.split(b" ")[1] in {b"404", b"400"}


# Our part of /info

EXTRA = {"signalbox": {"environment": "dev", "model": {"mode": "offline"}}}


def informed(answer: Callable[[], Response]) -> tuple[Info, Inside]:
    inside = Inside(answer)
    return Info(inside, extra=lambda: EXTRA), inside


async def test_info_tells_what_the_server_tells_and_our_part() -> None:
    app, _ = informed(lambda: JSONResponse({"version": "0.16.7", "flags": {"crons": True}}))
    sent = await ask(app, "/info")
    assert json.loads(body(sent)) == {"version": "0.16.7", "flags": {"crons": True}, **EXTRA}
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]


async def test_the_length_is_that_of_the_new_body_and_other_headers_stay() -> None:
    app, _ = informed(lambda: JSONResponse({"version": "x"}, headers={"x-request-id": "r-1"}))
    sent = await ask(app, "/info")
    found = headers(sent[0])
    assert found["content-length"] == str(len(body(sent)))
    assert (found["content-type"], found["x-request-id"]) == ("application/json", "r-1")
    assert len(sent[0]["headers"]) == 3


async def test_an_answer_in_pieces_without_a_length_gets_none() -> None:
    async def pieces() -> AsyncGenerator[bytes]:
        for piece in (b'{"version"', b': "x"', b"}"):
            yield piece

    app, _ = informed(lambda: StreamingResponse(pieces(), media_type="application/json"))
    sent = await ask(app, "/info")
    assert json.loads(body(sent)) == {"version": "x", **EXTRA}
    assert "content-length" not in headers(sent[0])


async def test_our_part_wins_where_both_say_something() -> None:
    app, _ = informed(lambda: JSONResponse({"signalbox": "theirs", "version": "x"}))
    assert json.loads(body(await ask(app, "/info"))) == {"version": "x", **EXTRA}


async def test_our_part_is_asked_for_at_each_request() -> None:
    count: list[int] = []

    def extra() -> dict[str, Any]:
        count.append(1)
        return {"count": len(count)}

    app = Info(Inside(lambda: JSONResponse({})), extra=extra)
    assert [json.loads(body(await ask(app, "/info"))) for _ in range(2)] == [{"count": 1}, {"count": 2}]


@pytest.mark.parametrize("status", [404, 500, 503, 302])
async def test_an_answer_that_is_no_success_is_left_as_it_is(status: int) -> None:
    app, _ = informed(lambda: PlainTextResponse("not now", status_code=status))
    sent = await ask(app, "/info")
    assert (sent[0]["status"], body(sent)) == (status, b"not now")
    assert headers(sent[0])["content-length"] == "7"


@pytest.mark.parametrize(
    ("path", "method"),
    [
        ("/info", "HEAD"),
        ("/info", "POST"),
        ("/info/", "GET"),
        ("/Info", "GET"),
        ("/infos", "GET"),
        ("/", "GET"),
    ],
)
async def test_every_other_request_is_left_as_it_is(path: str, method: str) -> None:
    app, inside = informed(lambda: JSONResponse({"version": "x"}))
    sent = await ask(app, path, method=method)
    assert inside.reached == [path]
    assert json.loads(body(sent)) == {"version": "x"}


async def test_info_below_a_mount_is_told_our_part_too() -> None:
    app, _ = informed(lambda: JSONResponse({"version": "x"}))
    assert json.loads(body(await ask(app, "/api/info", root="/api"))) == {"version": "x", **EXTRA}


@pytest.mark.parametrize("kind", ["websocket", "lifespan"])
async def test_what_is_no_http_is_passed_on(kind: str) -> None:
    app, inside = informed(lambda: JSONResponse({}))
    assert await ask(app, "/info", kind=kind) == []
    assert inside.reached == ["/info"]


async def test_an_answer_that_streams_elsewhere_is_not_held_back() -> None:
    """Only `/info` is collected: a run's stream must arrive piece by piece."""
    first = asyncio.Event()

    async def pieces() -> AsyncGenerator[bytes]:
        yield b"one"
        await first.wait()
        yield b"two"

    app = Info(Inside(lambda: StreamingResponse(pieces())), extra=lambda: EXTRA)
    seen: list[bytes] = []

    async def send(message: Message) -> None:
        if message.get("body"):
            seen.append(message["body"])
            first.set()

    async def receive() -> Message:
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    scope: Scope = {
        "type": "http",
        "path": "/runs/stream",
        "method": "GET",
        "headers": [],
        "query_string": b"",
    }
    await asyncio.wait_for(app({**scope, "asgi": {"spec_version": "2.4"}}, receive, send), timeout=5)
    assert seen == [b"one", b"two"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\x00", "\u2028", " ", "\n/", "\t"])
@pytest.mark.parametrize("door", ["/deploy", "/internal/truncate", "/deploy/x/stream"])
def test_what_does_not_print_opens_no_side_door(door: str, end: str) -> None:
    """The server's routes match before a trailing line break: `/deploy%0a` started a process."""
    assert shut(door + end)
