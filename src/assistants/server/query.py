"""A request's query, read strictly: what is wrong is told with its name, what was expected and an example."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse

from assistants.errors import SignalboxError
from assistants.loading import duration
from assistants.loading.fields import slug
from assistants.loading.suggestion import did_you_mean
from assistants.loading.wording import shown
from assistants.principal import Principal, principal
from assistants.server.access import Refused

_LARGEST: Final = 2**63 - 1  # what a database counts up to
_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 9999
_MOMENT: Final = "24h, 7d, 2026-03-01 or 2026-03-01T08:00:00Z"

Value = TypeVar("Value")


class QueryRefused(SignalboxError):
    """The request's parameters are wrong."""


class Query:
    """The parameters of one request; what is wrong with them is collected until `require_sound`.

    Args:
        given: Names and values as they came.
        known: The names that the route takes; another one, or one that comes twice, is a problem.
    """

    def __init__(self, given: Iterable[tuple[str, str]], *, known: Collection[str]) -> None:
        self._values: dict[str, str] = {}
        self._problems: list[str] = []
        for name, value in given:
            if name not in known:
                self._problems.append(f"Parameter {shown(name)} is not known{did_you_mean(name, known)}")
            elif name in self._values:
                self._problems.append(f"Parameter {name!r} comes more than once; expected it once")
            self._values.setdefault(name, value)

    def has(self, name: str) -> bool:
        """Whether the parameter was given, rightly or wrongly."""
        return name in self._values

    def read(self, name: str, parse: Callable[[str], Value], *, expected: str, example: str) -> Value | None:
        """A parameter as `parse` makes it; `None` where it is not given or `parse` raises `ValueError`."""
        if not self.has(name):
            return None
        try:
            return parse(self._values[name])
        except ValueError:
            value = shown(self._values[name])
            self.complain(f"Parameter {name!r} is {value}; expected {expected}; for example {name}={example}")
            return None

    def matching(self, name: str, pattern: str, *, expected: str, example: str) -> str | None:
        """A parameter that matches the whole of a regular expression."""
        return self.read(name, lambda text: _matching(text, pattern), expected=expected, example=example)

    def tenant(self) -> str | None:
        """The parameter `tenant`, a slug."""
        return self.read("tenant", slug, expected="a tenant's slug", example="acme")

    def number(self, name: str, *, least: int, most: int = _LARGEST, example: int) -> int | None:
        """A whole number within bounds."""
        limits = f"from {least} to {most}" if most < _LARGEST else f"of {least} or more"
        return self.read(
            name,
            lambda text: _number(text, least=least, most=most),
            expected=f"a whole number {limits}",
            example=str(example),
        )

    def moment(self, name: str, *, now: datetime) -> datetime | None:
        """A moment, aware and in UTC (`moment`)."""
        return self.read(
            name,
            lambda text: moment(text, now=now),
            expected="an ISO 8601 time, or a duration back from now of at most 366d",
            example=_MOMENT,
        )

    def complain(self, problem: str) -> None:
        """Add a problem: a sentence without its full stop."""
        self._problems.append(problem)

    def require_sound(self) -> None:
        """Raise if there was a problem.

        Raises:
            QueryRefused: All problems at once, a sentence each.
        """
        if self._problems:
            raise QueryRefused(" ".join(_sentence(problem) for problem in self._problems))


def moment(text: str, *, now: datetime) -> datetime:
    """A time, or how long before `now` it was; in UTC. A time without a zone is meant in UTC.

    Raises:
        ValueError: It is neither, or before 1970.
    """
    if re.fullmatch(duration.PATTERN, text):
        return now.astimezone(UTC) - timedelta(seconds=duration.seconds(text))
    parsed = datetime.fromisoformat(text)
    zoned = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
    if not _FIRST_YEAR <= zoned.year < _LAST_YEAR:  # in the last year, UTC may be past the end
        raise ValueError(text)
    return zoned.astimezone(UTC)


def caller(request: Request) -> Principal:
    """Who asks, as the server has authenticated them."""
    return principal(request.user.identity, request.auth.scopes)


def refusal(refused: Refused | QueryRefused) -> JSONResponse:
    """The answer to a request that is not served: `{"detail": "…"}`, as the server's own routes say it."""
    status = refused.status if isinstance(refused, Refused) else 422
    return JSONResponse({"detail": refused.detail}, status_code=status)


def _matching(text: str, pattern: str) -> str:
    if not re.fullmatch(pattern, text):
        raise ValueError(text)
    return text


def _number(text: str, *, least: int, most: int) -> int:
    if not re.fullmatch("[0-9]{1,19}", text) or not least <= int(text) <= most:
        raise ValueError(text)
    return int(text)


def _sentence(problem: str) -> str:
    return problem if problem.endswith("?") else f"{problem}."
