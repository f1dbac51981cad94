from __future__ import annotations

from xml.etree import ElementTree as ET

from bench.plot import Bars, Lines, page

SVG = "{http://www.w3.org/2000/svg}"


def parsed(*panels: Bars | Lines) -> ET.Element:
    return ET.fromstring(page(panels))  # noqa: S314 - our own text


def texts(root: ET.Element) -> list[str | None]:
    return [element.text for element in root.iter(f"{SVG}text")]


def test_bars_are_as_long_as_their_values() -> None:
    root = parsed(Bars("sizes", {"ours": 1, "theirs": 4}))
    _, ours, theirs = (float(bar.attrib["width"]) for bar in root.iter(f"{SVG}rect"))
    assert theirs == 4 * ours > 0
    assert texts(root) == ["sizes", "ours", "1", "theirs", "4"]


def test_a_spread_is_a_line_over_its_bar() -> None:
    root = parsed(Bars("times", {"ours": 2, "theirs": 4}, {"ours": (1, 3)}))
    (line,) = root.iter(f"{SVG}line")
    ours = next(bar for bar in root.iter(f"{SVG}rect") if "x" in bar.attrib)
    start, width = float(ours.attrib["x"]), float(ours.attrib["width"])
    assert (float(line.attrib["x1"]) - start) * 2 == width
    assert (float(line.attrib["x2"]) - start) * 2 == width * 3


def test_a_spread_that_reaches_far_stays_on_the_page() -> None:
    (line,) = parsed(Bars("times", {"ours": 2}, {"ours": (1, 8)})).iter(f"{SVG}line")
    assert float(line.attrib["x2"]) < 720


def test_names_can_not_break_the_document() -> None:
    assert "a<b & c" in texts(parsed(Bars("x", {"a<b & c": 1})))


def test_lines_rise_with_their_values_and_the_limit_is_dashed() -> None:
    root = parsed(Lines("growth", {"ours": [(1, 1), (2, 3)], "theirs": [(2, 6)]}, limit=8))
    ours, theirs = root.iter(f"{SVG}polyline")
    (x1, y1), (x2, y2) = (tuple(map(float, point.split(","))) for point in ours.attrib["points"].split())
    assert x1 < x2
    assert y1 > y2 > float(theirs.attrib["points"].split(",")[1])
    (dashed,) = (line for line in root.iter(f"{SVG}line") if "stroke-dasharray" in line.attrib)
    assert dashed.attrib["y1"] == dashed.attrib["y2"]
    assert {"growth", "8", "0", "2", "ours", "theirs"} == set(texts(root))


def test_panels_do_not_overlap_and_fit_into_the_page() -> None:
    root = parsed(Lines("a", {"x": [(1, 1)]}), Bars("b", {"x": 1}), Bars("c", {"x": 1}))
    heights = [float(t.attrib["y"]) for t in root.iter(f"{SVG}text") if t.text in {"a", "b", "c"}]
    assert heights == sorted(heights)
    assert len(set(heights)) == 3
    bottom = float(root.attrib["viewBox"].split()[-1])
    assert max(float(bar.attrib.get("y", 0)) for bar in root.iter(f"{SVG}rect")) < bottom
