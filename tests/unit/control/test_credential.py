from __future__ import annotations

from datetime import UTC, datetime, timedelta

import jwt
import pytest

from assistants.cli.credential import DEFAULT_URL, NoToken, development_token, token, url
from assistants.errors import ConfigurationInvalid, SignalboxError
from assistants.principal import Principal, principal
from assistants.server.token import Expectation, SharedSecret, TokenRefused

pytestmark = pytest.mark.anyio

SECRET = "q7Zk3v9Qw10f8Hc7Lr5Ty2Ux4Bn6Mp0Ea9Jd"
DEV = {"SIGNALBOX_ENV": "dev", "SIGNALBOX_JWT_SECRET": SECRET}
ANN = principal("acme/ann", ["user", "approver"])
HOUR = timedelta(hours=1)


# Where to


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, "http://127.0.0.1:2024"),
        ({"PORT": "3000"}, "http://127.0.0.1:3000"),
        ({"PORT": ""}, "http://127.0.0.1:2024"),
        ({"SIGNALBOX_URL": "https://signalbox.example"}, "https://signalbox.example"),
        ({"SIGNALBOX_URL": "https://signalbox.example", "PORT": "3000"}, "https://signalbox.example"),
        ({"SIGNALBOX_URL": "", "PORT": "3000"}, "http://127.0.0.1:3000"),
    ],
)
def test_the_server_s_address(environment: dict[str, str], found: str) -> None:
    assert url(environment) == found


def test_the_default_address_is_this_machine_only() -> None:
    assert url({}) == DEFAULT_URL == "http://127.0.0.1:2024"


# As whom


async def test_a_development_token_is_one_that_the_server_takes() -> None:
    made = development_token(ANN, DEV, ttl=HOUR)
    assert await SharedSecret(SECRET, Expectation()).check(made) == ANN


async def test_a_development_token_is_addressed_as_the_settings_say() -> None:
    addressed = {**DEV, "SIGNALBOX_JWT_AUDIENCE": "signalbox", "SIGNALBOX_JWT_ISSUER": "https://id.example"}
    made = development_token(ANN, addressed, ttl=HOUR)
    expectation = Expectation(audience="signalbox", issuer="https://id.example")
    assert await SharedSecret(SECRET, expectation).check(made) == ANN
    with pytest.raises(TokenRefused):
        await SharedSecret(SECRET, Expectation(audience="other")).check(made)


@pytest.mark.parametrize("ttl", [timedelta(minutes=5), HOUR, timedelta(days=2)])
def test_a_development_token_is_valid_for_as_long_as_was_asked(ttl: timedelta) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    claims = jwt.decode(development_token(ANN, DEV, ttl=ttl), options={"verify_signature": False})
    issued, ends = (datetime.fromtimestamp(claims[name], UTC) for name in ("iat", "exp"))
    assert ends - issued == ttl
    assert before <= issued <= datetime.now(UTC)


@pytest.mark.parametrize(
    "environment",
    [
        {"SIGNALBOX_JWT_SECRET": SECRET},
        {"SIGNALBOX_ENV": "prod", "SIGNALBOX_JWT_SECRET": SECRET},
        {**DEV, "SIGNALBOX_JWKS_URL": "https://id.example/jwks.json"},
        {
            "SIGNALBOX_ENV": "dev",
            "SIGNALBOX_JWKS_URL": "https://id.example/jwks.json",
            "SIGNALBOX_SERVER_SECRET": SECRET,
        },
    ],
    ids=["silence is production", "production", "keys from elsewhere", "no secret"],
)
def test_elsewhere_no_token_is_issued_and_the_way_to_one_is_told(environment: dict[str, str]) -> None:
    with pytest.raises(NoToken, match="in development only") as caught:
        development_token(ANN, environment, ttl=HOUR)
    assert isinstance(caught.value, SignalboxError)
    assert "SIGNALBOX_TOKEN" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_settings_that_are_wrong_say_so_first() -> None:
    with pytest.raises(ConfigurationInvalid):
        development_token(ANN, {"SIGNALBOX_ENV": "dev"}, ttl=HOUR)


def test_nothing_is_taken_from_the_process_behind_the_caller_s_back(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**DEV, "SIGNALBOX_TOKEN": "of-the-process"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationInvalid):
        token(ANN, {})


def test_a_token_that_was_given_goes_before_everything() -> None:
    for environment in ({"SIGNALBOX_TOKEN": "given"}, {**DEV, "SIGNALBOX_TOKEN": "given"}):
        assert token(ANN, environment) == "given"


async def test_without_a_given_token_one_is_made_for_an_hour() -> None:
    made = token(Principal("acme", "you", frozenset({"user"})), {**DEV, "SIGNALBOX_TOKEN": ""})
    claims = jwt.decode(made, options={"verify_signature": False})
    assert claims["exp"] - claims["iat"] == 3600
    assert (await SharedSecret(SECRET, Expectation()).check(made)).identity == "acme/you"


def test_without_either_there_is_no_token() -> None:
    with pytest.raises(NoToken):
        token(ANN, {"SIGNALBOX_JWT_SECRET": SECRET})
