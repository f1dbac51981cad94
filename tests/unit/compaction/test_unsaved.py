from __future__ import annotations

from agent.compaction.summary import Summary
from agent.compaction.unsaved import Unsaved


def summary(text: str) -> Summary:
    return Summary(text, "t", "c", "p")


def test_a_summary_is_kept_for_its_thread_until_it_is_dropped() -> None:
    unsaved = Unsaved()
    unsaved.keep(summary("one"), place=("acme", "t"))
    unsaved.keep(summary("two"), place=("acme", "t"))
    assert unsaved.get(("acme", "t")) == summary("two")
    assert unsaved.get(("globex", "t")) is None
    assert unsaved.get(("acme", "u")) is None
    unsaved.drop(("acme", "t"))
    unsaved.drop(("acme", "t"))
    assert unsaved.get(("acme", "t")) is None


def test_the_oldest_go_first() -> None:
    unsaved = Unsaved(most=2)
    for thread in "aba":
        unsaved.keep(summary(thread), place=("acme", thread))
    unsaved.keep(summary("c"), place=("acme", "c"))
    kept = [unsaved.get(("acme", thread)) for thread in "abc"]
    assert kept == [summary("a"), None, summary("c")]
