"""The command line: what it refuses, in which words, with which exit code; what a chat shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from agent.database import DatabaseRefused
from assistants.cli.chat import Shown, shown
from assistants.cli.main import explanation, main
from assistants.errors import CatalogInvalid, Problem, SignalboxError

SECRET = "a9x-Test-7Qm2vLr8Kd5Zt1Wc4Yb6Hn3Jf0Gp"


@pytest.fixture(autouse=True)
def development(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNALBOX_ENV", "dev")
    monkeypatch.setenv("SIGNALBOX_JWT_SECRET", SECRET)
    for name in (
        "PORT",
        "SIGNALBOX_URL",
        "SIGNALBOX_TOKEN",
        "SIGNALBOX_CATALOG",
        "SIGNALBOX_DB",
        "SIGNALBOX_JWKS_URL",
    ):
        monkeypatch.setenv(name, "")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("dev --port=-5", "The port is '-5'; expected a number from 1 to 65535."),
        ("dev --port 99999", "The port is '99999'; expected a number from 1 to 65535."),
        ("dev --jobs 0", "--jobs is 0; expected at least 1."),
        (
            "token --tenant acme --user service",
            "The user 'service' is reserved for schedules; choose another.",
        ),
        (
            "token --tenant nosuch --user u",
            "Tenant 'nosuch' is not in the catalog; 'signalbox ids' lists it.",
        ),
        ("token --tenant acme --user u --hours -5", "--hours is -5; expected more than 0 and at most 8784."),
        (
            "token --tenant acme --user u --hours nan",
            "--hours is nan; expected more than 0 and at most 8784.",
        ),
        ("token --tenant Acme --user u", "It is 'Acme/u'; expected a lower-case tenant slug"),
        ("chat acme hello", "'acme' is not of the form tenant/name; see 'signalbox ids'."),
        ("chat Acme/support hello", "It is 'Acme/you'; expected a lower-case tenant slug"),
    ],
)
def test_a_wrong_value_is_refused_in_words(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 1
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.startswith("signalbox: ")
    assert said in streams.err
    assert "Traceback" not in streams.err


@pytest.mark.parametrize("line", ["tokn", "token --tenant acme", "dev --port five", "ids --wrong"])
def test_wrong_usage_is_exit_code_2(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    assert capsys.readouterr().err != ""


@pytest.mark.parametrize("port", ["five", "0", "65536", "٣٤٥٦", "-1"])
def test_a_port_variable_that_is_no_port_is_refused(
    port: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PORT", port)
    assert main(["dev"]) == 1
    assert f"The port is {port!r}" in capsys.readouterr().err


def test_a_token_carries_what_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    line = "token --tenant acme --user u1 --role approver --role operator --hours 2"
    assert main(line.split()) == 0
    claims = jwt.decode(capsys.readouterr().out.strip(), SECRET, algorithms=["HS256"])
    assert (claims["tenant"], claims["sub"], claims["roles"]) == ("acme", "u1", ["approver", "operator"])
    assert claims["exp"] - claims["iat"] == 7200


def test_ids_are_read_from_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ids"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert lines[1] == "acme/support 16dc331c-08eb-58d5-a659-96bc03db5720 react"


def test_check_refuses_a_database_that_the_server_would_refuse(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check"]) == 0
    assert capsys.readouterr().out == "OK: 3 tenants, 6 assistants.\n"
    monkeypatch.setenv("SIGNALBOX_DB", "mysql://u:hush@h/d")
    assert main(["check"]) == 1
    said = capsys.readouterr().err
    assert "Database 'mysql' is not supported" in said
    assert "hush" not in said


def test_a_catalog_s_problems_begin_their_own_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIGNALBOX_CATALOG", str(tmp_path / "nowhere"))
    assert main(["ids"]) == 1
    first, *problems = capsys.readouterr().err.splitlines()
    assert first == f"signalbox: the catalog is not loaded; problems: {len(problems)}"
    assert problems


def test_errors_that_people_can_act_on_are_explained_and_others_are_not_hidden() -> None:
    request = httpx.Request("GET", "http://127.0.0.1:1/x")
    refused = httpx.HTTPStatusError(
        "no", request=request, response=httpx.Response(404, text="not here", request=request)
    )
    assert explanation(refused) == "the server refused (404): not here"
    assert explanation(httpx.ConnectError("no", request=request)) == (
        "no server answers; start one with 'make dev' or set SIGNALBOX_URL."
    )
    assert explanation(httpx.InvalidURL("[")) is not None
    assert explanation(DatabaseRefused("It is old.")) == "It is old. [database_refused]"
    assert explanation(SignalboxError("Why.")) == "Signalbox could not do what was asked. Why."
    problem = Problem("a.yaml", 2, 3, "unknown key 'x'")
    assert explanation(CatalogInvalid([problem])) == (
        "the catalog is not loaded; problems: 1\na.yaml:2:3: unknown key 'x'"
    )
    assert explanation(KeyError("ours")) is None


CALL = {"name": "orders_get", "args": {"number": 1001}, "id": "1"}


@pytest.mark.parametrize(
    ("event", "data", "expected"),
    [
        ("messages", [{"type": "AIMessageChunk", "content": "Hel"}, {}], [Shown("token", "Hel")]),
        ("messages", [{"type": "AIMessageChunk", "content": ""}, {}], []),
        ("messages", [{"type": "tool", "content": "row"}, {}], []),
        (
            "updates",
            {"model": {"messages": [{"type": "ai", "content": "", "tool_calls": [CALL]}]}},
            [Shown("step", "model"), Shown("call", 'orders_get {"number": 1001}')],
        ),
        (
            "updates",
            {"tools": {"messages": [{"type": "tool", "name": "orders_get", "content": "x" * 500}]}},
            [Shown("step", "tools"), Shown("result", f"orders_get: {'x' * 400}…")],
        ),
        ("updates", {"model": None}, [Shown("step", "model")]),
        (
            "updates",
            {
                "__interrupt__": [
                    {
                        "id": "5" * 32,
                        "value": {
                            "action_requests": [{"name": "orders_refund", "args": {"amount": 120}}],
                            "approval": {"id": "ab" * 32, "by": "approver", "expires_at": None},
                        },
                    },
                    {"id": "6" * 32, "value": "may I?"},
                ]
            },
            [
                Shown(
                    "approval",
                    'orders_refund {"amount": 120} waits for the role approver: '
                    "signalbox approvals approve abababababab",
                ),
                Shown("approval", 'waits for: "may I?"'),
            ],
        ),
        ("error", {"error": "ModelUnavailable", "message": "It is down."}, [Shown("error", "It is down.")]),
        ("metadata", {"run_id": "1"}, []),
    ],
)
def test_what_a_chat_shows_of_an_event(event: str, data: Any, expected: list[Shown]) -> None:
    before = json.dumps(data)
    assert shown(event, data) == expected
    assert json.dumps(data) == before
