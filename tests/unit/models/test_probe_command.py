"""`signalbox probe` as people meet it."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from assistants.cli.main import ERROR, OK, USAGE, main
from tests.support.endpoint import Endpoint
from tests.unit.models.test_probe import ABLE

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


async def run(*arguments: str) -> int:
    """The command, in a thread: it brings its own event loop."""
    return await asyncio.to_thread(main, ["probe", *arguments])


async def test_capabilities_and_the_profile_that_fits_are_printed(
    scripted: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = await scripted.script(*ABLE)
    code = await run("openai:m", "--base-url", scripted.url, "--marker", talk.key)
    printed = capsys.readouterr().out
    assert code == OK
    assert [line.split()[0] for line in printed.splitlines()[1:-1]] == ["yes"] * 8
    assert printed.splitlines()[0] == f"openai:m at {scripted.url}"
    assert printed.splitlines()[-1] == "Profile that fits: openai; set model.profile to it."


async def test_a_profile_that_is_there_already_is_said(
    scripted: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = await scripted.script(*ABLE)
    assert await run("openai:scripted", "--base-url", scripted.url, "--marker", talk.key) == OK
    assert capsys.readouterr().out.splitlines()[-1] == "Profile that fits: scripted, which it gets."


async def test_the_deployment_s_endpoint_is_the_default_and_its_key_is_never_printed(
    scripted: Endpoint, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", scripted.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("SIGNALBOX_MODEL_PROFILE", "compatible")
    talk = await scripted.script(*ABLE)
    assert await run("openai:m", "--marker", talk.key) == OK
    printed = capsys.readouterr()
    assert "Profile that fits: compatible, which it gets." in printed.out
    assert "sk-very-secret" not in printed.out + printed.err
    assert len(await talk.requests()) == 7


async def test_the_deployment_s_key_does_not_go_elsewhere(
    scripted: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    talk = await scripted.script(*ABLE)
    await run("openai:m", "--base-url", scripted.url, "--marker", talk.key)
    digests = {request.authorization.sha256 for request in await talk.requests()}
    assert digests == {hashlib.sha256(b"none").hexdigest()}


async def test_no_answer_is_exit_code_one(scripted: Endpoint, capsys: pytest.CaptureFixture[str]) -> None:
    assert await run("openai:m", "--base-url", "http://127.0.0.1:9/v1") == ERROR
    printed = capsys.readouterr().out
    assert "?    chat                   no connection" in printed
    assert printed.splitlines()[-1] == "The model does not answer, so no profile can be told."


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["openai:m"], "No endpoint is configured for model 'openai:m'"),
        (["claude", "--base-url", "http://x/v1"], "expected 'openai:<model>'"),
        (["openai:m", "--base-url", "http://x/v1", "--api-key", "env:NOT_SET"], "'env:NOT_SET'"),
        (["openai:m", "--base-url", "http://x/v1", "--api-key", "env:OPENAI_API_KEY"], "the platform's"),
    ],
)
async def test_what_cannot_be_probed_is_said(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await run(*arguments) == ERROR
    assert text in " ".join(capsys.readouterr().err.split())


async def test_a_model_must_be_named() -> None:
    assert await run() == USAGE
