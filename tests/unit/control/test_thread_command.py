"""`signalbox thread repair`: what it finds, and when it leaves a thread alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from assistants.cli.thread import Stop, healthy, stop

BUSY = "A run is under way on it; wait for its end, or cancel it."
NOTHING = "It waits for nothing; send a message."


def record(interrupt: str = "i1", **changes: Any) -> dict[str, Any]:
    return {
        "id": f"approval of {interrupt}",
        "interrupt": interrupt,
        "state": "pending",
        "release": "r1",
        **changes,
    }


def thread(*interrupts: str, **changes: Any) -> dict[str, Any]:
    tasks: dict[str, list[dict[str, Any]]] = {f"task {one}": [{"id": one, "value": {}}] for one in interrupts}
    return {"status": "interrupted", "interrupts": tasks, **changes}


def test_a_thread_that_waits_for_an_answer_is_found_so() -> None:
    found = stop(thread("i1"), {"next": ["tools"], "interrupts": [{"id": "i1"}]}, [record()], release="r1")
    assert found == Stop(busy=False, next=("tools",), interrupts=("i1",), answerable=("approval of i1",))


def test_what_either_place_says_counts() -> None:
    """Case 17: one place may be silent."""
    assert stop(thread("i1"), {}, [], release="r1").interrupts == ("i1",)
    silent = thread(interrupts=None)
    assert stop(silent, {"interrupts": [{"id": "i2"}]}, [], release="r1").interrupts == ("i2",)
    assert stop(thread("i1"), {"interrupts": [{"id": "i2"}]}, [], release="r1").interrupts == ("i1", "i2")


@pytest.mark.parametrize(
    "change", [{"state": "expired"}, {"release": "r2"}, {"interrupt": "i9"}, {"interrupt": None}]
)
def test_what_can_t_be_answered_does_not_count(change: dict[str, Any]) -> None:
    assert stop(thread("i1"), {}, [{**record(), **change}], release="r1").answerable == ()


def test_a_thread_that_never_ran_waits_for_nothing() -> None:
    found = stop({"status": "idle"}, {}, [], release="")
    assert found == Stop(busy=False, next=(), interrupts=(), answerable=())
    assert healthy(found) == NOTHING


def test_what_needs_a_repair_and_what_does_not() -> None:
    waits = Stop(busy=False, next=("tools",), interrupts=("i1",), answerable=())
    assert healthy(waits) is None
    assert healthy(replace(waits, interrupts=())) is None, "it stopped without a question"
    assert healthy(replace(waits, interrupts=("i1", "i2"), answerable=("a",))) is None
    assert healthy(replace(waits, busy=True)) == BUSY
    can = healthy(replace(waits, answerable=("a",)))
    assert can == "It waits for a decision that can be taken: 'signalbox approvals show' a."
