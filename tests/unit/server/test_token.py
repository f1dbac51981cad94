from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistants.principal import ROLES, Principal, principal
from assistants.server.token import Expectation, SharedSecret, TokenRefused, holder, issue, now

pytestmark = pytest.mark.anyio

SECRET = "Zk3v9Qw1-0f8Hc7Lr5Ty2Ux4Bn6Mp0Ea9"
OTHER = "other-9Qw1-0f8Hc7Lr5Ty2Ux4Bn6Mp0Ea"
ANYTHING = Expectation()
LEFT_OUT: Any = object()
ANN = Principal("acme", "ann", frozenset({"user"}))


def claims(**values: Any) -> dict[str, Any]:
    moment = now()
    base = {"sub": "ann", "tenant": "acme", "roles": ["user"], "exp": moment + timedelta(hours=1)}
    return {key: value for key, value in {**base, **values}.items() if value is not LEFT_OUT}


def signed(algorithm: str = "HS256", secret: str = SECRET, **values: Any) -> str:
    return jwt.encode(claims(**values), secret, algorithm=algorithm)


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, default=str).encode()).decode().rstrip("=")


async def refused(token: str, expectation: Expectation = ANYTHING) -> str:
    with pytest.raises(TokenRefused) as caught:
        await SharedSecret(SECRET, expectation).check(token)
    said = str(caught.value)
    assert token not in said or not token
    assert SECRET not in said
    return said


# Issued and checked


@pytest.mark.parametrize("roles", [{"user"}, {"approver"}, {"operator"}, ROLES])
async def test_an_issued_token_speaks_for_whom_it_was_issued(roles: set[str]) -> None:
    who = principal("acme/ann", roles)
    token = issue(who, secret=SECRET, ttl=timedelta(minutes=5), expectation=ANYTHING, now=now())
    assert await SharedSecret(SECRET, ANYTHING).check(token) == who


async def test_an_issued_token_is_addressed_as_the_server_expects() -> None:
    expectation = Expectation(audience="signalbox", issuer="https://id.example")
    token = issue(ANN, secret=SECRET, ttl=timedelta(minutes=5), expectation=expectation, now=now())
    assert await SharedSecret(SECRET, expectation).check(token) == ANN
    assert await refused(token, Expectation(audience="other")) == "its signature or claims are wrong"
    assert await refused(token, Expectation(audience="signalbox", issuer="https://evil.example"))


def test_an_issued_token_holds_these_claims_and_no_others() -> None:
    moment = datetime(2027, 1, 1, tzinfo=UTC)
    token = issue(
        principal("acme/ann", {"user", "approver"}),
        secret=SECRET,
        ttl=timedelta(seconds=90),
        expectation=ANYTHING,
        now=moment,
    )
    assert jwt.decode(token, options={"verify_signature": False}) == {
        "sub": "ann",
        "tenant": "acme",
        "roles": ["approver", "user"],
        "iat": 1798761600,
        "exp": 1798761690,
    }
    assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "JWT"}


def test_now_is_in_utc() -> None:
    assert now().tzinfo is UTC


# Refused


async def test_an_expired_token_is_refused_after_a_grace_of_half_a_minute() -> None:
    fresh = signed(exp=now() - timedelta(seconds=20))
    assert await SharedSecret(SECRET, ANYTHING).check(fresh) == ANN
    assert await refused(signed(exp=now() - timedelta(seconds=40))) == "it has expired"


async def test_a_token_from_the_future_is_refused() -> None:
    assert await refused(signed(nbf=now() + timedelta(minutes=5)))
    assert await refused(signed(iat=now() + timedelta(minutes=5)))


async def test_another_secret_is_refused() -> None:
    assert await refused(signed(secret=OTHER)) == "its signature or claims are wrong"


async def test_a_changed_claim_is_refused() -> None:
    header, _, signature = signed().split(".")
    assert await refused(f"{header}.{part(claims(roles=['operator']))}.{signature}")


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE", "", "HS384", "RS256", None, 5])
async def test_no_other_algorithm_is_taken(algorithm: object) -> None:
    for signature in ("", signed().rsplit(".", 1)[1]):
        assert await refused(f"{part({'alg': algorithm, 'typ': 'JWT'})}.{part(claims())}.{signature}")


async def test_a_stronger_hash_with_the_right_secret_is_not_what_was_agreed() -> None:
    secret = SECRET * 2
    token = signed("HS512", secret)
    with pytest.raises(TokenRefused):
        await SharedSecret(secret, ANYTHING).check(token)


@pytest.mark.parametrize(
    "token", ["", ".", "..", "a.b.c", "é", "x" * 10_000, "null", "{}.{}.{}", "[" * 5_000]
)
async def test_what_is_no_token_is_refused(token: str) -> None:
    assert await refused(token) == "its signature or claims are wrong"


async def test_a_header_that_nests_without_end_is_refused() -> None:
    deep = base64.urlsafe_b64encode(b"[" * 20_000).decode().rstrip("=")
    assert await refused(f"{deep}.e30.e30")


@pytest.mark.parametrize("missing", ["exp", "sub"])
async def test_a_token_without_end_or_subject_is_refused(missing: str) -> None:
    assert await refused(signed(**{missing: LEFT_OUT})) == "its signature or claims are wrong"


@pytest.mark.parametrize("missing", ["tenant", "roles"])
async def test_a_token_without_tenant_or_roles_is_refused(missing: str) -> None:
    assert "expected the claims 'sub', 'tenant' (texts) and 'roles' (a list)" in await refused(
        signed(**{missing: LEFT_OUT})
    )


async def test_a_token_for_nobody_in_particular_is_refused_where_an_audience_is_expected() -> None:
    assert await refused(signed(), Expectation(audience="signalbox"))
    assert await refused(signed(), Expectation(issuer="https://id.example"))


async def test_an_audience_is_not_asked_for_where_none_is_expected() -> None:
    assert await SharedSecret(SECRET, ANYTHING).check(signed(aud="whoever")) == ANN


# The claims


@pytest.mark.parametrize(
    "values",
    [
        {"sub": 5},
        {"sub": None},
        {"sub": ["ann"]},
        {"tenant": None},
        {"tenant": ["acme"]},
        {"tenant": 1},
        {"roles": "operator"},
        {"roles": {"operator": True}},
        {"roles": None},
    ],
)
def test_claims_of_another_type_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(TokenRefused, match="expected the claims"):
        holder(claims(**values))


@pytest.mark.parametrize(
    "roles", [[], ["admin"], ["Operator"], [None, 5, ["operator"], {"operator": 1}], [""]]
)
def test_a_token_without_a_known_role_is_refused_and_never_unattended(roles: list[Any]) -> None:
    with pytest.raises(TokenRefused, match="at least one role of approver, operator, user"):
        holder(claims(roles=roles))


def test_unknown_roles_beside_known_ones_are_dropped() -> None:
    assert holder(claims(roles=["admin", "user", 7, "user"])) == ANN


def test_nobody_can_be_the_schedules_user() -> None:
    for roles in (["user"], ["operator"]):
        with pytest.raises(TokenRefused, match="the user 'service' is reserved for schedules"):
            holder(claims(sub="service", roles=roles))
    assert holder(claims(sub="Service")).user == "Service"


@pytest.mark.parametrize(
    "values",
    [
        {"sub": ""},
        {"sub": "a/b"},
        {"sub": "/service"},
        {"sub": " ann"},
        {"sub": "ann\n"},
        {"sub": "ann\x00"},
        {"sub": "x" * 129},
        {"tenant": ""},
        {"tenant": "Acme"},
        {"tenant": "acme/globex"},
        {"tenant": "acme\n"},
        {"tenant": "../globex"},
        {"tenant": "-acme"},
        {"tenant": "x" * 64},
    ],
)
def test_characters_that_could_mean_something_are_refused(values: dict[str, str]) -> None:
    with pytest.raises(TokenRefused, match="characters that are not allowed"):
        holder(claims(**values))


@pytest.mark.parametrize("user", ["ann@acme.com", "auth0|12", "Ann B. Cooper", "安", "x" * 128, "a:b%2F"])
def test_the_subjects_of_real_providers_are_taken(user: str) -> None:
    assert holder(claims(sub=user)).identity == f"acme/{user}"


def leaves() -> st.SearchStrategy[Any]:
    return st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(sorted(ROLES))


@given(subject=leaves(), tenant=leaves(), roles=leaves() | st.lists(leaves(), max_size=3))
def test_claims_give_a_seated_person_or_are_refused(subject: Any, tenant: Any, roles: Any) -> None:
    try:
        who = holder({"sub": subject, "tenant": tenant, "roles": roles})
    except TokenRefused:
        return
    assert who.roles
    assert who.roles <= ROLES
    assert who.user != "service"
    assert who.identity == f"{tenant}/{subject}"
    assert who.identity.count("/") == 1


def spoiled(token: str) -> Iterator[str]:
    for at in range(0, len(token), 7):
        yield token[:at] + token[at + 1 :]


async def test_a_token_with_a_character_missing_is_refused_wherever_it_is() -> None:
    token = signed()
    tries = list(spoiled(token))
    assert len(tries) > 20
    for one in tries:
        await refused(one)
