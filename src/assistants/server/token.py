"""Tokens: signed JWTs with `sub`, `tenant`, `roles`; checked by a shared secret or by a JWKS.

A development server issues its own (`signalbox token`). A production server checks those of the company's
identity provider by its JWKS, which is fetched with httpx, kept for five minutes, and fetched again at most
every ten seconds when a token names an unknown key.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import httpx
import jwt

from assistants.principal import ROLES, SERVICE, Principal, principal

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
_KEEP = 300.0
_RETRY = 10.0
_LEEWAY = timedelta(seconds=30)


class TokenRefused(Exception):
    """The token is not valid here."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a token must be addressed to and issued by; `None` asks nothing."""

    audience: str | None = None
    issuer: str | None = None


def issue(who: Principal, *, secret: str, ttl: timedelta, expectation: Expectation, now: datetime) -> str:
    """A signed HS256 token for `who`, valid for `ttl` from `now`."""
    claims: dict[str, Any] = {
        "sub": who.user,
        "tenant": who.tenant,
        "roles": sorted(who.roles),
        "iat": now,
        "exp": now + ttl,
    }
    if expectation.audience:
        claims["aud"] = expectation.audience
    if expectation.issuer:
        claims["iss"] = expectation.issuer
    return jwt.encode(claims, secret, algorithm="HS256")


def holder(claims: Mapping[str, Any]) -> Principal:
    """The principal that verified claims speak for.

    Raises:
        TokenRefused: A claim is missing or malformed, or the subject is reserved for schedules.
    """
    subject, tenant, roles = claims.get("sub"), claims.get("tenant"), claims.get("roles")
    if not isinstance(subject, str) or not isinstance(tenant, str) or not isinstance(roles, list):
        raise TokenRefused("expected the claims 'sub', 'tenant' (texts) and 'roles' (a list)")
    known = ROLES.intersection(role for role in cast("list[object]", roles) if isinstance(role, str))
    if not known:
        raise TokenRefused(f"expected at least one role of {', '.join(sorted(ROLES))}")
    if subject == SERVICE:
        raise TokenRefused(f"the user {SERVICE!r} is reserved for schedules")
    try:
        return principal(f"{tenant}/{subject}", known)
    except ValueError as error:
        raise TokenRefused("the claims 'tenant' or 'sub' have characters that are not allowed") from error


class SharedSecret:
    """Checks HS256 tokens against one secret."""

    def __init__(self, secret: str, expectation: Expectation) -> None:
        self._secret = secret
        self._expectation = expectation

    async def check(self, token: str) -> Principal:
        """The token's holder.

        Raises:
            TokenRefused: The signature, the time or a claim is wrong.
        """
        return holder(_decode(token, self._secret, ["HS256"], self._expectation))


class KeySet:
    """Checks tokens against the public keys of an identity provider."""

    def __init__(
        self, url: str, expectation: Expectation, *, client: httpx.AsyncClient | None = None
    ) -> None:
        self._url = url
        self._expectation = expectation
        self._client = client or httpx.AsyncClient(timeout=5.0)
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched = float("-inf")
        self._fetching = asyncio.Lock()

    async def check(self, token: str) -> Principal:
        """The token's holder.

        Raises:
            TokenRefused: No key fits, the keys can't be had, or the token is wrong.
        """
        key = await self._key(_key_id(token))
        return holder(_decode(token, key, [key.algorithm_name], self._expectation))

    async def _key(self, key_id: str) -> jwt.PyJWK:
        if key_id not in self._keys or self._due(key_id):
            async with self._fetching:  # who comes while the first keys are on their way waits for them
                if self._due(key_id):
                    await self._fetch()
        if key_id not in self._keys:
            raise TokenRefused("it is signed with a key that the identity provider does not publish")
        return self._keys[key_id]

    def _due(self, key_id: str) -> bool:
        age = time.monotonic() - self._fetched
        return age > _KEEP or (key_id not in self._keys and age > _RETRY)

    async def _fetch(self) -> None:
        self._fetched = time.monotonic()
        try:
            response = await self._client.get(self._url)
            response.raise_for_status()
            keys = jwt.PyJWKSet.from_dict(response.json()).keys
        except (httpx.HTTPError, jwt.PyJWTError, ValueError, AttributeError) as error:  # or no JSON map
            if self._keys:
                return  # the last good keys serve until the provider answers again
            raise TokenRefused("the identity provider's keys can't be had right now; try again") from error
        self._keys = {key.key_id: key for key in keys if key.key_id and key.algorithm_name in _ALGORITHMS}


def _key_id(token: str) -> str:
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError as error:
        raise TokenRefused("it is not a JWT") from error
    return str(header.get("kid", ""))


def _decode(
    token: str, key: str | jwt.PyJWK, algorithms: list[str], expectation: Expectation
) -> Mapping[str, Any]:
    try:
        return jwt.decode(
            token,
            key,
            algorithms=algorithms,
            audience=expectation.audience,
            issuer=expectation.issuer,
            leeway=_LEEWAY,
            options={"require": ["exp", "sub"], "verify_aud": expectation.audience is not None},
        )
    except jwt.ExpiredSignatureError as error:
        raise TokenRefused("it has expired") from error
    except jwt.PyJWTError as error:
        raise TokenRefused("its signature or claims are wrong") from error


def now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)
