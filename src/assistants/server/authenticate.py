"""Authentication: from a request's headers to a principal.

Three ways in: a JWT in `Authorization: Bearer …`, an API key in `x-api-key` (kept as sha256 in the tenant's
file), and, on a developer's machine only, the header that LangGraph Studio sends instead of credentials.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Mapping
from typing import Any, cast

from assistants.loader import Catalog
from assistants.principal import PLATFORM, STUDIO, Principal, principal
from assistants.server.token import KeySet, SharedSecret, TokenRefused

Headers = Mapping[bytes, bytes]

_FORWARDED = (
    *(b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip"),
    *(b"cf-connecting-ip", b"true-client-ip"),
)
_LOOPBACK_NAMES = {"localhost", "127.0.0.1", "[::1]"}


class Unauthenticated(Exception):
    """The request does not say who asks in a way that this server accepts."""


async def authenticate(
    headers: Headers,
    scope: Mapping[str, Any],
    *,
    catalog: Catalog,
    tokens: SharedSecret | KeySet,
    development: bool,
) -> Principal:
    """The principal behind a request.

    Raises:
        Unauthenticated: There are no credentials, or they are wrong; the message says what is expected.
    """
    authorization = headers.get(b"authorization", b"").decode("latin-1")
    if authorization:
        return await _bearer(authorization, catalog, tokens, development=development)
    if key := headers.get(b"x-api-key"):
        return _api_key(key, catalog)
    if headers.get(b"x-auth-scheme") == b"langsmith" and development and _local(headers, scope):
        return principal(STUDIO, {"operator"})
    raise Unauthenticated(_hint("no credentials were sent", development=development))


async def _bearer(
    authorization: str, catalog: Catalog, tokens: SharedSecret | KeySet, *, development: bool
) -> Principal:
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated(
            _hint("the Authorization header is not 'Bearer <token>'", development=development)
        )
    try:
        who = await tokens.check(token.strip())
    except TokenRefused as refused:
        raise Unauthenticated(_hint(f"the token was refused: {refused}", development=development)) from None
    platform = who.tenant == PLATFORM and who.roles == frozenset({"operator"})
    if catalog.tenant(who.tenant) is None and not platform:
        raise Unauthenticated(
            _hint("the token was refused: its tenant is not in the catalog", development=development)
        )
    return who


def _api_key(key: bytes, catalog: Catalog) -> Principal:
    entry = catalog.api_key(hashlib.sha256(key).hexdigest())
    if entry is None:
        raise Unauthenticated("401: the API key in x-api-key is not known here.")
    return principal(f"{entry.tenant}/{entry.user}", entry.roles)


def _local(headers: Headers, scope: Mapping[str, Any]) -> bool:
    """Whether the peer is this very machine, asked for by a loopback name, with no proxy in between.

    The name is checked because a web page can point a name of its own at 127.0.0.1 (DNS rebinding).
    """
    client = cast("tuple[str, int] | None", scope.get("client"))
    if client is None or any(name in headers for name in _FORWARDED):
        return False
    host = headers.get(b"host", b"").decode("latin-1").lower()
    name = host if host.endswith("]") else host.rsplit(":", 1)[0]
    try:
        peer = ipaddress.ip_address(client[0])
    except ValueError:
        return False
    return peer.is_loopback and name in _LOOPBACK_NAMES


def _hint(problem: str, *, development: bool) -> str:
    how = " In development, 'signalbox token --tenant acme --user u1' prints one." if development else ""
    return (
        f"401: {problem}. Expected 'Authorization: Bearer <token>' with a signed JWT, or an API key in "
        f"'x-api-key'.{how}"
    )
