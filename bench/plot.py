"""Bars and lines as SVG: small enough to need no plotting library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import cycle

_WIDTH, _LEFT, _RIGHT = 720, 230, 90
_BAR, _GAP, _TITLE = 22, 10, 28
_HEIGHT, _AXIS = 200, 70
_COLOURS = ("#0f766e", "#94a3b8", "#cbd5e1", "#b45309")


@dataclass(frozen=True, slots=True)
class Bars:
    """A group of horizontal bars; `spread` marks the quartiles of those that have some."""

    title: str
    values: Mapping[str, float]
    spread: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])

    def drawn(self, y: float) -> tuple[list[str], float]:
        """The group's SVG elements from `y` on, and where it ends."""
        parts = [_title(self.title, y)]
        y += _TITLE
        longest = max([*self.values.values(), *(high for _, high in self.spread.values())])
        scale = (_WIDTH - _LEFT - _RIGHT) / longest
        for (name, value), colour in zip(self.values.items(), cycle(_COLOURS), strict=False):
            end = _LEFT + value * scale
            parts.append(_text(10, y + 16, name))
            parts.append(
                f'<rect x="{_LEFT}" y="{y}" width="{value * scale:.1f}" height="{_BAR}" fill="{colour}"/>'
            )
            parts += self._whisker(name, y, scale)
            reach = max(end, _LEFT + self.spread.get(name, (0, 0))[1] * scale)
            parts.append(_text(reach + 8, y + 16, f"{value:g}"))
            y += _BAR + _GAP
        return parts, y + 16

    def _whisker(self, name: str, y: float, scale: float) -> list[str]:
        if name not in self.spread:
            return []
        low, high = (_LEFT + bound * scale for bound in self.spread[name])
        return [_line(low, y + _BAR / 2, high, y + _BAR / 2)]


@dataclass(frozen=True, slots=True)
class Lines:
    """Values over turns, one line a series, from (turn, value) pairs; `limit` is drawn dashed."""

    title: str
    series: Mapping[str, Sequence[tuple[float, float]]]
    limit: float | None = None

    def drawn(self, y: float) -> tuple[list[str], float]:
        """The chart's SVG elements from `y` on, and where it ends."""
        parts, top = [_title(self.title, y)], y + _TITLE
        right = max(x for points in self.series.values() for x, _ in points)
        tall = max([v for points in self.series.values() for _, v in points] + [self.limit or 0])
        foot = top + _HEIGHT

        def place(x: float, value: float) -> tuple[float, float]:
            return _AXIS + (_WIDTH - _AXIS - _RIGHT) * x / right, foot - _HEIGHT * value / tall

        parts += [_line(_AXIS, top, _AXIS, foot), _line(_AXIS, foot, _WIDTH - _RIGHT, foot)]
        parts += [_text(10, top + 10, f"{tall:.4g}"), _text(10, foot, "0")]
        parts.append(_text(_WIDTH - _RIGHT - 10, foot + 18, f"{right:g}"))
        if self.limit is not None:
            parts.append(_line(*place(0, self.limit), *place(right, self.limit), dashed=True))
        for number, (points, colour) in enumerate(zip(self.series.values(), cycle(_COLOURS), strict=False)):
            joined = " ".join(f"{x:.1f},{v:.1f}" for x, v in (place(*point) for point in points))
            parts.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts += _legend(list(self.series)[number], foot + 34 + 20 * number, colour)
        return parts, foot + 34 + 20 * len(self.series) + 16


def page(panels: Sequence[Bars | Lines]) -> str:
    """The panels below each other, as an SVG document."""
    parts: list[str] = []
    y = 20.0
    for panel in panels:
        drawn, y = panel.drawn(y)
        parts += drawn
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y:g}" font-family="sans-serif">'
    return "\n".join([head, f'<rect width="{_WIDTH}" height="{y:g}" fill="white"/>', *parts, "</svg>", ""])


def _title(text: str, y: float) -> str:
    return f'<text x="10" y="{y + 14:g}" font-weight="bold">{escape(text)}</text>'


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:g}">{escape(text)}</text>'


def _line(x: float, y: float, x2: float, y2: float, *, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="6 4"' if dashed else ""
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#334155"{dash}/>'


def _legend(name: str, y: float, colour: str) -> list[str]:
    return [
        f'<rect x="{_AXIS}" y="{y - 10:g}" width="12" height="12" fill="{colour}"/>',
        _text(_AXIS + 20, y, name),
    ]
