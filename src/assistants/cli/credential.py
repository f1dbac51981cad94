"""Where the command speaks to and as whom: `SIGNALBOX_URL`, `SIGNALBOX_TOKEN`, or a development token."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from assistants.errors import SignalboxError
from assistants.principal import Principal
from assistants.server.token import Expectation, issue, now
from assistants.settings import Settings

DEFAULT_URL = "http://127.0.0.1:2024"


class NoToken(SignalboxError):
    """There is no token to speak to the server with."""


def url(environment: Mapping[str, str]) -> str:
    """The server's address: `SIGNALBOX_URL`, else 127.0.0.1 at `PORT` or 2024."""
    port = environment.get("PORT")
    return environment.get("SIGNALBOX_URL") or (f"http://127.0.0.1:{port}" if port else DEFAULT_URL)


def development_token(who: Principal, environment: Mapping[str, str], *, ttl: timedelta) -> str:
    """A token signed with the development secret of `.env`.

    Raises:
        NoToken: The environment is not a development one, or it has no secret.
        ConfigurationInvalid: The settings are wrong.
    """
    settings = Settings.read(environment)
    if not settings.development or settings.jwks_url or settings.jwt_secret is None:
        raise NoToken(
            "Tokens are issued here in development only (SIGNALBOX_ENV=dev with SIGNALBOX_JWT_SECRET); "
            "take one from your identity provider and set SIGNALBOX_TOKEN."
        )
    expectation = Expectation(audience=settings.jwt_audience, issuer=settings.jwt_issuer)
    return issue(who, secret=settings.jwt_secret, ttl=ttl, expectation=expectation, now=now())


def token(who: Principal, environment: Mapping[str, str]) -> str:
    """`SIGNALBOX_TOKEN`, else a development token for `who` that is valid for an hour.

    Raises:
        NoToken: Neither can be had.
    """
    return environment.get("SIGNALBOX_TOKEN") or development_token(who, environment, ttl=timedelta(hours=1))
