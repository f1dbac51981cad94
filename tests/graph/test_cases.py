"""Field cases of histories, context and providers that no other file of this folder has as its subject."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent.context import AgentContext, ModelChoice
from agent.errors import ToolFailure
from agent.history.problems import problems as thread_problems
from agent.models import Models
from agent.offline.history import problems
from agent.offline.script import ScriptedCall, SeenRequest, Turn
from agent.state import HistoryMode
from agent.tools import results
from agent.tools.registry import Registry
from tests.graph.conftest import Agent
from tests.support.endpoint import Conversation
from tests.unit.compaction.talks import FACT, talk
from tests.unit.models.test_retry import Clock

pytestmark = pytest.mark.anyio

MODES: list[HistoryMode] = ["delta", "full"]
WHOLE = "".join(f"line {number:07d} of the export\n" for number in range(100_000))
MEGABYTES = 3_000_000
RULE = {"max_tokens": 600, "keep_recent": 2}
DUMP = WHOLE[:MEGABYTES].ljust(MEGABYTES, ".")


def thread() -> str:
    return str(uuid.uuid4())


def calls(name: str, identity: str, **arguments: Any) -> Turn:
    return Turn(content="", tool_calls=(ScriptedCall(name=name, args=arguments, id=identity),))


async def requests(conversation: Conversation) -> list[SeenRequest]:
    """Every request, of which each is a valid history."""
    seen = await conversation.requests()
    assert seen
    assert [problems(request.body["messages"]) for request in seen] == [[]] * len(seen)
    return seen


def stored(saver: InMemorySaver, place: str) -> int:
    """Bytes that the saver holds of a thread: checkpoints, channel values and writes."""
    checkpoints = [
        len(typed[1])
        for kept in saver.storage[place].values()
        for entry in kept.values()
        for typed in entry[:2]
    ]
    values = [len(typed[1]) for key, typed in saver.blobs.items() if key[0] == place]
    written = [
        len(write[2][1])
        for key, writes in saver.writes.items()
        if key[0] == place
        for write in writes.values()
    ]
    assert len(checkpoints) >= 2
    assert written
    return sum(checkpoints) + sum(values) + sum(written)


@pytest.fixture
def exporting(registry: Registry, agent: Agent) -> Agent:
    """The agent with a tool that returns 3 MB, and those that read a stored result on."""

    @registry.tool("bench.export", risk="read")
    async def export() -> str:
        """Export everything."""
        return DUMP

    results.register(registry, ledger=agent.ledger)
    assert callable(export)
    return agent


@pytest.mark.parametrize("mode", MODES)
async def test_megabytes_from_a_tool_neither_swell_the_thread_nor_poison_it(
    exporting: Agent, mode: HistoryMode
) -> None:
    """Cases 68 and 69: 3 MB became 12 MB over 7 checkpoints, and no endpoint took the next request."""
    agent = exporting.harness(mode=mode)
    place, context = thread(), agent.context(tools=("bench.export", "bench.echo", "results.read"))
    conversation = await agent.endpoint.script(
        calls("bench_export", "call_x"),
        calls("bench_echo", "call_e", text="and then"),
        Turn(content="Exported."),
        Turn(content="Hello."),
        context_limit=12_000,
    )
    messages = await agent.run(conversation.says("export"), thread=place, context=context)
    assert (await agent.run("hello", thread=place, context=context))[-1].content == "Hello."
    assert len(await agent.history(place)) == 10
    shown = str(messages[2].content)
    assert shown.startswith(DUMP[:15_000])
    assert shown.endswith(DUMP[-5_000:])
    assert 'results_read with call "call_x", offset 15000' in shown
    assert len(shown) < 20_200
    copies = 1 if mode == "delta" else 8
    assert len(shown) < stored(agent.saver, place) < copies * len(shown) + 60_000
    assert [request.refused for request in await requests(conversation)] == [None] * 4
    assert thread_problems(await agent.messages(place)) == []
    kept = await agent.ledger.results.get("acme", thread=place, call_id="call_x")
    assert kept is not None
    assert (kept.length, kept.text) == (MEGABYTES, DUMP[:1_000_000])
    assert kept.truncated


async def test_what_the_ledger_does_not_keep_is_said_to_be_lost(exporting: Agent) -> None:
    """Case 69: of a result beyond a million characters the rest is neither invented nor promised."""
    agent = exporting.harness()
    place, context = thread(), exporting.context(tools=("bench.export", "results.read"))
    conversation = await agent.endpoint.script(
        calls("bench_export", "call_x"),
        calls("results_read", "call_1", call="call_x", offset=999_900, length=500),
        calls("results_read", "call_2", call="call_x", offset=2_000_000),
        Turn(content="The end is lost."),
    )
    messages = await agent.run(conversation.says("export"), thread=place, context=context)
    told = {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage)}
    page: dict[str, Any] = json.loads(str(told["call_1"].content))
    assert page["text"] == DUMP[999_900:1_000_000]
    assert (page["total"], page["next_offset"]) == (MEGABYTES, None)
    assert page["note"] == "Only the first 1000000 of 3000000 characters are kept; the rest is lost."
    assert told["call_2"].status == "error"
    assert "1000000 characters can be read" in str(told["call_2"].content)
    assert len(await requests(conversation)) == 4


async def test_a_long_failure_is_cut_like_a_long_result(registry: Registry, agent: Agent) -> None:
    """Case 68: what a tool says of its failure goes the same way into the thread."""

    @registry.tool("bench.verbose", risk="read", output_cap=500)
    async def verbose() -> str:
        """Fail at length."""
        raise ToolFailure("no " * 100_000)

    assert callable(verbose)
    place = thread()
    conversation = await agent.endpoint.script(
        calls("bench_verbose", "call_v"), Turn(content="It failed."), context_limit=3_000
    )
    context = agent.context(tools=("bench.verbose",))
    messages = await agent.harness().run(conversation.says("go"), thread=place, context=context)
    result = messages[2]
    assert isinstance(result, ToolMessage)
    assert result.status == "error"
    assert len(str(result.content)) < 700
    assert messages[-1].content == "It failed."
    assert [request.refused for request in await requests(conversation)] == [None, None]


class TestSummariserDown:
    """Case 70: the summariser has a bad day, the conversation has not."""

    async def prepared(self, agent: Agent, *turns: Turn, **switches: Any) -> tuple[Conversation, str]:
        agent.harness(models=Models(retry=Clock().retry()), summariser="model")
        place = thread()
        conversation = await agent.endpoint.script(*turns, **switches)
        long = talk(12)
        long[0] = HumanMessage(conversation.says("The goal: find my parcel."), id="h0")
        await agent.put(long, thread=place)
        return conversation, place

    async def memory(self, agent: Agent, place: str) -> Any:
        config: Any = {"configurable": {"thread_id": place}}
        return (await agent.graph.aget_state(config)).values.get("compaction")

    @pytest.mark.parametrize("status", [429, 500, 503])
    async def test_every_turn_is_answered_while_it_is_down_and_it_is_asked_again(
        self, agent: Agent, status: int
    ) -> None:
        down = [Turn(status=status, error="Error generating summary: sk-123")] * 3
        good = Turn(content=f"Notes: {FACT}.")
        conversation, place = await self.prepared(
            agent, *down, Turn(content="one"), *down, Turn(content="two"), *[good] * 9
        )
        context = agent.context(compaction=RULE, tools=())
        for said in ("one", "two"):
            assert (await agent.run("next", thread=place, context=context))[-1].content == said
            assert await self.memory(agent, place) is None
            full = (await requests(conversation))[-1].body["messages"]
            assert len(full) == 1 + len(await agent.messages(place)) - 1  # the prompt, and not yet the answer
        await agent.run("next", thread=place, context=context)
        assert (await self.memory(agent, place))["text"].startswith("Notes: ")
        seen = await requests(conversation)
        assert len(seen[-1].body["messages"]) < 20
        assert FACT in json.dumps(seen[-1].body["messages"])
        assert "sk-123" not in json.dumps([request.body for request in seen])
        assert "Error generating" not in str(await agent.messages(place))

    async def test_one_that_takes_too_long_is_given_up(self, agent: Agent) -> None:
        conversation, place = await self.prepared(
            agent, Turn(content="late", gate="never"), Turn(content="Here.")
        )
        choice = ModelChoice(name="openai:slow", base_url=agent.endpoint.url, timeout=0.4)
        context = agent.context(compaction=RULE, tools=(), model=choice)
        agent.harness(summariser="model")
        assert (await agent.run("next", thread=place, context=context))[-1].content == "Here."
        assert await self.memory(agent, place) is None
        assert len((await requests(conversation))[-1].body["messages"]) == 1 + 24 + 1

    async def test_near_the_endpoints_limit_the_older_part_is_left_out_without_a_summary(
        self, agent: Agent
    ) -> None:
        """A hard trim: the goal and the question stay, what was left out is counted, nothing is made up."""

        async def broken(*_: object) -> str:
            raise RuntimeError("no summary today")

        conversation, place = await self.prepared(
            agent, Turn(content="one"), Turn(content="two"), context_limit=600
        )
        agent.harness(summariser=broken)
        context: AgentContext = agent.context(tools=())
        assert (await agent.run("the question", thread=place, context=context))[-1].content == "one"
        assert (await agent.run("another", thread=place, context=context))[-1].content == "two"
        seen = await requests(conversation)
        assert [request.refused is None for request in seen] == [False, True, False, True]
        for request, question in ((seen[1], "the question"), (seen[3], "another")):
            sent = request.body["messages"]
            assert "The goal: find my parcel." in sent[1]["content"]
            assert sent[-1] == {"role": "user", "content": question}
        assert await self.memory(agent, place) is None
        assert len(await agent.messages(place)) == 24 + 4
