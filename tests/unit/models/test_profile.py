from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from importlib.resources import files

import pytest

from agent.errors import ModelUnavailable
from agent.profile import GENERIC, OFFLINE, PROFILES, Profile, chosen, matched, named

DATA = json.loads(files("agent").joinpath("profiles.json").read_text("utf-8"))


def test_the_presets_are_there() -> None:
    assert {"openai", "deepseek", "ollama", "generic-safe", "scripted"} <= set(PROFILES)
    assert {GENERIC, OFFLINE} <= set(PROFILES)
    assert [one.name for one in PROFILES.values()] == list(PROFILES)


def test_every_entry_says_every_field_and_no_other() -> None:
    fields = {field.name for field in dataclasses.fields(Profile)} - {"name"}
    assert len(fields) == 10
    assert {name: set(entry) for name, entry in DATA["profiles"].items()} == dict.fromkeys(PROFILES, fields)


def test_every_pattern_names_a_profile_and_narrows_something() -> None:
    assert len(DATA["endpoints"]) > 5
    for pattern in DATA["endpoints"]:
        assert pattern["profile"] in PROFILES
        assert {"host", "model"} & set(pattern)


def test_the_safe_profile_asks_for_least() -> None:
    safe = PROFILES[GENERIC]
    wants = (safe.forced_tool_choice, safe.parallel_tool_calls, safe.stream_options, safe.echo_reasoning)
    assert wants == (False, False, False, False)
    assert (safe.max_tokens, safe.call_content, safe.structured) == (
        "max_tokens",
        "words",
        "function_calling",
    )


@pytest.mark.parametrize(
    ("base_url", "model", "profile"),
    [
        (None, "gpt-5-mini", "openai"),
        ("https://api.openai.com/v1", "gpt-5-mini", "openai"),
        ("https://eu.api.openai.com/v1", "gpt-5-mini", "openai"),
        ("https://acme.openai.azure.com/openai/v1", "gpt-5-mini", "openai"),
        ("https://API.OpenAI.com/v1", "gpt-5-mini", "openai"),
        ("https://api.deepseek.com", "deepseek-v4", "deepseek"),
        ("https://gateway.example/v1", "deepseek-reasoner", "deepseek"),
        ("http://localhost:11434/v1", "qwen3:8b", "ollama"),
        ("http://10.0.0.7:11434/v1", "llama3", "ollama"),
        ("http://127.0.0.1:4711/v1", "scripted-model", "scripted"),
        ("http://127.0.0.1:4711/v1", "signalbox-offline", "scripted"),
        ("http://127.0.0.1:8000/v1", "gpt-5-mini", "generic-safe"),
        ("https://models.example/v1", "gpt-5-mini", "generic-safe"),
        ("https://evil.example/api.openai.com/v1", "gpt-5-mini", "generic-safe"),
        ("https://notapi.openai.com.evil.example/v1", "gpt-5-mini", "generic-safe"),
        ("https://models.example:114340/v1".replace("114340", "11435"), "llama3", "generic-safe"),
    ],
)
def test_an_endpoint_is_known_by_host_or_model(base_url: str | None, model: str, profile: str) -> None:
    assert matched(base_url, model=model).name == profile


@pytest.mark.parametrize(
    ("profile", "shared", "environment", "expected"),
    [
        ("ollama", True, {"SIGNALBOX_MODEL_PROFILE": "deepseek"}, "ollama"),
        (
            None,
            True,
            {"SIGNALBOX_MODEL_PROFILE": "deepseek", "SIGNALBOX_OFFLINE_MODEL": "running"},
            "deepseek",
        ),
        (None, True, {"SIGNALBOX_OFFLINE_MODEL": "running"}, "scripted"),
        (None, True, {"SIGNALBOX_OFFLINE_MODEL": "auto"}, "generic-safe"),
        (None, True, {"SIGNALBOX_MODEL_PROFILE": ""}, "generic-safe"),
        (None, False, {"SIGNALBOX_MODEL_PROFILE": "deepseek"}, "generic-safe"),
        (None, False, {"SIGNALBOX_OFFLINE_MODEL": "running"}, "generic-safe"),
    ],
)
def test_the_file_comes_before_the_deployment_and_that_before_the_patterns(
    profile: str | None,
    shared: bool,  # noqa: FBT001
    environment: Mapping[str, str],
    expected: str,
) -> None:
    found = chosen(
        profile, base_url="http://127.0.0.1:8000/v1", model="x", shared=shared, environment=environment
    )
    assert found.name == expected


@pytest.mark.parametrize(
    ("name", "hint"), [("deepseak", "did you mean 'deepseek'?"), ("zzz", "expected one of ['compatible', ")]
)
def test_a_profile_that_does_not_exist_is_an_error_that_names_others(name: str, hint: str) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        named(name)
    assert repr(name) in caught.value.detail
    assert hint in caught.value.detail
    with pytest.raises(ModelUnavailable):
        chosen(None, base_url=None, model="x", shared=True, environment={"SIGNALBOX_MODEL_PROFILE": name})
