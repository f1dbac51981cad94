"""Summaries that are made and not yet in the state, because their model call has not succeeded.

A call that is asked again, or a turn after an outage, does not pay for them twice.
"""

from __future__ import annotations

from agent.compaction.summary import Summary

Place = tuple[str, str]
"""A tenant and a thread."""

_MOST = 256


class Unsaved:
    """The last unsaved summary of each thread in this process; the oldest go first."""

    def __init__(self, *, most: int = _MOST) -> None:
        self._most = most
        self._summaries: dict[Place, Summary] = {}

    def get(self, place: Place) -> Summary | None:
        """The thread's unsaved summary, or `None`."""
        return self._summaries.get(place)

    def keep(self, summary: Summary, *, place: Place) -> None:
        """Remember the thread's summary until it is saved."""
        self.drop(place)
        self._summaries[place] = summary
        if len(self._summaries) > self._most:
            del self._summaries[next(iter(self._summaries))]

    def drop(self, place: Place) -> None:
        """Forget the thread's summary: it is saved or of no use."""
        self._summaries.pop(place, None)
