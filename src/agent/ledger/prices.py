"""What models cost, from a data file. Prices are configuration: check them against your provider's list."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from agent.ledger.spend import LedgerRefused

_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Micro-dollars for a million tokens, read (`input`) and written (`output`) by the model."""

    input: int
    output: int

    def cost(self, *, tokens_in: int, tokens_out: int) -> int:
        """Micro-dollars for one call, rounded up: a part of a micro-dollar is never free."""
        return -(-(tokens_in * self.input + tokens_out * self.output) // _MILLION)


def read(text: str) -> Mapping[str, Price]:
    """The prices of a file's text: `{"models": {"<name>": {"input": 250000, "output": 2000000}}}`.

    Raises:
        LedgerRefused: An entry is not of that form; the message names it.
    """
    entries: Mapping[str, Any] = json.loads(text)["models"]
    return MappingProxyType({name: _price(name, entry) for name, entry in entries.items()})


def price(model: str) -> Price | None:
    """The shipped price of `gpt-5-mini` or `openai:gpt-5-mini`; `None` for a model that is not listed.

    An unknown price is not zero: a caller with a money limit refuses the call.
    """
    return PRICES.get(model.removeprefix("openai:"))


def _price(name: str, entry: object) -> Price:
    match entry:
        case {"input": int(given), "output": int(taken)} if min(given, taken) >= 0:
            return Price(input=given, output=taken)
        case _:
            raise LedgerRefused(
                f"The price of model {name!r} is not usable; expected 'input' and 'output' in whole "
                "micro-dollars for a million tokens, 0 or more."
            )


def known(environment: Mapping[str, str]) -> Mapping[str, Price]:
    """The shipped prices, and over them those of the file that `SIGNALBOX_PRICES` names.

    Raises:
        LedgerRefused: The file can't be read, or is not of the form that `read` takes.
    """
    shipped = read(resources.files("agent.ledger").joinpath("prices.json").read_text("utf-8"))
    own = environment.get("SIGNALBOX_PRICES")
    if not own:
        return shipped
    try:
        return MappingProxyType({**shipped, **read(Path(own).read_text("utf-8"))})
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise LedgerRefused(
            "SIGNALBOX_PRICES is not usable; expected a JSON file such as "
            '{"models": {"my-model": {"input": 250000, "output": 2000000}}}, in micro-dollars for a million '
            "tokens."
        ) from error


PRICES: Final = known(os.environ)
