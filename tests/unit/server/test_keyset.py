from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from assistants.principal import Principal
from assistants.server import token as module
from assistants.server.token import Expectation, KeySet, TokenRefused, now
from tests.unit.server.listener import listening

pytestmark = pytest.mark.anyio

ANN = Principal("acme", "ann", frozenset({"user"}))
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()


def entry(key_id: str | None, public: str, **values: Any) -> dict[str, Any]:
    named = {} if key_id is None else {"kid": key_id}
    return {**json.loads(public), **named, "use": "sig", **values}


RSA_ENTRY = entry("rsa-1", RSAAlgorithm.to_jwk(RSA_KEY.public_key()), alg="RS256")
EC_ENTRY = entry("ec-1", ECAlgorithm.to_jwk(EC_KEY.public_key()), alg="ES256")
ED_ENTRY = entry("ed-1", OKPAlgorithm.to_jwk(ED_KEY.public_key()), alg="EdDSA")


def signed(key: Any, algorithm: str, key_id: str | None, **values: Any) -> str:
    base = {"sub": "ann", "tenant": "acme", "roles": ["user"], "exp": now() + timedelta(hours=1)}
    headers = {} if key_id is None else {"kid": key_id}
    return jwt.encode({**base, **values}, key, algorithm=algorithm, headers=headers)


@dataclass
class Provider:
    """An identity provider that publishes keys, counts who asks, and can be told to fail or to wait."""

    keys: list[dict[str, Any]]
    asked: int = 0
    answer: Response | None = None
    open: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        if not self.open.is_set():
            self.waiting.set()
        await self.open.wait()
        await (self.answer or JSONResponse({"keys": self.keys}))(scope, receive, send)


@dataclass
class Clock:
    """Seconds that pass when a test says so."""

    seconds: float = 1_000.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


@pytest.fixture
async def provider() -> AsyncGenerator[tuple[Provider, str]]:
    provider = Provider([RSA_ENTRY, EC_ENTRY, ED_ENTRY])
    provider.open.set()
    async with listening(provider) as url:
        yield provider, f"{url}/jwks.json"


def keyset(url: str, **expected: str) -> KeySet:
    return KeySet(url, Expectation(**expected), client=httpx.AsyncClient(timeout=2.0))


async def refused(keys: KeySet, token: str) -> str:
    with pytest.raises(TokenRefused) as caught:
        await keys.check(token)
    assert token not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("key", "algorithm", "key_id"),
    [(RSA_KEY, "RS256", "rsa-1"), (EC_KEY, "ES256", "ec-1"), (ED_KEY, "EdDSA", "ed-1")],
    ids=["RS256", "ES256", "EdDSA"],
)
async def test_a_token_of_the_provider_speaks_for_its_holder(
    provider: tuple[Provider, str], key: Any, algorithm: str, key_id: str
) -> None:
    keys = keyset(provider[1])
    assert await keys.check(signed(key, algorithm, key_id)) == ANN


async def test_the_keys_are_fetched_once_for_many_tokens(
    provider: tuple[Provider, str], clock: Clock
) -> None:
    server, url = provider
    keys = keyset(url)
    assert server.asked == 0
    for _ in range(3):
        await keys.check(signed(RSA_KEY, "RS256", "rsa-1"))
        await keys.check(signed(EC_KEY, "ES256", "ec-1"))
    assert server.asked == 1


async def test_those_who_come_while_the_first_keys_are_on_their_way_wait_for_them(
    provider: tuple[Provider, str],
) -> None:
    server, url = provider
    server.open.clear()
    keys = keyset(url)
    first = asyncio.create_task(keys.check(signed(RSA_KEY, "RS256", "rsa-1")))
    await server.waiting.wait()
    others = [asyncio.create_task(keys.check(signed(EC_KEY, "ES256", "ec-1"))) for _ in range(9)]
    await asyncio.sleep(0)
    server.open.set()
    assert await asyncio.gather(first, *others) == [ANN] * 10
    assert server.asked == 1


async def test_those_whose_key_is_known_do_not_wait_for_a_refresh(
    provider: tuple[Provider, str], clock: Clock
) -> None:
    server, url = provider
    keys = keyset(url)
    await keys.check(signed(RSA_KEY, "RS256", "rsa-1"))
    clock.seconds += 301
    server.open.clear()
    slow = asyncio.create_task(keys.check(signed(RSA_KEY, "RS256", "rsa-1")))
    await server.waiting.wait()
    assert await keys.check(signed(RSA_KEY, "RS256", "rsa-1")) == ANN
    assert not slow.done()
    server.open.set()
    assert await slow == ANN
    assert server.asked == 2


async def test_a_new_key_of_the_provider_is_found_without_a_restart(
    provider: tuple[Provider, str], clock: Clock
) -> None:
    server, url = provider
    keys = keyset(url)
    await keys.check(signed(RSA_KEY, "RS256", "rsa-1"))
    server.keys = [RSA_ENTRY, {**EC_ENTRY, "kid": "ec-2"}]
    assert "does not publish" in await refused(keys, signed(EC_KEY, "ES256", "ec-2"))
    clock.seconds += 10.5
    assert await keys.check(signed(EC_KEY, "ES256", "ec-2")) == ANN
    assert server.asked == 2


async def test_unknown_keys_ask_the_provider_at_most_every_ten_seconds(
    provider: tuple[Provider, str], clock: Clock
) -> None:
    server, url = provider
    keys = keyset(url)
    for number in range(50):
        assert "does not publish" in await refused(keys, signed(EC_KEY, "ES256", f"guess-{number}"))
        clock.seconds += 0.1
    assert server.asked == 1
    clock.seconds += 6
    for number in range(50):
        await refused(keys, signed(EC_KEY, "ES256", f"guess-{number}"))
    assert server.asked == 2


async def test_a_key_that_the_provider_took_back_is_refused_after_five_minutes(
    provider: tuple[Provider, str], clock: Clock
) -> None:
    server, url = provider
    keys = keyset(url)
    await keys.check(signed(RSA_KEY, "RS256", "rsa-1"))
    server.keys = [EC_ENTRY]
    clock.seconds += 299
    assert await keys.check(signed(RSA_KEY, "RS256", "rsa-1")) == ANN
    clock.seconds += 2
    assert "does not publish" in await refused(keys, signed(RSA_KEY, "RS256", "rsa-1"))
    assert await keys.check(signed(EC_KEY, "ES256", "ec-1")) == ANN
    assert server.asked == 2


BROKEN: dict[str, Response] = {
    "error": Response(status_code=503),
    "text": Response("<html>maintenance</html>", media_type="text/html"),
    "list": JSONResponse([]),
    "null": JSONResponse(None),
    "no keys": JSONResponse({"keys": []}),
    "keys of another shape": JSONResponse({"keys": "rsa"}),
    "nonsense keys": JSONResponse({"keys": [1, {"kty": "x"}]}),
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN.keys())
async def test_the_last_keys_serve_while_the_provider_is_down(
    provider: tuple[Provider, str], clock: Clock, answer: Response
) -> None:
    server, url = provider
    keys = keyset(url)
    await keys.check(signed(RSA_KEY, "RS256", "rsa-1"))
    server.answer = answer
    clock.seconds += 3_600
    assert await keys.check(signed(RSA_KEY, "RS256", "rsa-1")) == ANN
    assert server.asked == 2


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN.keys())
async def test_without_any_keys_a_token_is_refused_and_the_provider_is_asked_again_later(
    provider: tuple[Provider, str], clock: Clock, answer: Response
) -> None:
    server, url = provider
    server.answer = answer
    keys = keyset(url)
    said = await refused(keys, signed(RSA_KEY, "RS256", "rsa-1"))
    assert said == "the identity provider's keys can't be had right now; try again"
    await refused(keys, signed(RSA_KEY, "RS256", "rsa-1"))
    assert server.asked == 1
    server.answer = None
    clock.seconds += 10.5
    assert await keys.check(signed(RSA_KEY, "RS256", "rsa-1")) == ANN


async def test_a_provider_that_does_not_listen_gives_no_keys() -> None:
    async with listening(Provider([])) as url:
        gone = f"{url}/jwks.json"
    assert "can't be had right now" in await refused(keyset(gone), signed(RSA_KEY, "RS256", "rsa-1"))


async def test_a_public_key_is_no_shared_secret(provider: tuple[Provider, str]) -> None:
    keys = keyset(provider[1])
    public = RSA_KEY.public_key()
    for secret in (
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        json.dumps(RSA_ENTRY).encode(),
        RSA_ENTRY["n"].encode(),
    ):
        assert await refused(keys, hmac_token(secret, "rsa-1")) == "its signature or claims are wrong"


async def test_a_secret_that_the_provider_publishes_by_mistake_signs_nothing(
    provider: tuple[Provider, str],
) -> None:
    server, url = provider
    secret = b"0123456789abcdef0123456789abcdef"
    server.keys = [RSA_ENTRY, {"kty": "oct", "kid": "oct-1", "alg": "HS256", "k": unpadded(secret)}]
    keys = keyset(url)
    assert "does not publish" in await refused(keys, hmac_token(secret, "oct-1"))
    assert await keys.check(signed(RSA_KEY, "RS256", "rsa-1")) == ANN


@pytest.mark.parametrize(
    ("key", "algorithm", "key_id"),
    [
        (rsa.generate_private_key(public_exponent=65537, key_size=2048), "RS256", "rsa-1"),
        (RSA_KEY, "RS512", "rsa-1"),
        (RSA_KEY, "PS256", "rsa-1"),
        (EC_KEY, "ES256", "rsa-1"),
        (RSA_KEY, "RS256", "ec-1"),
        (ec.generate_private_key(ec.SECP256R1()), "ES256", "ec-1"),
    ],
    ids=["another key", "another hash", "another padding", "another kind", "swapped", "another curve key"],
)
async def test_a_signature_that_does_not_fit_the_named_key_is_refused(
    provider: tuple[Provider, str], key: Any, algorithm: str, key_id: str
) -> None:
    keys = keyset(provider[1])
    assert await refused(keys, signed(key, algorithm, key_id)) == "its signature or claims are wrong"


async def test_a_token_without_a_signature_is_refused(provider: tuple[Provider, str]) -> None:
    keys = keyset(provider[1])
    header, body, _ = signed(RSA_KEY, "RS256", "rsa-1").split(".")
    bare = unpadded(json.dumps({"alg": "none", "kid": "rsa-1"}).encode())
    assert await refused(keys, f"{bare}.{body}.")
    assert await refused(keys, f"{header}.{body}.")


@pytest.mark.parametrize("token", ["", "a.b.c", "x", "é.é.é"])
async def test_what_is_no_token_asks_nobody(provider: tuple[Provider, str], token: str) -> None:
    server, url = provider
    with pytest.raises(TokenRefused, match="it is not a JWT"):
        await keyset(url).check(token)
    assert server.asked == 0


async def test_a_token_that_names_no_key_is_refused(provider: tuple[Provider, str]) -> None:
    server, url = provider
    server.keys = [entry(None, RSAAlgorithm.to_jwk(RSA_KEY.public_key())), EC_ENTRY]
    assert "does not publish" in await refused(keyset(url), signed(RSA_KEY, "RS256", None))


async def test_audience_issuer_and_time_are_checked(provider: tuple[Provider, str]) -> None:
    keys = keyset(provider[1], audience="signalbox", issuer="https://id.example")
    right = {"aud": "signalbox", "iss": "https://id.example"}
    assert await keys.check(signed(RSA_KEY, "RS256", "rsa-1", **right)) == ANN
    assert await keys.check(signed(RSA_KEY, "RS256", "rsa-1", **{**right, "aud": ["x", "signalbox"]})) == ANN
    for wrong in (
        {**right, "aud": "another app"},
        {**right, "iss": "https://evil.example"},
        {"aud": "signalbox"},
        {"iss": "https://id.example"},
    ):
        assert await refused(keys, signed(RSA_KEY, "RS256", "rsa-1", **wrong))
    late = signed(RSA_KEY, "RS256", "rsa-1", **right, exp=now() - timedelta(minutes=1))
    assert await refused(keys, late) == "it has expired"


async def test_the_claims_of_a_provider_are_held_to_the_same_rules(provider: tuple[Provider, str]) -> None:
    keys = keyset(provider[1])
    assert "reserved" in await refused(keys, signed(RSA_KEY, "RS256", "rsa-1", sub="service"))
    assert "at least one role" in await refused(keys, signed(RSA_KEY, "RS256", "rsa-1", roles=[]))


async def test_a_key_set_brings_its_own_client(provider: tuple[Provider, str]) -> None:
    assert await KeySet(provider[1], Expectation()).check(signed(RSA_KEY, "RS256", "rsa-1")) == ANN


def unpadded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def hmac_token(secret: bytes, key_id: str) -> str:
    """An HS256 token by hand, because PyJWT refuses to sign with what looks like a public key."""
    header = unpadded(json.dumps({"alg": "HS256", "typ": "JWT", "kid": key_id}).encode())
    soon = int((now() + timedelta(hours=1)).timestamp())
    body = unpadded(json.dumps({"sub": "ann", "tenant": "acme", "roles": ["operator"], "exp": soon}).encode())
    mac = hmac.new(secret, f"{header}.{body}".encode(), hashlib.sha256).digest()
    return f"{header}.{body}.{unpadded(mac)}"
