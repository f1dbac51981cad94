"""What a step takes out of a turn's budget, counted in whole numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from decimal import ROUND_FLOOR, Decimal
from typing import Final

from agent.errors import AgentError

MICROS: Final = 1_000_000
"""Micro-dollars in a US dollar."""


class LedgerRefused(AgentError):
    """The ledger cannot write what it was given."""

    code = "ledger_refused"


@dataclass(frozen=True, slots=True)
class Spend:
    """Counts, tokens and money (`micros`, in micro-dollars); none is negative."""

    steps: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    tokens: int = 0
    micros: int = 0
    approvals: int = 0

    def __post_init__(self) -> None:
        negative = [name for name, amount in asdict(self).items() if amount < 0]
        if negative:
            raise LedgerRefused(f"Spend {negative[0]!r} is negative; expected 0 or more.")

    def __add__(self, other: Spend) -> Spend:
        """Both together."""
        return Spend(**{name: amount + getattr(other, name) for name, amount in asdict(self).items()})

    def amounts(self) -> dict[str, int]:
        """Each amount by its name."""
        return asdict(self)


NOTHING: Final = Spend()
NAMES: Final = tuple(field.name for field in fields(Spend))


def micros(dollars: float) -> int:
    """US dollars as written in a file → whole micro-dollars, rounded down."""
    return int((Decimal(str(dollars)) * MICROS).to_integral_value(ROUND_FLOOR))


def correction(reserved: Spend, actual: Spend, *, late: bool) -> dict[str, int]:
    """By how much each counter changes when a reservation is settled.

    Args:
        reserved: What the counters hold for it.
        actual: What was really spent.
        late: Whether the reservation had expired. It then counts as spent, so nothing is given back.
    """
    differences = {name: amount - getattr(reserved, name) for name, amount in asdict(actual).items()}
    return {name: max(0, amount) if late else amount for name, amount in differences.items()}
