"""Access rules: what each kind of caller may do with each resource, as a pure table.

Nothing is allowed that the table does not allow. A rule answers with the metadata filter that the server
applies to whatever the action touches; an empty filter is the platform operator's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from assistants.principal import Principal

Resource = Literal["threads", "assistants", "crons", "store"]
Filter = dict[str, Any]

WAITING = "waiting"
"""The metadata key that marks the threads of a tenant that wait for a person (`inbox.refresh`)."""

RESERVED_THREAD_KEYS = frozenset({"tenant", "owner", "pin", "assistant_id", "graph_id", WAITING})
"""Thread metadata that the server alone writes."""

CHANNEL, RELEASE, FOREIGN = "channel", "release", "foreign"


@dataclass(frozen=True, slots=True)
class Allowed:
    """The action may go on, on what matches `filter`."""

    filter: Filter


@dataclass(frozen=True, slots=True)
class Refused:
    """The action may not go on: HTTP status and a sentence for the caller."""

    status: int
    detail: str


Verdict = Allowed | Refused

_FILES = Refused(
    403, "Assistants and schedules live in the catalog's files; change the file and apply it as an operator."
)
_DENIED = Refused(403, "Your roles do not allow this; ask an operator.")


def threads(who: Principal, action: str, value: Mapping[str, Any], *, waiting: bool = False) -> Verdict:
    """The rule for a thread (and its runs, state and checkpoints).

    Args:
        who: The caller.
        action: What is to be done.
        value: What the server shows of it.
        waiting: Whether the thread waits for a person of the caller's tenant; such threads an approver reads.
    """
    if who.operator:
        return Allowed({})
    if "approver" in who.roles and action in {"read", "search"}:
        return Allowed(_answerable(who, action, waiting=waiting))
    if "user" not in who.roles or action not in {"create", "read", "update", "delete", "search"}:
        return _DENIED
    return _beyond_own(action, value) or Allowed({**ownership(who)})


def _answerable(who: Principal, action: str, *, waiting: bool) -> Filter:
    """What an approver reads: what waits in the own tenant, and, with a seat, the own threads."""
    marked: Filter = {"tenant": who.tenant, WAITING: True}
    if action == "search":
        return {"$or": [{**ownership(who)}, marked]} if "user" in who.roles else marked
    if waiting:
        return {"tenant": who.tenant}
    # Of any other thread the server says in its own words that there is none: this matches no mark.
    return {**ownership(who)} if "user" in who.roles else {**marked, WAITING: "no"}


def _beyond_own(action: str, value: Mapping[str, Any]) -> Refused | None:
    """What even the owner of a thread may not do to it."""
    if action == "create" and "metadata" not in value:
        return Refused(403, "Copying a thread belongs to operators.")
    if action != "update":
        return None
    if "metadata" not in value and "action" not in value:
        return Refused(403, "Writing a thread's state belongs to operators; send a message instead.")
    taken = sorted(RESERVED_THREAD_KEYS.intersection(value.get("metadata") or ()))
    return (
        Refused(403, f"The server alone writes the metadata key {taken[0]!r} of a thread.") if taken else None
    )


def assistants(who: Principal, action: str, *, starting: bool = False) -> Verdict:
    """The rule for assistants: users see their tenant's channels, operators all but the server's own.

    Args:
        who: The caller.
        action: What is to be done.
        starting: Whether the server asks on behalf of a run that the door has just let in.
    """
    reading = action in {"read", "search"}
    if who.operator:
        kinds = [{"kind": kind} for kind in (CHANNEL, RELEASE, FOREIGN)]
        return Allowed({"$or": kinds})
    if who.unattended and action == "read":
        # A schedule runs as whoever created it, an operator of any tenant; the door has checked that the
        # assistant is the schedule's own, and the server asks here once more.
        return Allowed({"kind": CHANNEL})
    answering = starting and action == "read" and "approver" in who.roles
    if reading and ("user" in who.roles or answering):
        return Allowed({"tenant": who.tenant, "kind": CHANNEL})
    return _DENIED if reading else _FILES


def crons(who: Principal, action: str) -> Verdict:
    """The rule for crons: users see their tenant's, operators write them."""
    if who.operator:
        return Allowed({})
    if action in {"read", "search"} and "user" in who.roles:
        return Allowed({"tenant": who.tenant})
    return _FILES if "user" in who.roles else _DENIED


def store(who: Principal) -> Verdict:
    """The rule for the store: everybody with a seat has a space of their own (`namespace`)."""
    return Allowed({}) if who.operator or "user" in who.roles else _DENIED


def ownership(who: Principal) -> dict[str, str]:
    """The metadata that marks a thread as this person's."""
    return {"tenant": who.tenant, "owner": who.identity}


def namespace(who: Principal, asked: tuple[str, ...]) -> tuple[str, ...]:
    """The store namespace `(tenant, user, …)` for what a client asked for.

    A namespace that already starts with the caller's own space stays as it is, so that what
    `list_namespaces` returned can be used again.
    """
    space = (who.tenant, label(who.user))
    return asked if asked[:2] == space else (*space, *asked)


def label(text: str) -> str:
    """The text as one namespace label: labels hold no dot and `*` is any label, so both are hex escapes."""
    return text.replace("%", "%25").replace(".", "%2E").replace("*", "%2A")
