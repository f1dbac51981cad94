"""A long conversation: every request fits and is valid, what matters stays, and nothing is lost.

The thousand turns of issue 3 are in `make bench`; these are enough for a dozen summaries upon summaries.
"""

from __future__ import annotations

import json
import uuid

import pytest
from langchain_core.messages import BaseMessage

from agent.compaction.summariser import Material
from agent.context import AgentContext
from agent.offline.history import problems
from agent.offline.script import SeenRequest, Turn
from agent.offline.tokens import prompt_tokens
from tests.graph.conftest import Agent

pytestmark = pytest.mark.anyio

TURNS = 120
RULE = {"max_tokens": 900, "keep_recent": 2}
GOAL = "The goal: move the warehouse by 1 March. 目标：三月一日前搬仓库。"
FACT = "remember: the gate code is 4711-Q. 请记住：门禁密码是4711-Q。"
ENGLISH, CHINESE = "and the next truck? " * 6, "下一辆卡车什么时候到？" * 6


class Notes:
    """A summariser that keeps what was asked to be remembered, also what its predecessor kept."""

    def __init__(self) -> None:
        self.materials: list[Material] = []

    async def __call__(self, material: Material, context: AgentContext) -> str:
        self.materials.append(material)
        lines = f"{material.previous}\n{material.transcript}".splitlines()
        kept = [line.removeprefix("human: ") for line in lines if "remember: " in line]
        return "Until now.\n" + "\n".join(dict.fromkeys(kept))


def said(number: int) -> str:
    """What the person says at a turn, numbered from 1: English at odd turns, Chinese at even ones."""
    match number:
        case 3:
            return FACT
        case _ if number % 40 == 0:
            return f"remember: pallet {number} is blue. 请记住：{number}号托盘是蓝色的。"
        case _:
            return f"{number} {ENGLISH if number % 2 else CHINESE}"


async def conversation(agent: Agent) -> tuple[list[BaseMessage], list[str], list[SeenRequest]]:
    """The thread's messages at the end, what the person said, and what the endpoint saw."""
    place = str(uuid.uuid4())
    answers = [Turn(content=f"{n}: {CHINESE if n % 2 else ENGLISH}") for n in range(1, TURNS + 1)]
    talk = await agent.endpoint.script(*answers)
    spoken = [talk.says(GOAL), *(said(number) for number in range(2, TURNS + 1))]
    context = agent.context(compaction=RULE, tools=("bench.echo",))
    for text in spoken:
        await agent.run(text, thread=place, context=context)
    return await agent.messages(place), spoken, await talk.requests()


def sent(request: SeenRequest) -> str:
    return json.dumps(request.body["messages"], ensure_ascii=False)


def size(request: SeenRequest) -> int:
    """Tokens as the endpoint counts them: messages, prompt, tool schemas."""
    assert [tool["function"]["name"] for tool in request.body["tools"]] == ["bench_echo"]
    return prompt_tokens(request.body["messages"], tools=request.body["tools"])


def holds_up(held: list[BaseMessage], spoken: list[str], requests: list[SeenRequest]) -> None:
    """With any summariser everything is in the thread, and every request is small, valid and to the point."""
    assert [message.type for message in held] == ["human", "ai"] * TURNS
    assert [message.content for message in held[::2]] == spoken
    assert len({message.id for message in held}) == 2 * TURNS
    assert [request.refused for request in requests] == [None] * TURNS
    for number, request in enumerate(requests):
        assert size(request) <= RULE["max_tokens"]
        assert problems(request.body["messages"]) == []
        assert request.body["messages"][0]["role"] == "system"
        assert request.body["messages"][0]["content"].startswith("You are the workbench.")
        assert request.body["messages"][1]["content"] == spoken[0]
        assert request.body["messages"][-1]["content"] == spoken[number]
    assert min(map(size, requests[TURNS // 2 :])) > RULE["max_tokens"] / 4


async def test_a_fact_of_turn_3_and_the_first_goal_outlast_every_summary(agent: Agent) -> None:
    """B-30, B-32, case 69: English and Chinese, and later facts that want the same room."""
    notes = Notes()
    held, spoken, requests = await conversation(agent.harness(summariser=notes))
    holds_up(held, spoken, requests)
    assert all(FACT in sent(request) for request in requests[2:])
    assert all(f"pallet {number} is blue" in sent(requests[-1]) for number in (40, 80, 120))
    assert TURNS / 12 <= len(notes.materials) <= TURNS / 2
    assert all(GOAL in material.goal for material in notes.materials)
    assert all(FACT in material.previous for material in notes.materials[1:])


async def test_without_a_summariser_the_goal_stays_and_the_rest_is_counted(agent: Agent) -> None:
    """B-34: nothing is made up; what was folded is in the thread only."""
    held, spoken, requests = await conversation(agent.harness())
    holds_up(held, spoken, requests)
    assert FACT in sent(requests[3])
    assert FACT not in sent(requests[-1])
    (summary,) = (m["content"] for m in requests[-1].body["messages"] if "<summary>" in m["content"])
    assert "earlier messages folded: ai ×" in summary
