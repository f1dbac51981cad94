"""A thread of a thousand turns in English and Chinese: does each request fit, and is what matters in it?

Twice: with summaries by the run's own model through the whole graph, and without a summariser, where folded
messages are only counted, through `maybe_compact` alone. The model answers at once and follows one rule
where a real one uses its judgement: a summary keeps what asks to be remembered, in the transcript and in the
summary before.
"""

from __future__ import annotations

import random
import re
import statistics
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent.compaction.compact import Plan, maybe_compact
from agent.compaction.summariser import INSTRUCTION
from agent.compaction.summary import Summary
from agent.tokens import PRIMING, of_messages, of_tool
from bench.harness import context, react, turn
from bench.plot import Lines, page
from bench.sample import seconds
from bench.scripted import Talker

RULE = {"max_tokens": 4_000, "keep_recent": 6}
GOAL = "The goal of all this: move the warehouse to Bremen by 1 March. 目标：三月一日前把仓库搬到不来梅。"
FACT = "please remember: the gate code is 4711-Q. 请记住：门禁密码是4711-Q。"
_FACT_TURN = 3
_FACT_EVERY = 60  # further facts, which compete with the first one for the summary's room
_REMEMBER = re.compile(r"please remember: .*")
_ENGLISH = ("the", "truck", "waits", "at", "a", "dock", "while", "we", "count", "shelves", "and", "boxes")
_CHINESE = "货车停在站台我们清点架子和箱子并记下今天缺少的东西然后联系司机确认时间"


@dataclass(slots=True)
class Seen:
    """What was sent: tokens of each request and of each summariser's request, and which of them held what."""

    requests: list[int] = field(default_factory=list[int])
    summaries: list[int] = field(default_factory=list[int])
    goal: list[bool] = field(default_factory=list[bool])
    fact: list[bool] = field(default_factory=list[bool])

    def take(self, messages: Sequence[BaseMessage], *, tokens: int) -> None:
        """Record a request."""
        text = "\n".join(str(message.text) for message in messages)
        self.requests.append(tokens)
        self.goal.append(GOAL in text)
        self.fact.append(FACT in text)


class Speaker:
    """What the person says at each turn (numbered from 1); the same at each run."""

    def __init__(self) -> None:
        self._random = random.Random(3)  # noqa: S311 - nothing secret

    def __call__(self, number: int) -> str:
        """The goal, a fact, or talk: English at odd turns, Chinese at even ones."""
        if number == 1:
            return GOAL
        if number == _FACT_TURN:
            return f"By the way, {FACT}"
        if number % _FACT_EVERY == 0:
            asked = f"please remember: pallet {number} is blue. 请记住：{number}号托盘是蓝色的。"
            return f"{self.talk(number)} {asked}"
        return self.talk(number)

    def talk(self, number: int) -> str:
        """Words without a fact, of some 10 to 120 tokens."""
        count = self._random.randint(10, 90)
        if number % 2:
            return f"{number}: {' '.join(self._random.choices(_ENGLISH, k=count))}"
        return f"{number}：{''.join(self._random.choices(_CHINESE, k=count))}"


def summarised(asked: str) -> str:
    """The model's summary of the framed material: what is to be remembered, each once, in order."""
    return "What was said so far, in short.\n" + "\n".join(dict.fromkeys(_REMEMBER.findall(asked)))


async def measure(*, turns: int = 1_000) -> dict[str, Any]:
    """What the requests of such a thread hold, with and without a summariser."""
    return {
        "turns": turns,
        "compaction": RULE,
        "with a summariser": await _whole(turns),
        "without a summariser": await _view(turns),
    }


async def _whole(turns: int) -> dict[str, Any]:
    """Through the graph: the thread is kept in memory, every request and every summary goes to the model."""
    seen, speaker, replies, place = Seen(), Speaker(), Speaker(), str(uuid.uuid4())

    def answer(messages: Sequence[BaseMessage], tools: Sequence[Any]) -> str:
        tokens = of_messages(messages) + PRIMING + sum(map(of_tool, tools))
        if isinstance(messages[0], SystemMessage) and messages[0].text == INSTRUCTION:
            seen.summaries.append(tokens)
            return summarised(str(messages[-1].text))
        seen.take(messages, tokens=tokens)
        return replies.talk(len(seen.requests))

    graph = react(Talker(answer=answer), saver=InMemorySaver())
    admit, said, spent = context(compaction=RULE), list[str](), list[float]()
    for number in range(1, turns + 1):
        said.append(speaker(number))
        spent.append(await seconds(lambda: turn(graph, said[-1], thread=place, admit=admit)))
    state = await graph.aget_state({"configurable": {"thread_id": place}})
    held: list[BaseMessage] = state.values["messages"]
    people = [str(message.text) for message in held if isinstance(message, HumanMessage)]
    window = max(turns // 20, 1)
    return {
        **_figures(seen),
        "messages in the thread": len(held),
        "every turn is in the thread, in order": people == said and len(held) == 2 * turns,
        "largest request for a summary": max(seen.summaries, default=0),
        f"milliseconds of the first {window} turns": _milliseconds(spent[:window]),
        f"milliseconds of the last {window} turns": _milliseconds(spent[-window:]),
    }


async def _view(turns: int) -> dict[str, Any]:
    """Through the pure core alone: what is sent when nobody can make a summary."""
    seen, speaker, replies = Seen(), Speaker(), Speaker()
    plan = Plan(room=RULE["max_tokens"] - PRIMING, keep_recent=RULE["keep_recent"], policy="bench")
    memory: Summary | None = None
    messages: list[BaseMessage] = []
    for number in range(1, turns + 1):
        messages.append(HumanMessage(speaker(number), id=f"h{number}"))
        found = await maybe_compact(messages, plan, memory=memory, summarise=None)
        memory = found.summary if found and found.summary else memory
        sent = found.view if found else messages
        seen.take(sent, tokens=of_messages(sent) + PRIMING)
        messages.append(AIMessage(replies.talk(number), id=f"a{number}"))
    return _figures(seen) | {"messages in the thread": len(messages)}


def _figures(seen: Seen) -> dict[str, Any]:
    ordered = sorted(seen.requests)
    return {
        "requests": len(ordered),
        "summaries": len(seen.summaries),
        "largest request": ordered[-1],
        "95th percentile": statistics.quantiles(ordered, n=20, method="inclusive")[-1],
        "requests over the limit": sum(tokens > RULE["max_tokens"] for tokens in ordered),
        "first goal in the last request": seen.goal[-1],
        "requests without the first goal": seen.goal.count(False),
        "fact of turn 3 in the last request": seen.fact[-1],
        "requests without the fact, from turn 3 on": seen.fact[_FACT_TURN - 1 :].count(False),
        "tokens by request": list(enumerate(seen.requests, start=1))[:: max(len(ordered) // 250, 1)],
    }


def _milliseconds(spent: Sequence[float]) -> float:
    return round(statistics.median(spent) * 1000, 2)


def drawn(result: dict[str, Any]) -> str:
    """The result as SVG."""
    series = {
        name: result[name]["tokens by request"] for name in ("with a summariser", "without a summariser")
    }
    return page([Lines("tokens of each request; the limit is dashed", series, limit=RULE["max_tokens"])])


def rows(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Figure, value, aim."""
    ours, alone = result["with a summariser"], result["without a summariser"]
    limit = result["compaction"]["max_tokens"]
    requests = f"largest of {ours['requests']} requests of a thread of {result['turns']} turns, tokens"
    return [
        (requests, f"{ours['largest request']} (95th percentile {ours['95th percentile']:g})", f"≤ {limit}"),
        (
            "the first goal is in the last request",
            _both(ours, alone, "first goal in the last request"),
            "yes",
        ),
        ("a fact of turn 3 is", _both(ours, alone, "fact of turn 3 in the last request"), "yes"),
        ("messages in the thread", str(ours["messages in the thread"]), str(2 * result["turns"])),
    ]


def _both(ours: dict[str, Any], alone: dict[str, Any], key: str) -> str:
    return f"{_yes(ours[key])} (without a summariser: {_yes(alone[key])})"


def _yes(value: object) -> str:
    return "yes" if value else "no"
