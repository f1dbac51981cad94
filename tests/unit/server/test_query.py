"""Reading a request's parameters strictly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from assistants.server.access import Refused
from assistants.server.query import Query, QueryRefused, moment, refusal

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
KNOWN = ("tenant", "since", "limit", "action")


def query(**given: str) -> Query:
    return Query(given.items(), known=KNOWN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30s", NOW - timedelta(seconds=30)),
        ("24h", NOW - timedelta(days=1)),
        ("366d", NOW - timedelta(days=366)),
        ("2026-02-01", datetime(2026, 2, 1, tzinfo=UTC)),
        ("20260201", datetime(2026, 2, 1, tzinfo=UTC)),
        ("2026-02-01T08:30", datetime(2026, 2, 1, 8, 30, tzinfo=UTC)),
        ("2026-02-01T08:30:00Z", datetime(2026, 2, 1, 8, 30, tzinfo=UTC)),
        ("2026-02-01T08:30:00.000001+02:00", datetime(2026, 2, 1, 6, 30, 0, 1, tzinfo=UTC)),
        ("1970-01-01", datetime(1970, 1, 1, tzinfo=UTC)),
        ("9998-12-31T23:59:59-23:59", datetime(9999, 1, 1, 23, 58, 59, tzinfo=UTC)),
    ],
)
def test_a_moment_is_a_time_or_a_duration_back(text: str, expected: datetime) -> None:
    found = moment(text, now=NOW.astimezone())
    assert (found, found.tzinfo) == (expected, UTC)


NO_MOMENTS = [
    *("", "soon", "7", "0h", "-1h", "7 d", "367d", "9999999d", "٣d", "7d\n", "\N{REPLACEMENT CHARACTER}"),
    *("2026-13-01", "2026-02-01T08:30:00 02:00", "1969-12-31"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"),
]
NO_NUMBERS = ["", "-1", "+1", "1.5", "1e3", "0x1", "٣", " 1", "9223372036854775808", "1" * 5000]


@pytest.mark.parametrize("text", NO_MOMENTS)
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        moment(text, now=NOW)
    asked = query(since=text)
    assert asked.moment("since", now=NOW) is None
    with pytest.raises(QueryRefused, match=r"^The request's parameters are wrong\. Parameter 'since' is "):
        asked.require_sound()


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("9223372036854775807", 2**63 - 1)])
def test_a_number_is_read(text: str, number: int) -> None:
    asked = query(limit=text)
    assert asked.number("limit", least=0, example=5) == number
    asked.require_sound()


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_is_refused(text: str) -> None:
    asked = query(limit=text)
    assert asked.number("limit", least=0, example=5) is None
    with pytest.raises(QueryRefused, match=r"expected a whole number of 0 or more; for example limit=5\.$"):
        asked.require_sound()


@pytest.mark.parametrize(("text", "sound"), [("0", False), ("1", True), ("1000", True), ("1001", False)])
def test_a_number_keeps_within_its_bounds(text: str, sound: bool) -> None:  # noqa: FBT001
    asked = query(limit=text)
    assert asked.number("limit", least=1, most=1000, example=200) == (int(text) if sound else None)
    if not sound:
        with pytest.raises(QueryRefused, match="a whole number from 1 to 1000; for example limit=200"):
            asked.require_sound()


def test_what_is_not_given_is_none_and_no_problem() -> None:
    asked = query()
    assert (asked.tenant(), asked.moment("since", now=NOW), asked.has("tenant")) == (None, None, False)
    assert asked.number("limit", least=0, example=1) is None
    assert asked.matching("action", "a", expected="a", example="a") is None
    asked.require_sound()


def test_a_pattern_holds_for_the_whole_value() -> None:
    for text in ("ab", "ba", "a\n"):
        asked = query(action=text)
        assert asked.matching("action", "a", expected="an a", example="a") is None
        assert asked.has("action")
    assert query(action="a").matching("action", "a", expected="an a", example="a") == "a"


def test_a_long_value_is_not_repeated_whole() -> None:
    asked = query(tenant="x" * 10_000)
    asked.tenant()
    with pytest.raises(QueryRefused) as caught:
        asked.require_sound()
    assert "x" * 50 in caught.value.detail
    assert len(caught.value.detail) < 200


def test_of_a_parameter_that_comes_twice_neither_value_is_followed() -> None:
    asked = Query([("limit", "1"), ("limit", "2")], known=KNOWN)
    with pytest.raises(QueryRefused) as caught:
        asked.require_sound()
    assert caught.value.detail == "Parameter 'limit' comes more than once; expected it once."


def test_a_refusal_has_its_status_and_its_reason() -> None:
    answers = [refusal(Refused(403, "No.")), refusal(QueryRefused("Wrong."))]
    assert [(answer.status_code, answer.body) for answer in answers] == [
        (403, b'{"detail":"No."}'),
        (422, b'{"detail":"Wrong."}'),
    ]
