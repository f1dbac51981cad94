"""The outside world of the shipped catalog: a shop's customers, products, stock, orders and refunds."""

from agent.shop.seed import TENANTS, counts, prepare
from agent.shop.shop import Shop, shop_url

__all__ = ["TENANTS", "Shop", "counts", "prepare", "shop_url"]
