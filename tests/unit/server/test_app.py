from __future__ import annotations

import json

import pytest

from assistants.configuration import AUTH_TARGET
from assistants.errors import ConfigurationInvalid
from assistants.server.app import app, authentication_on
from assistants.server.surround import Info, Shield

OURS = {"path": "assistants.server.auth:auth", "disable_studio_auth": True}


def test_a_server_with_our_authentication_starts() -> None:
    authentication_on({"LANGGRAPH_AUTH": json.dumps(OURS)})


@pytest.mark.parametrize(
    "auth",
    [
        None,
        {},
        [],
        "assistants.server.auth:auth",
        {"pth": AUTH_TARGET, "disable_studio_auth": True},
        {"path": AUTH_TARGET},
        {"path": AUTH_TARGET, "disable_studio_auth": False},
        {"path": AUTH_TARGET, "disable_studio_auth": "true"},
        {"path": "json:loads", "disable_studio_auth": True},
        {**OURS, "allow_langsmith_api_keys": True},
    ],
    ids=str,
)
def test_a_server_with_any_other_authentication_does_not_start(auth: object) -> None:
    with pytest.raises(ConfigurationInvalid, match="authentication is not on"):
        authentication_on({"LANGGRAPH_AUTH": json.dumps(auth)})


@pytest.mark.parametrize("environment", [{}, {"LANGGRAPH_AUTH": ""}])
def test_a_server_without_authentication_does_not_start(environment: dict[str, str]) -> None:
    with pytest.raises(ConfigurationInvalid):
        authentication_on(environment)


def test_the_check_of_the_file_and_of_the_server_ask_for_the_same() -> None:
    assert OURS["path"] == AUTH_TARGET


def test_the_shield_stands_outermost() -> None:
    assert [middleware.cls for middleware in app.user_middleware] == [Shield, Info]


def test_our_routes_are_below_ops() -> None:
    paths = [getattr(route, "path", "") for route in app.routes]
    assert paths[0] == "/ops/health"
    assert all(path.startswith("/ops/") for path in paths)
