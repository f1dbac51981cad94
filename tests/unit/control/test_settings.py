from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from assistants.errors import ConfigurationInvalid
from assistants.settings import Settings, weak

GOOD = "q7Zk3v9Qw10f8Hc7Lr5Ty2Ux4Bn6Mp0Ea9Jd"
ALSO = "w2Xn8Rb4Vt6Ye1Ku5Io9Pl3As7Dg0Fh2Jz4C"
DEV = {"SIGNALBOX_ENV": "dev", "SIGNALBOX_JWT_SECRET": "dev"}
PROD = {"SIGNALBOX_JWT_SECRET": GOOD, "SIGNALBOX_SERVER_SECRET": ALSO}


def problems(environment: dict[str, str]) -> tuple[str, ...]:
    with pytest.raises(ConfigurationInvalid) as caught:
        Settings.read(environment)
    for value in environment.values():
        assert len(value) < 12 or value not in str(caught.value)
    return caught.value.problems


def starts(environment: dict[str, str]) -> bool:
    return bool(Settings.read(environment))


# What is read


def test_a_developer_s_settings_with_nothing_else_said() -> None:
    assert Settings.read(DEV) == Settings(
        environment="dev",
        home=Path(".signalbox"),
        database="sqlite+aiosqlite:///.signalbox/signalbox.db",
        model_mode="none",
        catalog=None,
        jwks_url=None,
        jwt_audience=None,
        jwt_issuer=None,
        jwt_secret="dev",
        server_secret="dev",
    )


def test_everything_that_can_be_said_is_read() -> None:
    read = Settings.read(
        {
            "SIGNALBOX_HOME": "data",
            "SIGNALBOX_DB": "postgresql+psycopg://db/signalbox",
            "SIGNALBOX_CATALOG": "catalog",
            "SIGNALBOX_JWKS_URL": "https://id.example/jwks.json",
            "SIGNALBOX_JWT_AUDIENCE": "signalbox",
            "SIGNALBOX_JWT_ISSUER": "https://id.example",
            "SIGNALBOX_JWT_SECRET": GOOD,
            "SIGNALBOX_SERVER_SECRET": ALSO,
            "OPENAI_API_KEY": "sk-1",
        }
    )
    assert read == Settings(
        environment="prod",
        home=Path("data"),
        database="postgresql+psycopg://db/signalbox",
        model_mode="endpoint",
        catalog=Path("catalog"),
        jwks_url="https://id.example/jwks.json",
        jwt_audience="signalbox",
        jwt_issuer="https://id.example",
        jwt_secret=GOOD,
        server_secret=ALSO,
    )


def test_the_embedded_database_lies_in_the_home() -> None:
    read = Settings.read({**DEV, "SIGNALBOX_HOME": "/srv/data"})
    assert read.database == "sqlite+aiosqlite:////srv/data/signalbox.db"


def test_an_empty_variable_says_nothing() -> None:
    empty = dict.fromkeys(
        ("SIGNALBOX_HOME", "SIGNALBOX_DB", "SIGNALBOX_CATALOG", "SIGNALBOX_JWKS_URL", "SIGNALBOX_JWT_ISSUER"),
        "",
    )
    assert Settings.read({**DEV, **empty, "OPENAI_API_KEY": ""}) == Settings.read(DEV)


@pytest.mark.parametrize(
    ("values", "mode"),
    [
        ({}, "none"),
        ({"OPENAI_API_KEY": "sk"}, "endpoint"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, "endpoint"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "SIGNALBOX_OFFLINE_MODEL": "running"}, "offline"),
        ({"SIGNALBOX_OFFLINE_MODEL": "auto"}, "none"),
        ({"SIGNALBOX_OFFLINE_MODEL": "off", "OPENAI_API_KEY": "sk"}, "endpoint"),
    ],
)
def test_how_answers_are_made(values: dict[str, str], mode: str) -> None:
    assert Settings.read({**DEV, **values}).model_mode == mode


def test_the_process_s_environment_is_read_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**DEV, "SIGNALBOX_JWT_AUDIENCE": "of the process"}.items():
        monkeypatch.setenv(name, value)
    assert Settings.read().jwt_audience == "of the process"


def test_an_empty_environment_is_not_the_process_s(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in DEV.items():
        monkeypatch.setenv(name, value)
    assert len(problems({})) == 2


# What keeps a server from starting


def test_without_a_word_it_is_a_production_server() -> None:
    read = Settings.read(PROD)
    assert (read.environment, read.development) == ("prod", False)
    assert Settings.read(DEV).development


@pytest.mark.parametrize("value", ["production", "Dev", "DEV", "development", "test", " dev", "0"])
def test_another_environment_is_refused_and_is_never_a_developer_s(value: str) -> None:
    found = problems({**DEV, "SIGNALBOX_ENV": value})
    assert f"SIGNALBOX_ENV is {value!r}; expected 'dev' or 'prod'" in found
    assert any("SIGNALBOX_JWT_SECRET is not a real secret" in problem for problem in found)


def test_a_server_that_could_check_no_token_does_not_start() -> None:
    for environment in (
        {"SIGNALBOX_ENV": "dev", "SIGNALBOX_SERVER_SECRET": ALSO},
        {"SIGNALBOX_SERVER_SECRET": ALSO},
    ):
        assert problems(environment) == (
            "no way to check tokens: set SIGNALBOX_JWKS_URL, or SIGNALBOX_JWT_SECRET",
        )


PROVIDER = {"SIGNALBOX_JWKS_URL": "https://id.example/jwks.json", "SIGNALBOX_JWT_AUDIENCE": "signalbox"}


def test_in_production_the_provider_s_tokens_are_for_this_server_and_its_keys_come_unchanged() -> None:
    keys = {**PROVIDER, "SIGNALBOX_SERVER_SECRET": ALSO}
    assert problems({**keys, "SIGNALBOX_JWT_AUDIENCE": ""}) == (
        "SIGNALBOX_JWT_AUDIENCE is not set: any token of the identity provider would do",
    )
    assert problems({**keys, "SIGNALBOX_JWKS_URL": "http://id.example/jwks.json"}) == (
        "SIGNALBOX_JWKS_URL must be https: who changes the keys on the way may be anybody",
    )
    assert starts({**keys, "SIGNALBOX_JWKS_URL": "http://127.0.0.1:8080/jwks.json"})
    assert starts(
        {
            **keys,
            "SIGNALBOX_ENV": "dev",
            "SIGNALBOX_JWKS_URL": "http://id.test/",
            "SIGNALBOX_JWT_AUDIENCE": "",
        }
    )


def test_a_server_that_could_stamp_no_run_does_not_start() -> None:
    assert problems(PROVIDER) == ("SIGNALBOX_SERVER_SECRET is not set; runs can't be stamped without it",)


def test_the_token_secret_stamps_where_there_is_no_other() -> None:
    assert Settings.read({"SIGNALBOX_JWT_SECRET": GOOD}).server_secret == GOOD


WEAK = [
    "short",
    "x" * 31,
    GOOD[:31],
    "x" * 64,
    "abcabcabc" * 8,
    "123456789" * 5,
    "please-change-me-before-production-1234",
    "CHANGE-ME-q7Zk3v9Qw10f8Hc7Lr5Ty2Ux4Bn6",
    "this-is-an-example-key-9Qw10f8Hc7Lr5Ty",
    "my-super-Secret-value-9Qw10f8Hc7Lr5Ty2",
    "Passwordq7Zk3v9Qw10f8Hc7Lr5Ty2Ux4Bn6Mp",
    "replace-this-q7Zk3v9Qw10f8Hc7Lr5Ty2Ux4",
]


@pytest.mark.parametrize("secret", WEAK)
def test_a_production_server_with_a_weak_secret_does_not_start(secret: str) -> None:
    (token,) = problems({**PROD, "SIGNALBOX_JWT_SECRET": secret})
    (stamp,) = problems({**PROD, "SIGNALBOX_SERVER_SECRET": secret})
    (both,) = problems({"SIGNALBOX_JWT_SECRET": secret})
    assert token == both
    assert token.startswith(
        "SIGNALBOX_JWT_SECRET is not a real secret: expected at least 32 random characters"
    )
    assert stamp.startswith("SIGNALBOX_SERVER_SECRET is not a real secret")
    assert "secrets.token_urlsafe(48)" in token
    assert secret not in token + stamp


@pytest.mark.parametrize("secret", WEAK)
def test_a_developer_may_have_a_weak_secret(secret: str) -> None:
    assert starts({**DEV, "SIGNALBOX_JWT_SECRET": secret, "SIGNALBOX_SERVER_SECRET": secret})


def test_a_weak_token_secret_is_refused_also_where_tokens_come_from_elsewhere() -> None:
    keys = {**PROVIDER, "SIGNALBOX_SERVER_SECRET": ALSO}
    assert starts(keys)
    assert len(problems({**keys, "SIGNALBOX_JWT_SECRET": "short"})) == 1


def test_one_secret_for_both_is_reported_once() -> None:
    assert len(problems({"SIGNALBOX_JWT_SECRET": "short", "SIGNALBOX_SERVER_SECRET": "short"})) == 1


def test_all_problems_are_told_at_once() -> None:
    assert len(problems({"SIGNALBOX_ENV": "live"})) == 3
    found = problems({"SIGNALBOX_ENV": "live", "SIGNALBOX_JWT_SECRET": "a", "SIGNALBOX_SERVER_SECRET": "b"})
    assert [problem.split(" ")[0] for problem in found] == [
        "SIGNALBOX_ENV",
        "SIGNALBOX_JWT_SECRET",
        "SIGNALBOX_SERVER_SECRET",
    ]


def test_the_message_lists_them_a_line_each() -> None:
    with pytest.raises(ConfigurationInvalid) as caught:
        Settings.read({})
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(
        "The server's configuration has problems, so it does not start. - no way to check"
    )
    assert lines[1].startswith("- SIGNALBOX_SERVER_SECRET is not set")
    assert len(lines) == 2


def test_secrets_as_the_message_makes_them_are_strong() -> None:
    assert [weak(secrets.token_urlsafe(48)) for _ in range(50)] == [False] * 50


def test_the_length_and_the_variety_of_a_secret_are_counted_exactly() -> None:
    assert not weak("abcdefghij" + "a" * 22)
    assert weak("abcdefghij" + "a" * 21)
    assert weak("abcdefghi" + "a" * 23)


def test_no_representation_shows_a_secret() -> None:
    read = Settings.read(
        {
            **PROD,
            "SIGNALBOX_DB": "postgresql+psycopg://signalbox:hunter2@db/signalbox",
            "OPENAI_API_KEY": "sk-live-1",
        }
    )
    assert read.jwt_secret == GOOD
    for text in (repr(read), str(read), f"{read}"):
        for secret in (GOOD, ALSO, "hunter2", "sk-live-1"):
            assert secret not in text
    assert "prod" in repr(read)
