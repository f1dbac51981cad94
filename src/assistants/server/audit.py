"""`GET /ops/audit` and `GET /ops/audit/verify`: who decided what, and whether the record is whole (B-121)."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from agent.ledger import AuditFilter, Broken, Entry, Head, Intact
from agent.ledger.chain import GENESIS, START, Reason, timestamp
from agent.tools.shipped import ledger
from assistants.principal import Principal
from assistants.server.access import Refused
from assistants.server.query import Query, QueryRefused, caller, refusal
from assistants.server.usage import stranger

NDJSON: Final = "application/x-ndjson"
"""The media type of an export: one entry a line."""

_KNOWN: Final = (
    *("tenant", "action", "actor", "assistant", "thread", "turn"),
    *("since", "until", "after", "limit"),
)
_MOST: Final = 1000
_CODE: Final = "[!-~]{1,200}"
_ID: Final = ".{1,1000}"
_EXAMPLES: Final = {"actor": "acme/ann", "assistant": "support", "thread": "a thread's id", "turn": "m1"}

_ROLES: Final = Refused(403, "Reading the audit belongs to approvers and operators; ask one of them.")
_FOREIGN: Final = Refused(
    403, "You may read your own organisation's audit only; leave the parameter 'tenant' out."
)
_SENTENCES: Final[dict[Reason, str]] = {
    "missing": "Entry {seq} is missing: it was removed, or the chain was cut off before it.",
    "altered": "Entry {seq} is not what was written: it was changed, moved or put in.",
    "not_the_head": "Entry {seq} is not the one that was the head: the chain was written anew up to it.",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request for entries: whose, and which."""

    tenant: str
    entries: AuditFilter


@dataclass(frozen=True, slots=True)
class Check:
    """A request to verify a chain: whose, and the head that was remembered elsewhere, if one was."""

    tenant: str
    remembered: Head | None = None


def forbidden(who: Principal, tenants: Iterable[str]) -> Refused | None:
    """Why somebody may not read the audit of these tenants.

    Operators may read everybody's, approvers their own tenant's, others none. A tenant that does not exist is
    refused in the same words as one that does.
    """
    if who.operator:
        return None
    if "approver" not in who.roles:
        return _ROLES
    return _FOREIGN if any(tenant != who.tenant for tenant in tenants) else None


def wanted(given: Iterable[tuple[str, str]], who: Principal, *, now: datetime) -> Wanted:
    """What a request asks for.

    Raises:
        QueryRefused: Parameters are wrong, or an operator does not say whose audit.
    """
    query = Query(given, known=_KNOWN)
    tenant = _tenant(query, who)
    expected = "a code such as tool.denied, or its beginning with a dot at the end"
    found = AuditFilter(
        action=query.matching("action", _CODE, expected=expected, example="tool."),
        since=query.moment("since", now=now),
        until=query.moment("until", now=now),
        after=query.number("after", least=0, example=200) or 0,
        limit=query.number("limit", least=1, most=_MOST, example=200) or AuditFilter().limit,
        **{
            name: query.matching(name, _ID, expected="an id or a name", example=example)
            for name, example in _EXAMPLES.items()
        },
    )
    if found.since is not None and found.until is not None and found.since >= found.until:
        query.complain("Parameter 'since' is not before 'until'; expected a period; for example since=7d")
    query.require_sound()
    return Wanted(tenant, found)


def check(given: Iterable[tuple[str, str]], who: Principal) -> Check:
    """Which chain a request wants verified, and against which remembered head.

    Raises:
        QueryRefused: Parameters are wrong, or an operator does not say whose audit.
    """
    query = Query(given, known=("tenant", "seq", "hash"))
    tenant = _tenant(query, who)
    seq = query.number("seq", least=0, example=5)
    digest = query.matching("hash", "[0-9a-f]{64}", expected="64 hexadecimal digits", example=GENESIS)
    query.require_sound()
    if (seq is None) != (digest is None) or (seq == 0 and digest != GENESIS):
        query.complain(
            "Parameters 'seq' and 'hash' are not a head; expected both as they were printed, "
            f"or neither; for example seq=0&hash={GENESIS}"
        )
    query.require_sound()
    return Check(tenant, None if seq is None or digest is None else Head(seq, digest))


def _tenant(query: Query, who: Principal) -> str:
    asked = query.tenant()
    if not who.operator:
        return who.tenant
    if not query.has("tenant"):
        query.complain("Parameter 'tenant' is missing; an operator says whose audit; for example tenant=acme")
    return asked or ""


def page(asked: Wanted, found: Sequence[Entry]) -> dict[str, Any]:
    """One page as JSON, given one entry more than it holds where there is one.

    `next` is what to ask for with `after` to get the page that follows, `null` at the end. `since` and
    `until` are the moments that durations stood for.
    """
    entries, limit = found[: asked.entries.limit], asked.entries.limit
    return {
        "tenant": asked.tenant,
        "since": None if asked.entries.since is None else timestamp(asked.entries.since),
        "until": None if asked.entries.until is None else timestamp(asked.entries.until),
        "entries": [asdict(entry) for entry in entries],
        "next": entries[-1].seq if len(found) > limit else None,
    }


def verdict(tenant: str, outcome: Intact | Broken) -> dict[str, Any]:
    """The outcome of a verification as JSON: `intact` with count and head, or `broken` with where and why."""
    if isinstance(outcome, Intact):
        return {
            "tenant": tenant,
            "verdict": "intact",
            "count": outcome.count,
            "head": asdict(outcome.head),
        }
    detail = _SENTENCES[outcome.reason].format(seq=outcome.seq)
    return {"tenant": tenant, "verdict": "broken", **asdict(outcome), "detail": detail}


def exported(accept: str) -> bool:
    """Whether an `Accept` header asks for an export instead of a page."""
    return NDJSON in {part.partition(";")[0].strip().lower() for part in accept.split(",")}


async def audit(request: Request) -> Response:
    """A tenant's audit entries, oldest first.

    ---
    summary: Audit entries, oldest first
    description: >-
      A page as JSON; with 'Accept: application/x-ndjson' all pages, one entry a line. Operators name the
      tenant, approvers read their own tenant's. An entry's hash is sha256 over the RFC 8785 form of its
      other fields.
    parameters:
      - {name: tenant, in: query, schema: {type: string}}
      - {name: action, in: query, schema: {type: string}}
      - {name: actor, in: query, schema: {type: string}}
      - {name: assistant, in: query, schema: {type: string}}
      - {name: thread, in: query, schema: {type: string}}
      - {name: turn, in: query, schema: {type: string}}
      - {name: since, in: query, schema: {type: string}}
      - {name: until, in: query, schema: {type: string}}
      - {name: after, in: query, schema: {type: integer, minimum: 0, default: 0}}
      - {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 1000, default: 200}}
    responses:
      "200": {description: A page or an export}
      "403": {description: The caller may not read this audit}
      "422": {description: A parameter is wrong}
    """
    who, given = caller(request), request.query_params
    refused = forbidden(who, given.getlist("tenant"))
    if refused is not None:
        return refusal(refused)
    try:
        asked = wanted(given.multi_items(), who, now=datetime.now(UTC))
    except QueryRefused as wrong:
        return refusal(wrong)
    found = await _read(asked)
    unknown = None if found else await _stranger(asked.tenant)
    if unknown is not None:
        return refusal(unknown)
    if exported(request.headers.get("accept", "")):
        return StreamingResponse(_lines(asked, found), media_type=NDJSON)
    return _json(page(asked, found))


async def verify(request: Request) -> Response:
    """Whether a tenant's audit chain is whole and unchanged.

    ---
    summary: Verify a tenant's audit chain
    description: >-
      With 'seq' and 'hash' a head that was remembered elsewhere is checked too; without one, a chain that
      was cut or written anew together with its stored head looks intact.
    parameters:
      - {name: tenant, in: query, schema: {type: string}}
      - {name: seq, in: query, schema: {type: integer, minimum: 0}}
      - {name: hash, in: query, schema: {type: string}}
    responses:
      "200": {description: Intact or broken}
      "403": {description: The caller may not read this audit}
      "422": {description: A parameter is wrong}
    """
    who, given = caller(request), request.query_params
    refused = forbidden(who, given.getlist("tenant"))
    if refused is not None:
        return refusal(refused)
    try:
        asked = check(given.multi_items(), who)
    except QueryRefused as wrong:
        return refusal(wrong)
    outcome = await ledger.audit.verify(asked.tenant, remembered=asked.remembered)
    unknown = stranger(asked.tenant) if outcome == Intact(0, START) else None
    return _json(verdict(asked.tenant, outcome)) if unknown is None else refusal(unknown)


async def _read(asked: Wanted) -> list[Entry]:
    """A page's entries, and one more where there is one."""
    return await ledger.audit.read(asked.tenant, replace(asked.entries, limit=asked.entries.limit + 1))


async def _lines(asked: Wanted, found: list[Entry]) -> AsyncGenerator[str]:
    """Every entry from the page `found` on, a line each."""
    while found:
        entries = found[: asked.entries.limit]
        yield "".join(f"{json.dumps(asdict(entry))}\n" for entry in entries)
        if len(found) <= asked.entries.limit:
            return
        asked = replace(asked, entries=replace(asked.entries, after=entries[-1].seq))
        found = await _read(asked)


async def _stranger(tenant: str) -> Refused | None:
    unknown = stranger(tenant)
    return unknown if unknown is not None and await ledger.audit.head(tenant) == START else None


def _json(value: dict[str, Any]) -> Response:
    # In ASCII: a tampered entry can hold bytes that are no text, which have no form in UTF-8.
    return Response(json.dumps(value), media_type="application/json")
