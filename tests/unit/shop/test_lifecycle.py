"""An order's course makes sense: each date after the one before, none in the future."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from agent.shop.lifecycle import REFUNDABLE, STATUSES, Course, course_of

TODAY = date(2026, 11, 1)
PROMISE = (2, 4)


def rolled(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - repeatable on purpose, nothing is secret


def draw(seed: int, age: int) -> Course:
    placed = TODAY - timedelta(days=age)
    return course_of(placed, today=TODAY, promise=PROMISE, random=rolled(seed))


COURSES = st.builds(draw, seed=st.integers(), age=st.integers(min_value=0, max_value=200))


def test_the_states_are_the_documented_ones() -> None:
    assert STATUSES == ("placed", "paid", "packed", "shipped", "delivered", "cancelled", "returned")
    assert set(STATUSES) - REFUNDABLE == {"placed", "cancelled"}


@given(COURSES)
def test_dates_follow_each_other_and_never_lie_ahead(course: Course) -> None:
    happened = [course.placed_on, *(day for day in (course.shipped_on, course.delivered_on) if day)]
    assert happened == sorted(happened)
    assert happened[-1] <= TODAY
    assert PROMISE[0] <= (course.promised_on - course.placed_on).days <= PROMISE[1]


@given(COURSES)
def test_the_state_says_which_dates_there_are(course: Course) -> None:
    dates = (course.shipped_on is not None, course.delivered_on is not None)
    expected = {"shipped": (True, False), "delivered": (True, True), "returned": (True, True)}
    assert dates == expected.get(course.status, (False, False))


def test_goods_come_back_only_when_there_was_time_to_send_them() -> None:
    courses = [draw(seed, age) for seed in range(300) for age in (8, 9, 10, 11, 12, 40)]
    returned = [course for course in courses if course.status == "returned"]
    assert len(returned) > 20
    for course in returned:
        assert course.delivered_on is not None
        assert course.delivered_on + timedelta(days=8) <= TODAY


@given(COURSES)
def test_a_parcel_travels_at_least_a_day(course: Course) -> None:
    if course.shipped_on is not None and course.delivered_on is not None:
        assert course.delivered_on > course.shipped_on
    assert course.shipped_on is None or course.shipped_on > course.placed_on


def test_every_state_occurs_among_orders_of_the_last_weeks() -> None:
    states = {draw(seed, age).status for seed in range(300) for age in (0, 1, 3, 30)}
    assert states == set(STATUSES)


def test_some_orders_are_late_some_early_and_most_in_time() -> None:
    courses = [draw(seed, 60) for seed in range(1000)]
    delays = [
        (course.delivered_on - course.promised_on).days
        for course in courses
        if course.delivered_on is not None
    ]
    assert len(delays) > 800
    late = sum(delay > 0 for delay in delays)
    assert 0.25 < late / len(delays) < 0.45
    assert min(delays) == -1
    assert max(delays) == 5


def test_a_few_parcels_never_arrive() -> None:
    overdue = [draw(seed, 60) for seed in range(1000) if draw(seed, 60).status == "shipped"]
    assert 0 < len(overdue) < 50
    assert all(course.delivered_on is None for course in overdue)


def test_an_order_of_today_is_not_on_its_way() -> None:
    states = {draw(seed, 0).status for seed in range(200)}
    assert states == {"placed", "paid", "cancelled"}


def test_an_order_of_yesterday_is_at_least_packed() -> None:
    states = {draw(seed, 1).status for seed in range(200)}
    assert states == {"packed", "shipped", "cancelled"}


@given(st.integers(), st.integers(min_value=0, max_value=200))
def test_every_order_draws_the_same_number_of_times(seed: int, age: int) -> None:
    random, other = rolled(seed), rolled(seed)
    course_of(TODAY - timedelta(days=age), today=TODAY, promise=PROMISE, random=random)
    course_of(TODAY, today=TODAY, promise=PROMISE, random=other)
    assert random.random() == other.random()
