"""What the shop refuses.

* `ShopRefused`
    * `UnknownTenant`: no shop is made up for this tenant.
    * `AmountRefused`: the amount is not one that can be paid in the currency.
    * `RefundRefused`: the order's rules do not allow the refund.
    * `KeyReused`: an idempotency key comes back with another content.
"""

from __future__ import annotations

from agent.errors import AgentError


class ShopRefused(AgentError):
    """The shop does not do what was asked; nothing was changed."""

    code = "shop_refused"


class UnknownTenant(ShopRefused):
    """No shop is made up for this tenant."""

    code = "unknown_tenant"


class AmountRefused(ShopRefused):
    """The amount is not one that can be paid in the currency."""

    code = "amount_refused"


class RefundRefused(ShopRefused):
    """The order's rules do not allow the refund."""

    code = "refund_refused"


class KeyReused(ShopRefused):
    """An idempotency key comes back with another content."""

    code = "key_reused"
