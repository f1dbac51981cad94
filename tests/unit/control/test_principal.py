from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistants.principal import PLATFORM, ROLES, SERVICE, STUDIO, Principal, Role, principal


def test_the_roles_are_these_three() -> None:
    assert {"user", "approver", "operator"} == ROLES == set(get_args(Role))


def test_an_identity_is_the_tenant_and_the_user() -> None:
    who = principal("acme/ann", ["user"])
    assert (who.tenant, who.user, who.roles) == ("acme", "ann", frozenset({"user"}))
    assert who.identity == "acme/ann"


@pytest.mark.parametrize(
    ("roles", "operator", "unattended"),
    [
        ([], False, True),
        (["user"], False, False),
        (["approver"], False, False),
        (["operator"], True, False),
        (["operator", "user"], True, False),
    ],
)
def test_roles_say_who_operates_and_whether_anybody_waits(
    roles: list[str], *, operator: bool, unattended: bool
) -> None:
    who = principal("acme/ann", roles)
    assert (who.operator, who.unattended) == (operator, unattended)


@pytest.mark.parametrize("roles", [["admin"], ["Operator", "OPERATOR"], ["operator "], [""]])
def test_unknown_roles_are_dropped_and_open_nothing(roles: Iterable[str]) -> None:
    who = principal("acme/ann", roles)
    assert who.roles == frozenset()
    assert not who.operator


@pytest.mark.parametrize(
    "identity",
    [
        "",
        "/",
        "acme",
        "acme/",
        "/ann",
        "acme/ann/x",
        "acme//ann",
        "Acme/ann",
        "acme_1/ann",
        "-acme/ann",
        "a.b/ann",
        "acme /ann",
        "acme/ ann",
        "acme/\tann",
        "acme/a\nb",
        "acme/ann\n",
        "acme/a\x00b",
        "acme/a\x7fb",
        "acme\n/ann",
        f"{'a' * 64}/ann",
        f"acme/{'a' * 129}",
        "langgraph-studio-user",
        "安/ann",
    ],
)
def test_an_identity_of_another_form_is_refused(identity: str) -> None:
    with pytest.raises(ValueError, match="is not of the form 'tenant/user'"):
        principal(identity, ["operator"])


@pytest.mark.parametrize(
    "identity",
    [
        "a/b",
        "acme-2/ann@acme.com",
        "0acme/auth0|17",
        f"{'a' * 63}/{'b' * 128}",
        "acme/Ann B",
        "acme/安",
        STUDIO,
    ],
)
def test_identities_of_this_form_are_taken(identity: str) -> None:
    assert principal(identity, ["user"]).identity == identity


@given(identity=st.text(max_size=12) | st.from_regex(r"[a-z]{1,3}/[ -~]{1,4}", fullmatch=True))
def test_an_identity_is_taken_apart_in_one_way_only(identity: str) -> None:
    try:
        who = principal(identity, ["user"])
    except ValueError:
        return
    assert who.identity == identity
    assert "/" not in who.tenant + who.user
    assert who.tenant
    assert who.user


def test_the_reserved_names_are_the_platform_and_the_service() -> None:
    assert (PLATFORM, SERVICE, STUDIO) == ("platform", "service", "platform/studio")
    assert principal(f"acme/{SERVICE}", ()).unattended


def test_principals_are_values() -> None:
    one = principal("acme/ann", ["user", "user"])
    assert one == Principal("acme", "ann", frozenset({"user"}))
    assert len({one, principal("acme/ann", ["user"]), principal("acme/ann", ["operator"])}) == 2
    with pytest.raises(AttributeError):
        setattr(one, "tenant", "globex")  # noqa: B010 - an assignment that a type checker would refuse
