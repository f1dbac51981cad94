"""The turn's budget at work: what a request may cost is reserved before it is sent and settled afterwards.

Reserved is the most that a request can take (its tokens as estimated, the longest answer), and what the
closing answer of the turn will need stays free, so that a turn that runs out of budget can still say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from agent.context import Limits
from agent.errors import AgentError
from agent.ledger import NOTHING, Exhausted, Ledger, ModelUse, Price, Reservation, Spend, Turn
from agent.ledger import price as listed
from agent.models.metering import Asked, Asking, CandidateRefused, Receipt

CLOSING: Final = 400
"""Tokens of the closing answer that are kept back, and its longest length when the budget is used up."""


class BudgetExhausted(AgentError):
    """A request was not sent, because the turn's budget does not hold it."""

    code = "budget_exhausted"

    def __init__(self, exhausted: Exhausted) -> None:
        super().__init__(exhausted.sentence)
        self.exhausted = exhausted


class PriceUnknown(CandidateRefused):
    """A request was not sent, because money is limited and nobody knows what it costs."""

    code = "price_unknown"


@dataclass(frozen=True, slots=True)
class TurnMeter:
    """Counts the requests of one run's part of a turn in the ledger; see `agent.models.metering.Meter`.

    Attributes:
        ledger: Where it is counted.
        turn: On whose account.
        limits: The assistant's.
        run: The run's id.
        now: Gives the moment, aware.
        node: Who asks: the graph's node, or what a summary is made for.
        steps: Super-steps that a request which succeeds stands for.
        closing: Whether it is the turn's last answer, for which nothing is kept back and time is not up.
    """

    ledger: Ledger
    turn: Turn
    limits: Limits
    run: str
    now: Callable[[], datetime]
    node: str = "model"
    steps: int = 0
    closing: bool = False

    def last(self) -> TurnMeter:
        """The meter of the turn's last answer."""
        return replace(self, closing=True)

    def aside(self, node: str) -> TurnMeter:
        """The meter of requests that are made beside the turn's own, such as for a summary."""
        return replace(self, node=node, steps=0)

    async def begin(self, asking: Callable[[], Asking]) -> Receipt:
        """Reserve what the request may take.

        Raises:
            BudgetExhausted: The budget does not hold it.
            PriceUnknown: Money is limited, and the model has no known price.
        """
        request = asking()
        price = self._price(request.model)
        most = _spend(price, request.tokens_in, request.tokens_out)
        # The super-steps are the graph's own limit (`agent.limits`), which counts them before this call.
        limits = self.limits.model_copy(
            update={"steps": None, "tool_calls": None, **({"seconds": None} if self.closing else {})}
        )
        held = await self.ledger.budgets.reserve(
            self.turn,
            spend=most,
            limits=limits,
            now=self.now(),
            tenant_usd_per_day=limits.tenant_usd_per_day,
            keep=NOTHING if self.closing else _spend(price, request.tokens_in, CLOSING),
        )
        if isinstance(held, Exhausted):
            raise BudgetExhausted(held)
        return _Receipt(self, request, price, held)

    def _price(self, model: str) -> Price | None:
        limits = self.limits
        price = listed(model)
        limited = (limits.usd_per_run, limits.usd_per_day, limits.tenant_usd_per_day)
        if price is None and any(amount is not None for amount in limited):
            raise PriceUnknown(
                f"Model {model!r} has no known price and the assistant's money is limited, so it is not "
                "asked. Add its price (SIGNALBOX_PRICES), or name a model whose price is known."
            )
        return price


@dataclass(frozen=True, slots=True)
class _Receipt:
    meter: TurnMeter
    request: Asking
    price: Price | None
    held: Reservation

    async def close(self, asked: Asked) -> None:
        """Settle at what was used: the reserved amount where nobody knows, nothing where it was refused."""
        meter, usage = self.meter, asked.usage
        tokens_in, tokens_out = self.request.tokens_in, self.request.tokens_out
        if usage is not None:
            tokens_in, tokens_out = usage["input_tokens"], usage["output_tokens"]
        elif asked.certain:
            tokens_in = tokens_out = 0
        actual = _spend(self.price, tokens_in, tokens_out)
        steps = meter.steps if asked.outcome == "ok" else 0
        use = ModelUse(
            run=meter.run,
            node=meter.node,
            model=self.request.model,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            estimated=asked.estimated or (usage is None and not asked.certain),
            micros=actual.micros,
            latency_ms=round(asked.latency * 1000),
            outcome=asked.outcome,
        )
        await meter.ledger.spent(self.held, actual=replace(actual, steps=steps), use=use, now=meter.now())


def _spend(price: Price | None, tokens_in: int, tokens_out: int) -> Spend:
    cost = 0 if price is None else price.cost(tokens_in=tokens_in, tokens_out=tokens_out)
    return Spend(model_calls=1, tokens=tokens_in + tokens_out, micros=cost)
