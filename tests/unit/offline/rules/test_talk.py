"""The model's own sentences."""

from __future__ import annotations

import pytest

from agent.offline.rules.offer import offers
from agent.offline.rules.plan import Step
from agent.offline.rules.talk import extract, question, small_talk, title, written
from tests.unit.offline.catalogue import ORDERS_GET, ORDERS_REFUND, TICKETS_CREATE, tool


def test_title_is_the_first_sentence_of_the_description() -> None:
    get, create = offers([ORDERS_GET, TICKETS_CREATE])

    assert title(get, tongue="en") == "Look up one order by its number"
    assert title(get, tongue="zh") == "订单查询（Look up one order by its number）"
    assert title(create, tongue="zh") == "创建一张工单"


def test_title_without_a_description_is_the_name() -> None:
    bare = offers([tool("orders_get", "", {}, required=[])])[0]

    assert title(bare, tongue="en") == "orders get"
    assert title(bare, tongue="zh") == "订单查询（orders_get）"


def test_long_title_is_cut_at_a_word() -> None:
    long = offers([tool("x", "word " * 40, {}, required=[])])[0]

    assert title(long, tongue="en") == "word " * 19 + "word …"


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("Hello", "Hello! I am Signalbox's offline demonstration model: I follow rules and need no key."),
        ("", "Hello! I am"),
        ("Who are you?", "I am Signalbox's offline demonstration model: I follow rules"),
        ("Sing!", "I am Signalbox's offline demonstration model and found no tool that fits this."),
        ("Thank you very much", "You're welcome."),
        ("谢谢你", "不客气。"),
        ("唱歌吧", "我是 Signalbox 的离线演示模型，没有找到适合这个问题的工具。"),
        ("thanks, but sing", "I am Signalbox's offline demonstration model and found no tool"),
    ],
)
def test_small_talk_answers_in_the_language_of_the_text(text: str, beginning: str) -> None:
    assert small_talk(text, offers=offers([ORDERS_GET])).startswith(beginning)


def test_small_talk_lists_the_tools_or_admits_that_there_are_none() -> None:
    with_tools = small_talk("Hi", offers=offers([ORDERS_GET, TICKETS_CREATE]))

    assert with_tools.splitlines()[1:] == ["- Look up one order by its number", "- 创建一张工单"]
    assert small_talk("Hi", offers=[]).endswith("so there is little that I can do.")
    assert small_talk("你好", offers=[]).endswith("所以我能做的很少。")


def test_question_names_every_missing_argument_and_ends_with_a_mark() -> None:
    refund = offers([ORDERS_REFUND])[0]
    step = Step(refund, {}, refund.required[:2])

    english, chinese = question([step], tongue="en"), question([step], tongue="zh")

    assert "order (Order number, such as 1042), amount (Amount in" in english
    assert "订单 (Order number, such as 1042)、金额 (Amount in" in chinese
    assert (english[-1], chinese[-1]) == ("?", "？")
    assert question([], tongue="en") == ""


def test_question_about_an_argument_without_description_uses_its_name() -> None:
    bare = offers([tool("x_make", "Make.", {"unit_price": {"type": "number"}}, required=["unit_price"])])[0]

    assert "I still need: unit price. Could" in question([Step(bare, {}, bare.required)], tongue="en")


def test_extract_keeps_the_first_sentence_of_each_line_once() -> None:
    text = "First. More.\n\nSecond! More.\nFirst. Again.\n第三。更多。"

    assert extract(text) == "First. Second! 第三。"


def test_extract_keeps_to_its_limit() -> None:
    assert extract("aaaa\nbbbb\ncccc", limit=9) == "aaaa bbbb"
    assert extract("x" * 50, limit=9) == "x" * 9


def test_transcript_is_summed_up_without_a_preface() -> None:
    prompt = "Summarise.\n<messages>\nhuman: Where is order 1? Quick.\nai: Shipped.\n</messages>"

    assert written(prompt, instructions="") == "human: Where is order 1? ai: Shipped."


def test_other_material_gets_an_honest_preface() -> None:
    assert written("Write about tea.", instructions="").endswith("in short: Write about tea.")
    assert written("", instructions="You write.").endswith("in short: You write.")
    assert written("写一篇文章。", instructions="").startswith(
        "我是 Signalbox 的离线演示模型，不能自由写作。"
    )
