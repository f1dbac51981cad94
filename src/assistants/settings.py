"""The deployment's settings, read once from the environment and checked before anything starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from assistants.errors import ConfigurationInvalid

Environment = Literal["dev", "prod"]
ModelMode = Literal["endpoint", "offline", "none"]

_SECRET_LENGTH = 32
_SECRET_VARIETY = 10
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_PLACEHOLDERS = ("change", "example", "secret", "password", "replace")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment asks for. Secrets are never part of a representation.

    `home` is the directory for the embedded databases, `database` a SQLAlchemy URL.
    """

    environment: Environment
    home: Path
    database: str = field(repr=False)  # its URL may hold a password
    model_mode: ModelMode
    catalog: Path | None
    jwks_url: str | None
    jwt_audience: str | None
    jwt_issuer: str | None
    jwt_secret: str | None = field(repr=False)
    server_secret: str | None = field(repr=False)

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Settings from environment variables (`SIGNALBOX_*`, `OPENAI_*`).

        Raises:
            ConfigurationInvalid: All problems at once, such as a production server without a real secret.
        """
        given = os.environ if environment is None else environment
        values = {key: value for key, value in given.items() if value}
        home = Path(values.get("SIGNALBOX_HOME", ".signalbox"))
        catalog = values.get("SIGNALBOX_CATALOG")
        mode = values.get("SIGNALBOX_ENV", "prod")
        problems = [] if mode in {"dev", "prod"} else [_wrong_environment(mode)]
        settings = cls(
            environment="dev" if mode == "dev" else "prod",
            home=home,
            database=values.get("SIGNALBOX_DB", f"sqlite+aiosqlite:///{home / 'signalbox.db'}"),
            model_mode=_model_mode(values),
            catalog=Path(catalog) if catalog else None,
            jwks_url=values.get("SIGNALBOX_JWKS_URL"),
            jwt_audience=values.get("SIGNALBOX_JWT_AUDIENCE"),
            jwt_issuer=values.get("SIGNALBOX_JWT_ISSUER"),
            jwt_secret=values.get("SIGNALBOX_JWT_SECRET"),
            server_secret=values.get("SIGNALBOX_SERVER_SECRET") or values.get("SIGNALBOX_JWT_SECRET"),
        )
        problems += settings.problems()
        if problems:
            raise ConfigurationInvalid(problems)
        return settings

    @property
    def development(self) -> bool:
        """Whether this is a developer's machine: Studio's header counts, tokens are issued locally."""
        return self.environment == "dev"

    def problems(self) -> list[str]:
        """What keeps a server with these settings from starting."""
        found: list[str] = []
        if self.jwks_url is None and self.jwt_secret is None:
            found.append("no way to check tokens: set SIGNALBOX_JWKS_URL, or SIGNALBOX_JWT_SECRET")
        if self.server_secret is None:
            found.append("SIGNALBOX_SERVER_SECRET is not set; runs can't be stamped without it")
        if self.environment == "prod":
            found += self._open_provider()
            found += _weak("SIGNALBOX_JWT_SECRET", self.jwt_secret)
            if self.server_secret != self.jwt_secret:
                found += _weak("SIGNALBOX_SERVER_SECRET", self.server_secret)
        return found

    def _open_provider(self) -> list[str]:
        """What would let in tokens that are not for this server, or keys that were changed on the way."""
        if self.jwks_url is None:
            return []
        url = urlsplit(self.jwks_url)
        found: list[str] = []
        if url.scheme != "https" and url.hostname not in _LOOPBACK:
            found.append("SIGNALBOX_JWKS_URL must be https: who changes the keys on the way may be anybody")
        if self.jwt_audience is None:
            found.append("SIGNALBOX_JWT_AUDIENCE is not set: any token of the identity provider would do")
        return found


def weak(secret: str) -> bool:
    """Whether a secret is too short, too uniform or a placeholder to sign anything with."""
    lowered = secret.lower()
    return (
        len(secret) < _SECRET_LENGTH
        or len(set(secret)) < _SECRET_VARIETY
        or any(word in lowered for word in _PLACEHOLDERS)
    )


def _weak(name: str, secret: str | None) -> list[str]:
    if secret is None or not weak(secret):
        return []
    text = (
        f"{name} is not a real secret: expected at least {_SECRET_LENGTH} random characters; make one with: "
    )
    return [text + 'python3 -c "import secrets; print(secrets.token_urlsafe(48))"']


def _wrong_environment(value: str) -> str:
    return f"SIGNALBOX_ENV is {value!r}; expected 'dev' or 'prod'"


def _model_mode(values: Mapping[str, str]) -> ModelMode:
    if values.get("SIGNALBOX_OFFLINE_MODEL") == "running":
        return "offline"
    return "endpoint" if values.get("OPENAI_API_KEY") or values.get("OPENAI_BASE_URL") else "none"
