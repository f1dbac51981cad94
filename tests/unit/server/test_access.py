from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph_sdk import Auth

from assistants.principal import Principal, Role
from assistants.server import access
from assistants.server.access import Allowed, Refused, Verdict, label, namespace, ownership

ALL: tuple[Role, ...] = ("user", "approver", "operator")
NOBODY, USER, APPROVER, OPERATOR = (
    frozenset[str](),
    frozenset({"user"}),
    frozenset({"approver"}),
    frozenset({"operator"}),
)
COLUMNS = (
    NOBODY,
    USER,
    APPROVER,
    USER | APPROVER,
    OPERATOR,
    USER | OPERATOR,
    APPROVER | OPERATOR,
    USER | APPROVER | OPERATOR,
)

EVERYTHING = Allowed({})
OWN = Allowed({"tenant": "acme", "owner": "acme/u1"})
TENANT = Allowed({"tenant": "acme"})
WAITING = Allowed({"tenant": "acme", "waiting": True})
OWN_OR_WAITING = Allowed({"$or": [OWN.filter, WAITING.filter]})
NONE = Allowed({"tenant": "acme", "waiting": "no"})  # no thread has that mark
CHANNELS = Allowed({"tenant": "acme", "kind": "channel"})
ANY_CHANNEL = Allowed({"kind": "channel"})
KINDS = Allowed({"$or": [{"kind": "channel"}, {"kind": "release"}, {"kind": "foreign"}]})
DENIED = Refused(403, "Your roles do not allow this; ask an operator.")
FILES = Refused(
    403, "Assistants and schedules live in the catalog's files; change the file and apply it as an operator."
)

#                               nobody    user      approver  user+appr  ... operator, whatever else
TABLE: dict[tuple[str, str], tuple[Verdict, Verdict, Verdict, Verdict, Verdict]] = {
    ("threads", "create"): (DENIED, OWN, DENIED, OWN, EVERYTHING),
    ("threads", "read"): (DENIED, OWN, NONE, OWN, EVERYTHING),
    ("threads", "update"): (DENIED, OWN, DENIED, OWN, EVERYTHING),
    ("threads", "delete"): (DENIED, OWN, DENIED, OWN, EVERYTHING),
    ("threads", "search"): (DENIED, OWN, WAITING, OWN_OR_WAITING, EVERYTHING),
    # Runs are the door's; the table lets nobody but operators start one past it.
    ("threads", "create_run"): (DENIED, DENIED, DENIED, DENIED, EVERYTHING),
    ("assistants", "create"): (FILES, FILES, FILES, FILES, KINDS),
    # A schedule runs as whoever made it; the door has checked that the assistant is of its tenant.
    ("assistants", "read"): (ANY_CHANNEL, CHANNELS, DENIED, CHANNELS, KINDS),
    ("assistants", "update"): (FILES, FILES, FILES, FILES, KINDS),
    ("assistants", "delete"): (FILES, FILES, FILES, FILES, KINDS),
    ("assistants", "search"): (DENIED, CHANNELS, DENIED, CHANNELS, KINDS),
    ("crons", "create"): (DENIED, FILES, DENIED, FILES, EVERYTHING),
    ("crons", "read"): (DENIED, TENANT, DENIED, TENANT, EVERYTHING),
    ("crons", "update"): (DENIED, FILES, DENIED, FILES, EVERYTHING),
    ("crons", "delete"): (DENIED, FILES, DENIED, FILES, EVERYTHING),
    ("crons", "search"): (DENIED, TENANT, DENIED, TENANT, EVERYTHING),
    ("store", "put"): (DENIED, EVERYTHING, DENIED, EVERYTHING, EVERYTHING),
    ("store", "get"): (DENIED, EVERYTHING, DENIED, EVERYTHING, EVERYTHING),
    ("store", "search"): (DENIED, EVERYTHING, DENIED, EVERYTHING, EVERYTHING),
    ("store", "delete"): (DENIED, EVERYTHING, DENIED, EVERYTHING, EVERYTHING),
    ("store", "list_namespaces"): (DENIED, EVERYTHING, DENIED, EVERYTHING, EVERYTHING),
}

PLAIN: Mapping[str, Mapping[str, Any]] = {"create": {"metadata": {}}, "update": {"metadata": {"title": "x"}}}
CASES = [
    pytest.param(
        resource,
        action,
        roles,
        row[min(column, 4)],
        id=f"{resource}-{action}-{'+'.join(sorted(roles)) or 'nobody'}",
    )
    for (resource, action), row in TABLE.items()
    for column, roles in enumerate(COLUMNS)
]


def person(*roles: str, tenant: str = "acme", user: str = "u1") -> Principal:
    return Principal(tenant, user, frozenset(roles))


def verdict(resource: str, action: str, who: Principal) -> Verdict:
    match resource:
        case "threads":
            return access.threads(who, action, PLAIN.get(action, {}))
        case "assistants":
            return access.assistants(who, action)
        case "crons":
            return access.crons(who, action)
        case _:
            return access.store(who)


def server_actions() -> set[tuple[str, str]]:
    """Every resource and action that the server's SDK can ask about."""
    on = Auth().on
    found: set[tuple[str, str]] = set()
    for resource in ("assistants", "threads", "crons", "store"):
        part = getattr(on, resource)
        actions = (getattr(getattr(part, name), "action", None) for name in dir(part) if name[0] != "_")
        found |= {(resource, action) for action in actions if isinstance(action, str)}
    return found


def test_the_table_has_every_action_of_the_server_and_every_set_of_roles() -> None:
    assert server_actions() == set(TABLE)
    subsets = {frozenset(chosen) for size in range(4) for chosen in itertools.combinations(ALL, size)}
    assert set(COLUMNS) == subsets
    assert len(CASES) == 21 * 8


@pytest.mark.parametrize(("resource", "action", "roles", "expected"), CASES)
def test_access(resource: str, action: str, roles: frozenset[str], expected: Verdict) -> None:
    assert verdict(resource, action, person(*roles)) == expected


@pytest.mark.parametrize("roles", COLUMNS[:4], ids=lambda roles: "+".join(sorted(roles)))
@pytest.mark.parametrize("action", ["", "create_run", "CREATE", "copy", "prune", "*"])
def test_an_action_on_threads_that_is_not_in_the_table_is_denied(roles: frozenset[str], action: str) -> None:
    assert access.threads(person(*roles), action, {"metadata": {}}) == DENIED


@pytest.mark.parametrize("roles", COLUMNS[:4], ids=lambda roles: "+".join(sorted(roles)))
def test_an_unknown_action_elsewhere_is_refused_too(roles: frozenset[str]) -> None:
    assert isinstance(access.assistants(person(*roles), "set_latest"), Refused)
    assert isinstance(access.crons(person(*roles), "trigger"), Refused)


def test_a_filter_names_the_caller_and_nobody_else() -> None:
    other = person("user", tenant="globex", user="u9")
    assert access.threads(other, "read", {}) == Allowed({"tenant": "globex", "owner": "globex/u9"})
    assert access.assistants(other, "read") == Allowed({"tenant": "globex", "kind": "channel"})
    assert access.crons(other, "read") == Allowed({"tenant": "globex"})


def test_two_verdicts_share_no_filter() -> None:
    """The server may change what it gets; the next caller must not see that."""
    for ask in (
        lambda: access.threads(person("operator"), "read", {}),
        lambda: access.assistants(person("operator"), "read"),
        lambda: access.store(person("user")),
        lambda: access.threads(person("approver"), "search", {}),
        lambda: access.threads(person("user", "approver"), "read", {}),
    ):
        first = ask()
        assert isinstance(first, Allowed)
        before = dict(first.filter)
        first.filter["tenant"] = "globex"
        assert ask() == Allowed(before)


def test_ownership_is_the_tenant_and_the_identity() -> None:
    assert ownership(person("user")) == {"tenant": "acme", "owner": "acme/u1"}


# What even the owner of a thread may not do


def test_a_user_cannot_copy_a_thread_past_the_mark_of_its_owner() -> None:
    found = access.threads(person("user"), "create", {"thread_id": "t"})
    assert found == Refused(403, "Copying a thread belongs to operators.")
    assert access.threads(person("operator"), "create", {"thread_id": "t"}) == EVERYTHING


def test_a_user_cannot_write_a_thread_s_state() -> None:
    found = access.threads(person("user"), "update", {"thread_id": "t"})
    assert isinstance(found, Refused)
    assert (found.status, "Writing a thread's state belongs to operators" in found.detail) == (403, True)
    assert access.threads(person("operator"), "update", {"thread_id": "t"}) == EVERYTHING


def test_a_user_may_cancel_runs() -> None:
    value = {"thread_id": "t", "action": "interrupt", "metadata": {"run_ids": ["r"], "status": None}}
    assert access.threads(person("user"), "update", value) == OWN
    assert access.threads(person("user"), "update", {"thread_id": "t", "action": "rollback"}) == OWN


@pytest.mark.parametrize("key", ["tenant", "owner", "pin", "assistant_id", "graph_id", "waiting"])
def test_a_user_cannot_write_metadata_that_the_server_relies_on(key: str) -> None:
    values: tuple[object, ...] = ("globex", None, "", {})
    for value in values:
        found = access.threads(person("user"), "update", {"metadata": {"title": "x", key: value}})
        assert found == Refused(403, f"The server alone writes the metadata key {key!r} of a thread.")
    assert access.threads(person("operator"), "update", {"metadata": {key: "globex"}}) == EVERYTHING


def test_the_reserved_keys_are_the_ones_above() -> None:
    assert {"tenant", "owner", "pin", "assistant_id", "graph_id", "waiting"} == access.RESERVED_THREAD_KEYS


@pytest.mark.parametrize("metadata", [None, {}, {"title": "Order 1001"}, {"Tenant": "x"}, {"tenants": "x"}])
def test_a_user_may_write_other_metadata(metadata: dict[str, str] | None) -> None:
    assert access.threads(person("user"), "update", {"metadata": metadata}) == OWN


@pytest.mark.parametrize("action", ["read", "delete", "search"])
def test_reading_and_deleting_do_not_depend_on_the_value(action: str) -> None:
    for value in ({}, {"metadata": {"tenant": "globex"}}, {"thread_ids": ["t"]}):
        assert access.threads(person("user"), action, value) == OWN


# Who answers


def test_a_waiting_thread_of_the_tenant_is_read_by_its_approvers_and_nobody_else() -> None:
    def read(*roles: str) -> Verdict:
        return access.threads(person(*roles), "read", {}, waiting=True)

    assert read("approver") == read("user", "approver") == TENANT
    assert (read("user"), read(), read("operator")) == (OWN, DENIED, EVERYTHING)


@pytest.mark.parametrize("action", ["create", "update", "delete", "create_run", "copy", ""])
def test_a_waiting_thread_lets_an_approver_do_nothing_but_read(action: str) -> None:
    for waiting in (True, False):
        assert access.threads(person("approver"), action, {"metadata": {}}, waiting=waiting) == DENIED


@pytest.mark.parametrize("action", ["create", "update", "delete"])
def test_a_seat_writes_the_own_threads_only_even_where_another_s_waits(action: str) -> None:
    both = person("user", "approver")
    assert access.threads(both, action, PLAIN.get(action, {}), waiting=True) == OWN


def test_an_approver_s_run_may_use_the_tenant_s_assistant_that_it_resumes() -> None:
    assert access.assistants(person("approver"), "read", starting=True) == CHANNELS
    for action in ("search", "create", "update", "delete"):
        assert isinstance(access.assistants(person("approver"), action, starting=True), Refused)
    assert access.assistants(person(), "search", starting=True) == DENIED


# The store

words = st.text(min_size=1, max_size=6)


def test_a_namespace_lies_in_the_caller_s_own_space() -> None:
    who = person("user")
    assert namespace(who, ()) == ("acme", "u1")
    assert namespace(who, ("notes",)) == ("acme", "u1", "notes")
    assert namespace(who, ("acme", "u1", "notes")) == ("acme", "u1", "notes")
    assert namespace(who, ("acme", "u1")) == ("acme", "u1")


@pytest.mark.parametrize(
    "asked", [("acme", "u2"), ("globex", "u1"), ("acme",), ("u1", "acme"), ("acme/u1",), ("ACME", "u1")]
)
def test_another_space_is_only_a_folder_in_one_s_own(asked: tuple[str, ...]) -> None:
    assert namespace(person("user"), asked) == ("acme", "u1", *asked)


@given(asked=st.lists(words, max_size=5))
def test_no_namespace_leaves_the_caller_s_space_and_naming_it_again_changes_nothing(asked: list[str]) -> None:
    who = person("user")
    found = namespace(who, tuple(asked))
    assert found[:2] == ("acme", "u1")
    assert namespace(who, found) == found


@given(one=words, other=words)
def test_two_users_never_share_a_label(one: str, other: str) -> None:
    assert (label(one) == label(other)) is (one == other)


@given(text=st.text())
def test_a_label_has_no_dot(text: str) -> None:
    assert "." not in label(text)
    assert "*" not in label(text), "the server reads it as any label"


@pytest.mark.parametrize(
    ("user", "written"),
    [
        ("ann@acme.com", "ann@acme%2Ecom"),
        ("a%2Eb", "a%252Eb"),
        ("plain", "plain"),
        (".", "%2E"),
        ("*", "%2A"),
    ],
)
def test_dots_and_percent_signs_are_written_as_escapes(user: str, written: str) -> None:
    assert label(user) == written
    assert namespace(person("user", user=user), ("x",)) == ("acme", written, "x")
