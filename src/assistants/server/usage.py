"""`GET /ops/usage`: what was used and how it went, by tenant, assistant and release (B-122)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse

from agent.ledger import Period, Summary
from agent.ledger.chain import timestamp
from agent.ledger.spend import MICROS
from agent.tools.shipped import ledger
from assistants.principal import PLATFORM, Principal
from assistants.server.access import Refused
from assistants.server.deployment import deployment
from assistants.server.query import Query, QueryRefused, caller, refusal

_KNOWN: Final = ("since", "until", "tenant", "assistant", "release")
_DEFAULT: Final = timedelta(hours=24)
_NAME: Final = "[a-z0-9][a-z0-9-]{0,62}"
_RELEASE: Final = "[0-9a-f]{64}|r-[0-9a-f]{6,64}"
_GROUP: Final = ("tenant", "assistant", "release")
_COUNTS: Final = tuple(field.name for field in fields(Summary) if field.name not in {*_GROUP, "p95_ms"})

_ROLES: Final = Refused(403, "Your roles do not allow this; ask an operator.")
_FOREIGN: Final = Refused(
    403, "You may read your own organisation's figures only; leave the parameter 'tenant' out."
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request for figures: of which period, and of which releases.

    `release` is how a release's digest begins; the whole digest, or the digits that `r-…` shows of it.
    """

    period: Period
    release: str = ""

    def matches(self, summary: Summary) -> bool:
        """Whether these are figures that were asked for."""
        return summary.release.startswith(self.release)


def forbidden(who: Principal, tenants: Iterable[str]) -> Refused | None:
    """Why somebody may not read the figures of these tenants; operators may read everybody's.

    A tenant that does not exist is refused in the same words as one that does.
    """
    if who.operator:
        return None
    if not who.roles:
        return _ROLES
    return _FOREIGN if any(tenant != who.tenant for tenant in tenants) else None


def wanted(given: Iterable[tuple[str, str]], who: Principal, *, now: datetime) -> Wanted:
    """What a request asks for; by default the last 24 hours, and of operators every tenant.

    Raises:
        QueryRefused: Parameters are wrong.
    """
    query = Query(given, known=_KNOWN)
    until = query.moment("until", now=now) or now
    since = query.moment("since", now=now) or until - _DEFAULT
    tenant = query.tenant()
    assistant = query.matching(
        "assistant", _NAME, expected="an assistant's name without its tenant", example="support"
    )
    release = query.matching(
        "release",
        _RELEASE,
        expected="64 hexadecimal digits, or r- and the first 6 or more",
        example="r-3f9a1c",
    )
    if since >= until:
        query.complain("Parameter 'since' is not before 'until'; expected a period; for example since=7d")
    query.require_sound()
    tenant = tenant if who.operator else who.tenant
    return Wanted(Period(since, until, tenant, assistant), (release or "").removeprefix("r-"))


def report(rows: Sequence[Summary], period: Period) -> dict[str, Any]:
    """The figures as JSON: each row, and totals over all of them.

    Totals are sums of the rows, and each call is in one row: nothing that encloses a call is added to it. A
    turn that went on under another release has a row in both. Percentiles do not add up, so totals have none.
    """
    return {
        "since": timestamp(period.since),
        "until": timestamp(period.until),
        "rows": [row(summary) for summary in rows],
        "totals": totals(rows),
    }


def row(summary: Summary) -> dict[str, Any]:
    """One row: its tenant, assistant and release, the figures, and `p95_ms` by node."""
    named = {name: getattr(summary, name) for name in _GROUP}
    return {**named, **_figures(summary), "p95_ms": dict(summary.p95_ms)}


def totals(rows: Iterable[Summary]) -> dict[str, Any]:
    """The figures of all rows together."""
    sums = dict.fromkeys(_COUNTS, 0)
    for summary in rows:
        sums = {name: amount + getattr(summary, name) for name, amount in sums.items()}
    return _figures(Summary(tenant="", assistant="", release="", p95_ms={}, **sums))


def usd(micros: int) -> str:
    """Micro-dollars, 0 or more, as dollars with six decimals."""
    return f"{micros // MICROS}.{micros % MICROS:06d}"


def _figures(summary: Summary) -> dict[str, Any]:
    counts = {name: value for name, value in asdict(summary).items() if name in _COUNTS}
    return {**counts, "usd": usd(summary.micros), "approval_rate": summary.approval_rate}


async def usage(request: Request) -> JSONResponse:
    """What was used and how it went, by tenant, assistant and release.

    ---
    summary: Usage by tenant, assistant and release
    description: >-
      Operators read every tenant's figures, everybody else their own tenant's. Times are ISO 8601 or
      durations back from now such as 7d.
    parameters:
      - {name: since, in: query, schema: {type: string, default: 24h}}
      - {name: until, in: query, schema: {type: string}}
      - {name: tenant, in: query, schema: {type: string}}
      - {name: assistant, in: query, schema: {type: string}}
      - {name: release, in: query, schema: {type: string}}
    responses:
      "200": {description: Rows and totals}
      "403": {description: The tenant is not the caller's}
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
    rows = [one for one in await ledger.usage.summary(asked.period) if asked.matches(one)]
    unknown = None if rows else stranger(asked.period.tenant)
    return JSONResponse(report(rows, asked.period)) if unknown is None else refusal(unknown)


def stranger(tenant: str | None) -> Refused | None:
    """What to tell an operator of a tenant that is not in the catalog and of which nothing was found."""
    known = deployment().catalog.tenants
    if tenant is None or tenant == PLATFORM or tenant in known:
        return None
    listed = ", ".join(known)
    return Refused(404, f"Nothing is known of tenant {tenant!r}; the catalog has {listed}.")
