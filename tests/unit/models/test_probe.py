from __future__ import annotations

from typing import Any

import pytest
from starlette.responses import JSONResponse

from agent.models.endpoint import Endpoint
from agent.models.probe import TRIALS, Finding, demands, fitting, probe
from agent.offline.app import rules_app
from agent.offline.script import ScriptedCall, Turn
from agent.offline.serving import serving
from agent.profile import PROFILES
from tests.support.endpoint import Endpoint as Scripted
from tests.unit.models.desk import Odd, completion
from tests.unit.server.listener import listening

pytestmark = pytest.mark.anyio

CALL = Turn(content="", tool_calls=(ScriptedCall(name="report_number", args={"number": 7}),))
NUMBER = Turn(content='{"number": 7}')
READY = Turn(content="ready")
ABLE = (READY, READY, CALL, CALL, NUMBER, NUMBER, READY)
"""What a model that can do everything says to each trial."""


async def found(place: Scripted, *turns: Turn, **habits: Any) -> dict[str, tuple[bool | None, str]]:
    talk = await place.script(*turns, **habits)
    findings = await probe(Endpoint(place.url, "sk-probe"), model="m", marker=talk.key)
    return {finding.capability: (finding.holds, finding.seen) for finding in findings}


async def test_an_able_endpoint_has_every_capability(scripted: Scripted) -> None:
    assert await found(scripted, *ABLE) == {
        "models": (True, "1 listed"),
        "chat": (True, "answered"),
        "stream usage": (True, "usage came"),
        "tools": (True, "called the tool"),
        "forced tool choice": (True, "called the tool"),
        "json_schema": (True, "valid"),
        "json_object": (True, "valid"),
        "max_completion_tokens": (True, "answered"),
    }


@pytest.mark.parametrize(
    ("habit", "capability", "turns"),
    [
        ("refuse_stream_options", "stream usage", ABLE[:1] + ABLE[2:]),
        ("no_usage", "stream usage", ABLE),
        ("refuse_forced_tool_choice", "forced tool choice", ABLE[:3] + ABLE[4:]),
        ("refuse_json_schema", "json_schema", ABLE[:4] + ABLE[5:]),
        ("only_max_tokens", "max_completion_tokens", ABLE[:-1]),
    ],
)
async def test_each_habit_is_found_and_nothing_else(
    scripted: Scripted, habit: str, capability: str, turns: tuple[Turn, ...]
) -> None:
    held = {name: holds for name, (holds, _) in (await found(scripted, *turns, **{habit: True})).items()}
    assert len(held) == 8
    assert [name for name, holds in held.items() if not holds] == [capability]
    assert held[capability] is False


async def test_a_capability_that_is_ignored_does_not_hold(scripted: Scripted) -> None:
    seen = await found(scripted, READY, READY, READY, READY, READY, READY, READY)
    assert seen["tools"] == (False, "did not call the tool")
    assert seen["forced tool choice"] == (False, "did not call the tool")
    assert seen["json_schema"] == (False, "the answer is not as asked for")
    assert seen["json_object"] == (False, "the answer is not as asked for")


async def test_a_call_that_fails_otherwise_tells_nothing(scripted: Scripted) -> None:
    seen = await found(scripted, READY, Turn(status=500), CALL, CALL, NUMBER, Turn(status=429), READY)
    assert seen["stream usage"] == (None, "failed (500)")
    assert seen["json_object"] == (None, "failed (429)")


async def test_without_an_answer_nothing_more_is_asked(scripted: Scripted) -> None:
    talk = await scripted.script(Turn(status=401), READY)
    findings = await probe(Endpoint(scripted.url, "sk-probe"), model="m", marker=talk.key)
    assert [(one.capability, one.holds) for one in findings] == [("models", True), ("chat", None)]
    assert len(await talk.requests()) == 1


async def test_nobody_there_is_said() -> None:
    findings = await probe(Endpoint("http://127.0.0.1:9/v1", "sk-probe"), model="m")
    assert findings == [Finding("models", None, "no connection"), Finding("chat", None, "no connection")]


async def test_an_endpoint_without_a_list_of_models_is_probed_all_the_same() -> None:
    missing = JSONResponse({"error": {}}, status_code=404)
    empty: dict[str, Any] = {"object": "list", "data": []}
    async with listening(Odd(missing, completion({"content": "x"}), *[missing] * 6)) as url:
        findings = await probe(Endpoint(f"{url}/v1", "k"), model="m")
    assert [finding.holds for finding in findings] == [False, True, *[False] * 6]
    async with listening(Odd(empty, {"choices": []})) as url:
        findings = await probe(Endpoint(f"{url}/v1", "k"), model="m")
    assert [(one.holds, one.seen) for one in findings] == [
        (False, "0 listed"),
        (False, "no choice in the answer"),
    ]


async def test_a_few_tiny_calls_and_the_key_only_in_their_header(scripted: Scripted) -> None:
    talk = await scripted.script(*ABLE)
    await probe(Endpoint(f"{scripted.url}/", "sk-probe"), model="m", marker=talk.key)
    seen = await talk.requests()
    assert len(seen) == len(TRIALS) == 7
    for request in seen:
        assert request.authorization.present
        assert "sk-probe" not in request.model_dump_json()
        assert len(str(request.body)) < 600


async def test_the_offline_model_can_be_probed() -> None:
    async with serving(rules_app()) as url:
        findings = await probe(Endpoint(url, "none"), model="signalbox-offline")
    held = {finding.capability for finding in findings if finding.holds}
    assert {"models", "chat", "stream usage", "tools", "forced tool choice", "max_completion_tokens"} <= held
    assert len(findings) == 8


def all_held(*missing: str) -> list[Finding]:
    names = ["models", "chat", *(trial.capability for trial in TRIALS[1:])]
    return [Finding(name, name not in missing, "") for name in names]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("missing", "known", "profile"),
    [
        ((), "generic-safe", "openai"),
        ((), "scripted", "scripted"),
        ((), "deepseek", "deepseek"),
        ((), "compatible", "compatible"),
        (("max_completion_tokens",), "generic-safe", "compatible"),
        (("json_schema",), "openai", "compatible"),
        (("json_schema", "forced tool choice"), "deepseek", "deepseek"),
        (("json_object",), "deepseek", "openai"),
        (("forced tool choice",), "generic-safe", "generic-safe"),
        (("stream usage", "json_schema", "json_object"), "openai", "generic-safe"),
    ],
)
def test_the_profile_that_fits(missing: tuple[str, ...], known: str, profile: str) -> None:
    assert fitting(all_held(*missing), known=PROFILES[known]).name == profile


def test_the_safe_profile_demands_nothing_so_that_one_always_fits() -> None:
    assert demands(PROFILES["generic-safe"]) == frozenset()
    assert fitting([], known=PROFILES["generic-safe"]).name == "generic-safe"
    assert len(demands(PROFILES["openai"])) == 4
