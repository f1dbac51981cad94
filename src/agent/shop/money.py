"""Money: whole minor units (cents, fen) of a currency, so that sums are exact."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from agent.shop.errors import AmountRefused

DIGITS: Final = 2
"""Decimals of a major unit; the same for every currency of the shipped catalog (ISO 4217: EUR, USD, CNY)."""

LARGEST: Final = 100_000_000
"""The largest amount that is accepted, in minor units; more is taken for a slip."""


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in minor units of a currency (ISO 4217 code)."""

    minor: int
    currency: str

    @property
    def major(self) -> Decimal:
        """The amount in major units, with its two decimals."""
        return Decimal(self.minor).scaleb(-DIGITS)

    def __str__(self) -> str:
        """`84.90 EUR`."""
        return f"{self.major} {self.currency}"


def minor_units(amount: Decimal | float) -> int:
    """Minor units of an amount in major units: `84.9` → `8490`.

    A float stands for its shortest decimal form, so `0.1` is ten cents.

    Raises:
        AmountRefused: The amount is not finite, has more than two decimals, or is larger than `LARGEST`.
    """
    exact = amount if isinstance(amount, Decimal) else Decimal(repr(amount))
    if not exact.is_finite() or abs(exact) > Decimal(LARGEST).scaleb(-DIGITS):
        raise AmountRefused(
            f"Amount {str(amount)!r} is out of range; expected at most {LARGEST // 10**DIGITS} major units."
        )
    shifted = exact.scaleb(DIGITS)
    if shifted != shifted.to_integral_value():
        raise AmountRefused(
            f"Amount {str(amount)!r} has more than {DIGITS} decimals; expected an amount such as 84.90."
        )
    return int(shifted)
