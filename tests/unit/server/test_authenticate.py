from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import pytest

from assistants.loader import Catalog
from assistants.principal import Principal
from assistants.server.authenticate import Unauthenticated, authenticate
from assistants.server.token import Expectation, SharedSecret, issue, now
from assistants.tenant import TenantSpec

pytestmark = pytest.mark.anyio

SECRET = "Zk3v9Qw1-0f8Hc7Lr5Ty2Ux4Bn6Mp0Ea9"
KEY = "sb-live-1f0e9d8c7b6a"
LOCAL = {"client": ("127.0.0.1", 50_000)}
STUDIO = {b"x-auth-scheme": b"langsmith", b"host": b"127.0.0.1:2024"}
OPERATOR = Principal("platform", "studio", frozenset({"operator"}))
EXPECTED = "Expected 'Authorization: Bearer <token>' with a signed JWT, or an API key in 'x-api-key'."


def tenant(slug: str, *keys: tuple[str, str, tuple[str, ...]]) -> TenantSpec:
    entries = [
        {"id": f"k{number}", "sha256": hashlib.sha256(key.encode()).hexdigest(), "user": user, "roles": roles}
        for number, (key, user, roles) in enumerate(keys)
    ]
    return TenantSpec.model_validate(
        {"slug": slug, "ring": "early", "timezone": "UTC", "api_keys": tuple(entries)}
    )


CATALOG = Catalog.of(
    [tenant("acme", (KEY, "shop", ("user",)), ("ops-key", "ops", ("operator", "user"))), tenant("globex")],
    [],
    rings=["early"],
)


def token(who: str = "acme/ann", *roles: str) -> str:
    slug, _, user = who.partition("/")
    return issue(
        Principal(slug, user, frozenset(roles or ("user",))),
        secret=SECRET,
        ttl=timedelta(hours=1),
        expectation=Expectation(),
        now=now(),
    )


async def identify(
    headers: dict[bytes, bytes], scope: dict[str, Any] | None = None, *, development: bool = False
) -> Principal:
    return await authenticate(
        headers,
        LOCAL if scope is None else scope,
        catalog=CATALOG,
        tokens=SharedSecret(SECRET, Expectation()),
        development=development,
    )


async def refused(
    headers: dict[bytes, bytes], scope: dict[str, Any] | None = None, *, development: bool = False
) -> str:
    with pytest.raises(Unauthenticated) as caught:
        await identify(headers, scope, development=development)
    said = str(caught.value)
    assert said.startswith("401: ")
    for value in headers.values():
        secret = value.decode("latin-1").partition(" ")[2] or value.decode("latin-1")
        assert len(secret) < 8 or secret not in said
    return said


# Bearer tokens


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_a_bearer_token_speaks_for_its_holder(scheme: str) -> None:
    who = await identify({b"authorization": f"{scheme} {token()}".encode()})
    assert who == Principal("acme", "ann", frozenset({"user"}))


async def test_space_round_a_token_does_not_matter() -> None:
    assert (await identify({b"authorization": f"Bearer   {token()} ".encode()})).user == "ann"


async def test_a_token_of_a_tenant_that_is_not_in_the_catalog_is_refused() -> None:
    said = await refused({b"authorization": f"Bearer {token('initech/bob')}".encode()})
    assert "its tenant is not in the catalog" in said
    assert "initech" not in said
    assert "acme" not in said


async def test_an_operator_may_belong_to_the_platform_and_nobody_else_may() -> None:
    ops = await identify({b"authorization": f"Bearer {token('platform/olga', 'operator')}".encode()})
    assert ops == Principal("platform", "olga", frozenset({"operator"}))
    for roles in (("user",), ("operator", "user"), ("approver",)):
        said = await refused({b"authorization": f"Bearer {token('platform/olga', *roles)}".encode()})
        assert "its tenant is not in the catalog" in said


@pytest.mark.parametrize(
    "value",
    [b"Bearer", b"Bearer ", b"Basic YTpi", b"Token abcdefgh", b"langsmith", b"\xff\xfe", b"Bearer\tabcdefgh"],
)
async def test_another_authorization_is_refused_and_says_what_is_expected(value: bytes) -> None:
    said = await refused({b"authorization": value})
    assert said == f"401: the Authorization header is not 'Bearer <token>'. {EXPECTED}"


@pytest.mark.parametrize("value", [b"abcdefgh.ijkl.mnop", b"\xe9" * 12, b"a b c d e f g h"])
async def test_a_token_that_is_wrong_is_refused_without_being_repeated(value: bytes) -> None:
    said = await refused({b"authorization": b"Bearer " + value})
    assert said == f"401: the token was refused: its signature or claims are wrong. {EXPECTED}"


async def test_an_expired_token_says_so() -> None:
    old = issue(
        Principal("acme", "ann", frozenset({"user"})),
        secret=SECRET,
        ttl=timedelta(minutes=5),
        expectation=Expectation(),
        now=now() - timedelta(hours=1),
    )
    assert "it has expired" in await refused({b"authorization": f"Bearer {old}".encode()})


async def test_the_way_to_a_token_is_told_in_development_only() -> None:
    hint = "'signalbox token --tenant acme --user u1' prints one"
    assert hint in await refused({}, development=True)
    assert hint not in await refused({})
    assert hint in await refused({b"authorization": b"Bearer abcdefgh"}, development=True)


async def test_without_credentials_it_says_what_is_expected() -> None:
    assert await refused({}) == f"401: no credentials were sent. {EXPECTED}"
    assert (
        await refused({b"authorization": b"", b"x-api-key": b""})
        == f"401: no credentials were sent. {EXPECTED}"
    )


async def test_a_wrong_token_is_not_made_good_by_a_right_key_or_by_the_studio() -> None:
    wrong = {b"authorization": b"Bearer abcdefgh", b"x-api-key": KEY.encode(), **STUDIO}
    assert "the token was refused" in await refused(wrong, development=True)


# API keys


async def test_an_api_key_stands_for_its_user() -> None:
    assert await identify({b"x-api-key": KEY.encode()}) == Principal("acme", "shop", frozenset({"user"}))
    assert await identify({b"x-api-key": b"ops-key"}) == Principal(
        "acme", "ops", frozenset({"operator", "user"})
    )


@pytest.mark.parametrize(
    "key",
    [
        KEY.upper().encode(),
        f" {KEY}".encode(),
        KEY[:-1].encode(),
        hashlib.sha256(KEY.encode()).hexdigest().encode(),
        b"\xff" * 16,
    ],
)
async def test_another_key_is_refused_also_the_digest_of_a_right_one(key: bytes) -> None:
    assert await refused({b"x-api-key": key}) == "401: the API key in x-api-key is not known here."


async def test_a_wrong_key_is_not_made_good_by_the_studio() -> None:
    assert "API key" in await refused({b"x-api-key": b"wrong-key", **STUDIO}, development=True)


# Studio's header

LOOPBACK_PEERS = ["127.0.0.1", "127.8.9.1", "::1"]
LOOPBACK_HOSTS = [
    b"localhost",
    b"localhost:2024",
    b"LOCALHOST:2024",
    b"127.0.0.1",
    b"127.0.0.1:2024",
    b"[::1]",
    b"[::1]:2024",
]


@pytest.mark.parametrize("host", LOOPBACK_HOSTS)
@pytest.mark.parametrize("peer", LOOPBACK_PEERS)
async def test_studio_on_a_developer_s_machine_is_an_operator(peer: str, host: bytes) -> None:
    scope = {"client": (peer, 50_000)}
    assert await identify({**STUDIO, b"host": host}, scope, development=True) == OPERATOR


async def test_studio_s_header_counts_in_development_only() -> None:
    assert "no credentials" in await refused(STUDIO)


@pytest.mark.parametrize(
    "scope",
    [
        {"client": ("192.168.1.5", 50_000)},
        {"client": ("10.0.0.1", 50_000)},
        {"client": ("0.0.0.0", 50_000)},  # noqa: S104 - a peer's address, nothing is bound
        {"client": ("::ffff:192.168.1.5", 50_000)},
        {"client": ("fe80::1", 50_000)},
        {"client": ("localhost", 50_000)},
        {"client": ("testclient", 50_000)},
        {"client": ("", 0)},
        {"client": None},
        {},
    ],
    ids=str,
)
async def test_studio_s_header_from_another_machine_is_nothing(scope: dict[str, Any]) -> None:
    assert "no credentials" in await refused(STUDIO, scope, development=True)


@pytest.mark.parametrize(
    "host",
    [
        b"evil.example",
        b"evil.example:2024",
        b"localhost.evil.example",
        b"127.0.0.1.evil.example:2024",
        b"evil-localhost",
        b"localhost@evil.example",
        b"192.168.1.5:2024",
        b"[::2]:2024",
        b"2130706433",
        b"",
        b":2024",
        b"\xff\xff",
    ],
)
async def test_studio_s_header_by_a_name_of_somebody_else_is_nothing(host: bytes) -> None:
    """A web page can point its own name at 127.0.0.1; the browser then sends that name."""
    assert "no credentials" in await refused({**STUDIO, b"host": host}, development=True)


async def test_studio_s_header_without_a_host_is_nothing() -> None:
    assert await refused({b"x-auth-scheme": b"langsmith"}, development=True)


@pytest.mark.parametrize(
    "name",
    [
        *(b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip"),
        *(b"cf-connecting-ip", b"true-client-ip"),
    ],
)
@pytest.mark.parametrize("value", [b"203.0.113.7", b"127.0.0.1", b""])
async def test_studio_s_header_through_a_proxy_is_nothing(name: bytes, value: bytes) -> None:
    assert "no credentials" in await refused({**STUDIO, name: value}, development=True)


@pytest.mark.parametrize("scheme", [b"LangSmith", b"langsmith ", b"langsmith-api-key", b"bearer", b""])
async def test_another_scheme_is_nothing(scheme: bytes) -> None:
    assert "no credentials" in await refused({**STUDIO, b"x-auth-scheme": scheme}, development=True)
