"""Starting and stopping: what is checked before, what a wrong start says, and that nothing stays behind."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import stat
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import httpx
import pytest

from agent.offline.script import Turn
from tests.server.conftest import CATALOG
from tests.support.dialogue import Json, message, wait
from tests.support.endpoint import Endpoint
from tests.support.process import alive, family
from tests.support.server import PROJECT, Server, assistant, environment, free_port, server

pytestmark = [pytest.mark.anyio, pytest.mark.server]


def project(folder: Path, **changes: Json) -> Path:
    """A project of its own with the shipped configuration, changed."""
    config: Json = json.loads((PROJECT / "langgraph.json").read_text())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "langgraph.json").write_text(json.dumps({**config, **changes}))
    shutil.copy(PROJECT / ".env.example", folder)
    return folder


async def attempt(cwd: Path, *arguments: str, **settings: str) -> tuple[int, str]:
    """Exit code and output of a `signalbox` command that is expected to end by itself."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "assistants.cli", *arguments),
        cwd=cwd,
        env=environment(cwd / "home", **settings),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(60):
        output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


async def test_a_busy_port_is_an_error_and_not_a_silent_move(tmp_path: Path) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, output = await attempt(project(tmp_path), "dev", "--port", str(port))
    assert code == 1
    assert f"Port {port} is taken on 127.0.0.1" in output
    assert f"PORT={port + 1} make dev" in output


async def test_a_wrong_catalog_is_reported_whole_and_nothing_starts(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog"
    shutil.copytree(CATALOG, catalog)
    (catalog / "tenants/acme/reader.yaml").write_text("name: reader\ngraph: raect\nmodle: {name: openai:x}\n")
    (catalog / "tenants/globex/support.yaml").write_text("name: support\ntools: [\n")
    port = free_port()
    code, output = await attempt(
        project(tmp_path / "p"), "dev", "--port", str(port), SIGNALBOX_CATALOG=str(catalog)
    )
    assert code == 1
    lines = output.splitlines()
    assert [line for line in lines if line.startswith("tenants/acme/reader.yaml:2:8: ")]
    assert [
        line for line in lines if "tenants/acme/reader.yaml:3:1: " in line and "did you mean 'model'" in line
    ]
    assert [line for line in lines if line.startswith("tenants/globex/support.yaml:")]
    assert str(tmp_path) not in "".join(line for line in lines if line.startswith("tenants/"))
    assert not (tmp_path / "p/home").exists()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"auth": {"pth": "assistants.server.auth:auth"}}, "auth: unknown key 'pth'; did you mean 'path'?"),
        (
            {"graphs": {"react": {"path": "agent.graphs.raect:graph"}}},
            "module 'agent.graphs.raect' can't be imported",
        ),
        ({"graphs": {"react": {"path": "./react.py"}}}, "expected 'package.module:name'"),
        ({"http": {}}, "http.app is not set"),
        ({"atuh": {}}, "unknown key 'atuh'; did you mean 'auth'?"),
    ],
)
async def test_what_the_servers_own_check_lets_through_is_refused(
    tmp_path: Path, changes: Json, expected: str
) -> None:
    code, output = await attempt(project(tmp_path, **changes), "dev", "--port", str(free_port()))
    assert code == 1
    assert expected in output
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"SIGNALBOX_JWT_SECRET": "dev-secret", "SIGNALBOX_SERVER_SECRET": ""},
            "SIGNALBOX_JWT_SECRET is not a real",
        ),
        ({"SIGNALBOX_JWT_SECRET": "", "SIGNALBOX_SERVER_SECRET": ""}, "no way to check tokens"),
        ({"SIGNALBOX_SERVER_SECRET": "x" * 64}, "SIGNALBOX_SERVER_SECRET is not a real secret"),
    ],
)
async def test_production_refuses_to_start_without_a_real_secret(
    tmp_path: Path, settings: dict[str, str], expected: str
) -> None:
    """Case 38."""
    arguments = ("dev", "--port", str(free_port()))
    (folder := project(tmp_path)).joinpath(".env").write_text("")
    code, output = await attempt(folder, *arguments, **{"SIGNALBOX_ENV": "prod", **settings})
    assert code == 1
    assert expected in output
    assert "dev-secret" not in output


async def test_the_first_start_writes_an_environment_of_its_own(tmp_path: Path) -> None:
    code, _ = await attempt(
        project(tmp_path), "dev", "--port", str(free_port()), SIGNALBOX_CATALOG="/nowhere"
    )
    assert code == 1
    written = tmp_path / ".env"
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    values = dict(
        line.split("=", 1) for line in written.read_text().splitlines() if "=" in line and line[0] != "#"
    )
    assert len(values["SIGNALBOX_JWT_SECRET"]) >= 48
    assert len(values["SIGNALBOX_SERVER_SECRET"]) >= 48
    assert values["SIGNALBOX_JWT_SECRET"] != values["SIGNALBOX_SERVER_SECRET"]
    assert values["OPENAI_API_KEY"] == ""


@asynccontextmanager
async def plain_server(cwd: Path, **settings: str) -> AsyncGenerator[tuple[str, asyncio.subprocess.Process]]:
    """`langgraph dev` as anybody would call it, without our launcher and its checks."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"),
        *("--host", "127.0.0.1", "--port", str(port), "--n-jobs-per-worker", "4"),
        cwd=cwd,
        env=environment(cwd / "home", **settings),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield f"http://127.0.0.1:{port}", process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def test_a_typo_in_auth_stops_a_server_that_was_started_without_our_check(
    tmp_path: Path, model: Endpoint
) -> None:
    auth = {"pth": "assistants.server.auth:auth"}
    async with plain_server(project(tmp_path, auth=auth), OPENAI_BASE_URL=model.url) as (_, process):
        async with asyncio.timeout(60):
            output, _ = await process.communicate()
    assert process.returncode != 0
    assert "authentication is not on: 'auth' in langgraph.json must be exactly" in output.decode()


async def test_a_server_without_authentication_runs_no_agent(tmp_path: Path, model: Endpoint) -> None:
    """Authentication off by a typo and our app gone too: the stamp still keeps every run from starting."""
    changes: Json = {"auth": {"pth": "x"}, "http": {}}
    talk = await model.script(Turn(content="never"))
    folder = project(tmp_path, **changes)
    async with (
        plain_server(folder, OPENAI_BASE_URL=model.url) as (url, process),
        httpx.AsyncClient(base_url=url, timeout=60.0) as client,
    ):
        await answering(client, process)
        context: Json = {
            "tenant": "acme",
            "assistant": "support",
            "release": "0" * 64,
            "model": {"name": "openai:x", "base_url": model.url},
            "stamp": {"principal": "acme/ann", "unattended": False, "mac": "0" * 64},
        }
        for sent, reason in (
            ({}, "no assistant behind it"),
            ({"context": {**context, "stamp": None}}, "carries no stamp"),
            ({"context": context}, "made for another run"),
        ):
            body = {"assistant_id": "react", "input": message(talk.says("hi")), **sent}
            answer: Json = (await client.post("/runs/wait", json=body)).json()
            assert reason in answer["__error__"]["message"]
    assert await talk.requests() == []


async def answering(client: httpx.AsyncClient, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(60):
        while True:
            assert process.returncode is None, "the server ended while starting"
            try:
                if (await client.get("/ok")).is_success:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.1)


class TestWithoutAKey:
    """The offline model answers, and says so wherever one would look."""

    @pytest.fixture(scope="class")
    async def offline(self, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Server]:
        async with server(tmp_path_factory.mktemp("offline")) as running:
            yield running

    async def test_banner_info_health_and_answer_say_so(self, offline: Server) -> None:
        note = "Answers come from the offline model: rules, for demonstration; no key is configured."
        banner = offline.log.read_text()
        assert f"Model:   {note}" in banner
        assert f"https://smith.langchain.com/studio/?baseUrl={offline.url}" in banner
        assert f"SIGNALBOX_URL={offline.url} .venv/bin/signalbox chat " in banner
        async with offline.anonymous() as client:
            info: Json = (await client.get("/info")).json()
        assert info["signalbox"] == {"environment": "dev", "model": {"mode": "offline", "note": note}}
        async with offline.http("acme", "ann") as client:
            health: Json = (await client.get("/ops/health")).json()
        assert health["model"] == {"mode": "offline", "note": note}
        values = await wait(offline.client("acme", "ann"), None, assistant("acme/support"), "hello")
        assert values["messages"][-1]["response_metadata"]["model_name"] == "signalbox-offline"

    async def test_ctrl_c_stops_everything_it_started(self, tmp_path: Path) -> None:
        async with server(tmp_path) as running:
            members = family(running.process.pid)
            assert len(members) >= 2
            running.process.send_signal(signal.SIGINT)
            async with asyncio.timeout(20):
                assert await running.process.wait() == 0
            assert [pid for pid in members if alive(pid)] == []

    @pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
    async def test_a_killed_launcher_leaves_no_orphans(self, tmp_path: Path) -> None:
        async with server(tmp_path) as running:
            members = family(running.process.pid)
            watched = [os.pidfd_open(pid) for pid in members]
            running.process.kill()
            await running.process.wait()
            loop = asyncio.get_running_loop()
            for descriptor in watched:
                ended = loop.create_future()
                loop.add_reader(descriptor, ended.set_result, None)
                async with asyncio.timeout(20):
                    await ended
                loop.remove_reader(descriptor)
                os.close(descriptor)
            assert [pid for pid in members if alive(pid)] == []

    async def test_without_an_offline_model_the_banner_says_what_to_do(self, tmp_path: Path) -> None:
        async with server(tmp_path, SIGNALBOX_OFFLINE_MODEL="off") as running:
            assert "No model is configured: set OPENAI_API_KEY or OPENAI_BASE_URL." in running.log.read_text()
            async with running.http("acme", "ann") as client:
                body = {"assistant_id": assistant("acme/support"), "input": message("hello")}
                answer: Json = (await client.post("/runs/wait", json=body)).json()
        assert answer["__error__"]["message"].startswith("No endpoint is configured for model 'openai:")
