"""The ledger: budgets, usage, audit, approvals and results, in one database for all workers."""

from agent.ledger.approval import (
    AlreadyDecided,
    Approval,
    ApprovalRequest,
    Decided,
    Expired,
    Refused,
    Verdict,
)
from agent.ledger.audit import AuditFilter
from agent.ledger.budget import Exhausted
from agent.ledger.budgets import Account, Reservation
from agent.ledger.chain import Broken, Entry, Event, Head, Intact
from agent.ledger.database import ledger_url
from agent.ledger.digest import arguments_digest
from agent.ledger.ledger import Ledger
from agent.ledger.prices import Price, price
from agent.ledger.results import Result
from agent.ledger.spend import NOTHING, LedgerRefused, Spend, micros
from agent.ledger.summary import DENIALS, Period, Summary
from agent.ledger.turn import Turn, call_key, day
from agent.ledger.usage import ModelUse, ToolUse

__all__ = [
    "DENIALS",
    "NOTHING",
    "Account",
    "AlreadyDecided",
    "Approval",
    "ApprovalRequest",
    "AuditFilter",
    "Broken",
    "Decided",
    "Entry",
    "Event",
    "Exhausted",
    "Expired",
    "Head",
    "Intact",
    "Ledger",
    "LedgerRefused",
    "ModelUse",
    "Period",
    "Price",
    "Refused",
    "Reservation",
    "Result",
    "Spend",
    "Summary",
    "ToolUse",
    "Turn",
    "Verdict",
    "arguments_digest",
    "call_key",
    "day",
    "ledger_url",
    "micros",
    "price",
]
