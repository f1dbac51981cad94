"""The port through which a repair learns how a call that has no result in the thread really ended.

Results of parallel calls that had finished when a run was cancelled are known outside the thread only (field
case 3): whoever recorded them answers here.
"""

from __future__ import annotations

from typing import Protocol


class Results(Protocol):
    """Results of tool calls that were recorded when they happened."""

    async def get(self, thread: str, call_id: str) -> str | None:
        """The text that the call of that thread returned, or `None` when none was recorded."""
        ...


class RecordedResults:
    """Results in this process's memory: the twin of a ledger's, for tests and single processes."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], str] = {}

    async def get(self, thread: str, call_id: str) -> str | None:
        """See `Results.get`."""
        return self._texts.get((thread, call_id))

    def put(self, text: str, *, thread: str, call_id: str) -> None:
        """Record what a call returned; the first record of a call stands."""
        self._texts.setdefault((thread, call_id), text)
