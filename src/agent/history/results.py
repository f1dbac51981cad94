"""How a call that has no result in the thread really ended.

Results of parallel calls that had finished when a run was cancelled are known outside the thread only (field
case 3), and so is what a person decided or did not decide: the ledger has it.
"""

from __future__ import annotations

from typing import Protocol

from langchain_core.messages import ToolCall

from agent.clock import utc_now
from agent.execution import OK, Ended
from agent.gate import withheld
from agent.history.calls import Outcome, failed, known
from agent.ledger import Ledger, call_key
from agent.review import reviewed


class Results(Protocol):
    """How tool calls ended, recorded when it happened."""

    async def get(self, tenant: str, *, thread: str, call: ToolCall) -> Outcome | None:
        """How that call of the tenant's thread ended, or `None` when nothing of it was recorded."""
        ...

    async def began(self, tenant: str, *, thread: str, call: ToolCall) -> bool:
        """Whether the execution of a writing call may have begun."""
        ...


class LedgerResults:
    """Results, decisions and beginnings of calls, as the ledger recorded them."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def get(self, tenant: str, *, thread: str, call: ToolCall) -> Outcome | None:
        """See `Results.get`."""
        call_id = call["id"] or ""
        found = await self._ledger.results.get(tenant, thread=thread, call_id=call_id)
        record = await self._ledger.approvals.of_call(tenant, thread=thread, call_id=call_id)
        if found is not None:
            return known(reviewed(found.text, record)) if found.outcome == OK else failed(found.text)
        if record is None or record.granted_digest is not None:
            return None
        if await self._ledger.budgets.reserved(tenant, thread=thread, key=call_key(call_id)):
            return None  # begun under an earlier decision: nobody knows how that ended
        return failed(Ended.refused(withheld(call["name"], record, now=utc_now())).text)

    async def began(self, tenant: str, *, thread: str, call: ToolCall) -> bool:
        """See `Results.began`."""
        key = call_key(call["id"] or "")
        return await self._ledger.budgets.reserved(tenant, thread=thread, key=key) is not False
