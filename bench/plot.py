"""Horizontal bars as SVG: small enough to need no plotting library."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

_WIDTH, _LEFT, _BAR, _GAP = 720, 190, 22, 10
_GROUPS = ("checkpoints of a turn of three rounds", "milliseconds a round, median")
_COLOURS = ("#0f766e", "#94a3b8", "#cbd5e1")


def bars(results: Mapping[str, Any]) -> str:
    """The report's two comparisons, one group of bars each."""
    parts: list[str] = []
    y = 20
    for group in _GROUPS:
        values: Mapping[str, float] = results[group]
        parts.append(f'<text x="10" y="{y + 14}" font-weight="bold">{escape(group)}</text>')
        y += 28
        largest = max(values.values())
        for (name, value), colour in zip(values.items(), _COLOURS, strict=False):
            length = (_WIDTH - _LEFT - 90) * value / largest
            parts.append(f'<text x="10" y="{y + 16}">{escape(name)}</text>')
            parts.append(f'<rect x="{_LEFT}" y="{y}" width="{length:.1f}" height="{_BAR}" fill="{colour}"/>')
            parts.append(f'<text x="{_LEFT + length + 8:.1f}" y="{y + 16}">{value:g}</text>')
            y += _BAR + _GAP
        y += 16
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" font-family="sans-serif">'
    return "\n".join([head, f'<rect width="{_WIDTH}" height="{y}" fill="white"/>', *parts, "</svg>", ""])
