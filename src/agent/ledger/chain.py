"""The audit chain: each entry carries the hash of the one before, so that history cannot be rewritten.

An entry's hash is sha256 over the RFC 8785 form of all its other fields, `prev` included. A chain holds ids,
codes and digests, never message text, so that erasing a person's messages never breaks it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, Literal

import rfc8785

from agent.ledger.identity import stored
from agent.ledger.spend import LedgerRefused

Fact = str | int | bool | None
Reason = Literal["missing", "altered", "not_the_head"]

GENESIS: Final = "0" * 64
"""What the first entry names as the one before it."""

_CODE: Final = re.compile(r"[!-~]{0,200}")
_TIME: Final = "%Y-%m-%dT%H:%M:%S.%fZ"


@dataclass(frozen=True, slots=True)
class Event:
    """What happened, before it has its place in a chain.

    `action` is a dotted code such as `tool.denied`, `actor` is `tenant/user`. The values of `facts` are
    numbers, truths, or ids, names, codes and digests without blanks.
    """

    action: str
    actor: str
    assistant: str = ""
    release: str = ""
    thread: str = ""
    turn: str = ""
    run: str = ""
    facts: Mapping[str, Fact] = field(default_factory=dict[str, Fact])


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a tenant's chain, each field as the text that was hashed.

    `seq` counts from 1, `at` is UTC with microseconds (ISO 8601, `Z`), `facts` is canonical JSON.
    """

    tenant: str
    seq: int
    at: str
    action: str
    actor: str
    assistant: str
    release: str
    thread: str
    turn: str
    run: str
    facts: str
    prev: str
    hash: str

    @property
    def moment(self) -> datetime:
        """When it happened, aware."""
        return datetime.strptime(self.at, _TIME).replace(tzinfo=UTC)

    @property
    def values(self) -> dict[str, Fact]:
        """The facts, parsed."""
        return json.loads(self.facts)


@dataclass(frozen=True, slots=True)
class Head:
    """The last entry of a chain at some moment; kept elsewhere, it proves that nothing was cut off."""

    seq: int
    hash: str


@dataclass(frozen=True, slots=True)
class Intact:
    """The chain holds: `count` entries, the last one being `head`."""

    count: int
    head: Head


@dataclass(frozen=True, slots=True)
class Broken:
    """The chain does not hold from entry `seq` on."""

    seq: int
    reason: Reason


START: Final = Head(0, GENESIS)


def timestamp(moment: datetime) -> str:
    """An aware moment as the chain writes it; equal lengths, so text order is time order."""
    return moment.astimezone(UTC).strftime(_TIME)


def extend(head: Head, event: Event, *, tenant: str, now: datetime) -> Entry:
    """The entry that follows `head`.

    Raises:
        LedgerRefused: The action or a fact could be text of a message.
    """
    _require_codes(event)
    entry = Entry(
        tenant=stored(tenant),
        seq=head.seq + 1,
        at=timestamp(now),
        action=event.action,
        actor=stored(event.actor),
        assistant=stored(event.assistant),
        release=stored(event.release),
        thread=stored(event.thread),
        turn=stored(event.turn),
        run=stored(event.run),
        facts=rfc8785.dumps(dict(event.facts)).decode(),
        prev=head.hash,
        hash="",
    )
    return replace(entry, hash=entry_hash(entry))


def code(text: str) -> str:
    """The text if it can stand among an event's facts, else `sha256:` and its digest."""
    if _CODE.fullmatch(text):
        return text
    return f"sha256:{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()}"


def entry_hash(entry: Entry) -> str:
    """sha256 (hexadecimal) over the RFC 8785 form of an entry without its hash; `facts` counts as text."""
    body = asdict(entry)
    del body["hash"]
    return hashlib.sha256(rfc8785.dumps(body)).hexdigest()


def follow(
    position: Head, entries: Iterable[Entry], *, tenant: str, heads: Collection[Head]
) -> Head | Broken:
    """The position after `entries`, which must follow `position` without a gap and agree with `heads`."""
    for entry in entries:
        broken = _fault(position, entry, tenant=stored(tenant), heads=heads)
        if broken is not None:
            return broken
        position = Head(entry.seq, entry.hash)
    return position


def finish(position: Head, *, heads: Collection[Head]) -> Intact | Broken:
    """The verdict over a chain that ends at `position`; a head beyond it means that entries are gone."""
    if any(head.seq > position.seq for head in heads):
        return Broken(position.seq + 1, "missing")
    return Intact(position.seq, position)


def _fault(position: Head, entry: Entry, *, tenant: str, heads: Collection[Head]) -> Broken | None:
    expected = position.seq + 1
    if entry.seq != expected:
        return Broken(expected, "missing")
    if entry.tenant != tenant or entry.prev != position.hash or not _unchanged(entry):
        return Broken(expected, "altered")
    if any(head.seq == entry.seq and head.hash != entry.hash for head in heads):
        return Broken(expected, "not_the_head")
    return None


def _unchanged(entry: Entry) -> bool:
    try:
        return entry.hash == entry_hash(entry)
    except ValueError:  # bytes that are no text have no canonical form
        return False


def _require_codes(event: Event) -> None:
    texts = {"action": event.action, **event.facts}
    for name, value in texts.items():
        if isinstance(value, str) and not _CODE.fullmatch(value):
            raise LedgerRefused(
                f"Audit field {name!r} of {event.action[:40]!r} is not an id, name, code or digest; put no "
                "text there, give its digest."
            )
