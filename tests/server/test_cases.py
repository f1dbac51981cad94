"""Field cases as a person meets them on a real server: threads that go on, results that are not lost.

Each request that the endpoint saw must be a valid history, whatever was cancelled, broken or refused before.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from agent.history.answer import SILENCE
from agent.offline.history import problems
from agent.offline.script import ScriptedCall, Turn
from tests.server.test_conversation import shop
from tests.support.dialogue import Json, ask, message, new_thread, wait
from tests.support.endpoint import Conversation, Endpoint
from tests.support.server import Server, assistant

pytestmark = [pytest.mark.anyio, pytest.mark.server, pytest.mark.e2e]

SUPPORT, THINKER, SPARE = (assistant(f"lantern/{name}") for name in ("support", "thinker", "spare"))


def call(name: str, identity: str, **arguments: Any) -> ScriptedCall:
    return ScriptedCall(name=name, args=arguments, id=identity)


def calls(*made: ScriptedCall, **more: Any) -> Turn:
    return Turn(content="", tool_calls=made, **more)


def results(messages: list[Json]) -> dict[str, Json]:
    """What each call was answered with."""
    return {m["tool_call_id"]: json.loads(m["content"]) for m in messages if m["type"] == "tool"}


async def all_valid(talk: Conversation, *, count: int) -> list[Json]:
    """The bodies of the requests; each is a history that a strict endpoint takes."""
    requests = await talk.requests()
    assert len(requests) == count
    assert [problems(request.body["messages"]) for request in requests] == [[]] * count
    assert [request.refused for request in requests] == [None] * count
    return [request.body for request in requests]


def order(running: Server) -> int:
    """An order of lantern's of which a little can be refunded."""
    query = (
        "SELECT number FROM orders WHERE tenant = 'lantern' AND status = 'delivered' AND total_minor > 9000"
    )
    return shop(running, query)[0][0]


def refunds(running: Server, reason: str) -> list[tuple[Any, ...]]:
    query = "SELECT amount_minor FROM refunds WHERE tenant = 'lantern' AND reason = '{}'"
    return shop(running, query.format(reason))


@contextmanager
def shop_is_busy(running: Server) -> Generator[None]:
    """Another program holds the shop's write lock: reads go on, a refund hangs."""
    with closing(sqlite3.connect(running.home / "shop.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            connection.execute("ROLLBACK")


BEGUN = "SELECT 1 FROM ledger_reservations WHERE thread = ? AND key = 'call:' || ?"
ENDED = "SELECT 1 FROM ledger_results WHERE thread = ? AND call_id = ?"


async def noted(running: Server, query: str, thread: str, call_id: str) -> None:
    """Wait until the ledger has noted that the execution of a call has `BEGUN` (a write's) or `ENDED`."""
    with closing(sqlite3.connect(running.home / "signalbox.db")) as ledger:
        async with asyncio.timeout(20):
            while ledger.execute(query, (thread, call_id)).fetchone() is None:  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.02)


async def test_a_cancelled_thread_takes_the_next_message(running: Server, model: Endpoint) -> None:
    """Case 1: stop in the middle of a tool; stock stacks refuse every later message."""
    ann = running.client("lantern", "ann")
    refund = call("orders_refund", "call_w", order=order(running), amount=5, reason="case one")
    talk = await model.script(calls(refund), Turn(content="I can't tell."), Turn(content="Yes."))
    thread = await new_thread(ann)
    with shop_is_busy(running):
        run = await ann.runs.create(thread, SUPPORT, input=message(talk.says("refund please")))
        await noted(running, BEGUN, thread, "call_w")
        await ann.runs.cancel(thread, run["run_id"])
    await ann.runs.join(thread, run["run_id"])
    assert (await ann.runs.get(thread, run["run_id"]))["status"] == "interrupted"
    messages = await ask(ann, thread, "Did it work?", to=SUPPORT)
    assert [m["type"] for m in messages] == ["human", "ai", "tool", "human", "ai"]
    told = results(messages)["call_w"]
    assert told["error"] == "outcome_unknown"
    assert "Check before repeating" in told["message"]
    assert messages[-1]["content"] == "I can't tell."
    assert refunds(running, "case one") == []
    again = await ask(ann, thread, "Are you there?", to=SUPPORT)
    assert again[: len(messages)] == messages
    assert again[-1]["content"] == "Yes."
    await all_valid(talk, count=3)


async def test_a_message_that_interrupts_the_run_is_answered(running: Server, model: Endpoint) -> None:
    """Case 1, double texting with `interrupt`: the second question gets its answer on a whole thread."""
    ann = running.client("lantern", "ann")
    refund = call("orders_refund", "call_w", order=order(running), amount=5, reason="case one again")
    talk = await model.script(calls(refund), Turn(content="Forget it, then."))
    thread = await new_thread(ann)
    with shop_is_busy(running):
        first = await ann.runs.create(thread, SUPPORT, input=message(talk.says("refund please")))
        await noted(running, BEGUN, thread, "call_w")
        second = await ann.runs.create(
            thread, SUPPORT, input=message("No, forget it."), multitask_strategy="interrupt"
        )
    await ann.runs.join(thread, second["run_id"])
    statuses = [(await ann.runs.get(thread, one["run_id"]))["status"] for one in (first, second)]
    assert statuses == ["interrupted", "success"]
    state: Json = await ann.threads.get_state(thread)
    messages = state["values"]["messages"]
    assert [m["type"] for m in messages] == ["human", "ai", "tool", "human", "ai"]
    assert results(messages)["call_w"]["error"] == "outcome_unknown"
    assert messages[-1]["content"] == "Forget it, then."
    assert refunds(running, "case one again") == []
    await all_valid(talk, count=2)


async def test_what_a_parallel_tool_had_found_before_the_cancel_is_told(
    running: Server, model: Endpoint
) -> None:
    """Case 3: the finished sibling's result is no pending write that the next message throws away."""
    ann, number = running.client("lantern", "ann"), order(running)
    both = calls(
        call("orders_refund", "call_w", order=number, amount=5, reason="case three"),
        call("orders_get", "call_r", number=number),
    )
    talk = await model.script(both, Turn(content="Found it; the refund is unknown."))
    thread = await new_thread(ann)
    with shop_is_busy(running):
        run = await ann.runs.create(thread, SUPPORT, input=message(talk.says("refund and look")))
        await noted(running, BEGUN, thread, "call_w")
        await noted(running, ENDED, thread, "call_r")
        await ann.runs.cancel(thread, run["run_id"])
    await ann.runs.join(thread, run["run_id"])
    messages = await ask(ann, thread, "What happened?", to=SUPPORT)
    told = results(messages)
    assert [m["tool_call_id"] for m in messages if m["type"] == "tool"] == ["call_w", "call_r"]
    assert (told["call_r"]["order"], told["call_r"]["status"]) == (number, "delivered")
    assert told["call_w"]["error"] == "outcome_unknown"
    _, last = await all_valid(talk, count=2)
    (seen,) = [m["content"] for m in last["messages"] if m.get("tool_call_id") == "call_r"]
    assert str(told["call_r"]["total"]) in seen


async def test_one_tool_that_breaks_does_not_end_the_conversation(running: Server, model: Endpoint) -> None:
    """Case 2: the failure is a result without internals, its sibling's stands, and the thread goes on."""
    ann, number = running.client("lantern", "ann"), order(running)
    both = calls(
        call("orders_get", "call_b", number=number),
        call("kb_search", "call_k", query="returns"),
    )
    talk = await model.script(both, Turn(content="One failed."), Turn(content="Still here."))
    thread = await new_thread(ann)
    database = running.home / "shop.db"
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("ALTER TABLE orders RENAME TO orders_away")
        try:
            messages = await ask(ann, thread, talk.says("Where is it?"), to=SUPPORT)
        finally:
            connection.execute("ALTER TABLE orders_away RENAME TO orders")
    told = results(messages)
    assert told["call_b"]["error"] == "tool_failed"
    assert "passages" in told["call_k"] or "error" in told["call_k"]
    assert messages[-1]["content"] == "One failed."
    (run,) = await ann.runs.list(thread)
    assert run["status"] == "success"
    assert (await ask(ann, thread, "And now?", to=SUPPORT))[-1]["content"] == "Still here."
    bodies = await all_valid(talk, count=3)
    for leak in ("sqlite", "no such table", "SELECT", str(running.home), "Traceback"):
        assert leak not in json.dumps([bodies, messages])


async def test_broken_arguments_end_in_an_answer(running: Server, model: Endpoint) -> None:
    """Case 6: stock stacks end the run as a success with an empty answer."""
    ann = running.client("lantern", "ann")
    broken = calls(ScriptedCall(name="orders_get", raw_arguments='{"number": 10', id="call_b"))
    talk = await model.script(broken, broken, Turn(content="I could not look it up."))
    thread = await new_thread(ann)
    messages = await ask(ann, thread, talk.says("Where is it?"), to=SUPPORT)
    assert [m["type"] for m in messages] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert [told["error"] for told in results(messages).values()] == ["arguments_unreadable"] * 2
    assert messages[-1]["content"] == "I could not look it up."
    await all_valid(talk, count=3)


async def test_an_answer_without_a_word_is_said_to_be_empty(running: Server, model: Endpoint) -> None:
    """Case 6: the run is a success, so something has to be said; the next message is answered."""
    ann = running.client("lantern", "ann")
    talk = await model.script(Turn(content=" \n"), Turn(content="Here."))
    thread = await new_thread(ann)
    assert (await ask(ann, thread, talk.says("hello?"), to=SUPPORT))[-1]["content"] == SILENCE
    assert (await ask(ann, thread, "hello?", to=SUPPORT))[-1]["content"] == "Here."
    await all_valid(talk, count=2)


@pytest.mark.parametrize("named", [True, False], ids=["with ids", "without ids"])
async def test_a_client_that_sends_the_whole_conversation_again_is_told_so(
    running: Server,
    model: Endpoint,
    named: bool,  # noqa: FBT001
) -> None:
    """Case 7: nothing of it is taken, nothing is doubled, and the new message alone is."""
    ann = running.client("lantern", "ann")
    talk = await model.script(Turn(content="one"), Turn(content="two"))
    thread = await new_thread(ann)
    held = await ask(ann, thread, talk.says("first"), to=SUPPORT)
    kept = ("type", "content", "id") if named else ("type", "content")
    whole = [*({key: m[key] for key in kept} for m in held), {"type": "human", "content": "second"}]
    async with running.http("lantern", "ann") as client:
        for path in ("runs", "runs/wait", "runs/stream"):
            body = {"assistant_id": SUPPORT, "input": {"messages": whole}}
            answer = await client.post(f"/threads/{thread}/{path}", json=body)
            assert (answer.status_code, "human messages only" in answer.json()["detail"]) == (422, True)
    state: Json = await ann.threads.get_state(thread)
    assert [m["id"] for m in state["values"]["messages"]] == [m["id"] for m in held]
    messages = await ask(ann, thread, "second", to=SUPPORT)
    assert [m["content"] for m in messages] == [talk.says("first"), "one", "second", "two"]
    await all_valid(talk, count=2)


async def test_a_persons_words_sent_again_under_their_ids_are_refused(
    running: Server, model: Endpoint
) -> None:
    """Case 7, a client that keeps the human side only: known ids are refused with the new message."""
    ann = running.client("lantern", "ann")
    talk = await model.script(Turn(content="one"), Turn(content="two"))
    thread = await new_thread(ann)
    held = await ask(ann, thread, talk.says("first"), to=SUPPORT)
    again = {"role": "user", "content": held[0]["content"], "id": held[0]["id"]}
    async with running.http("lantern", "ann") as client:
        body: Json = {
            "assistant_id": SUPPORT,
            "input": {"messages": [again, {"role": "user", "content": "second"}]},
        }
        answer = await client.post(f"/threads/{thread}/runs/wait", json=body)
    assert (answer.status_code, held[0]["id"] in answer.json()["detail"]) == (422, True)
    assert await talk.left() == 1
    messages = await ask(ann, thread, "second", to=SUPPORT)
    assert [m["content"] for m in messages] == [talk.says("first"), "one", "second", "two"]
    await all_valid(talk, count=2)


async def test_a_persons_words_sent_again_without_ids_leave_a_whole_thread(
    running: Server, model: Endpoint
) -> None:
    """Case 7: nobody can tell them from a person who repeats the words; both readings are valid."""
    ann = running.client("lantern", "ann")
    talk = await model.script(Turn(content="one"), Turn(content="two"), Turn(content="three"))
    thread = await new_thread(ann)
    first = {"role": "user", "content": talk.says("first")}
    await ask(ann, thread, first["content"], to=SUPPORT)
    async with running.http("lantern", "ann") as client:
        sent = {"messages": [first, {"role": "user", "content": "second"}]}
        body: Json = {"assistant_id": SUPPORT, "input": sent}
        messages: Json = (await client.post(f"/threads/{thread}/runs/wait", json=body)).json()["messages"]
    assert [m["type"] for m in messages] == ["human", "ai", "human", "human", "ai"]
    assert len({m["id"] for m in messages}) == 5
    assert (await ask(ann, thread, "third", to=SUPPORT))[-1]["content"] == "three"
    await all_valid(talk, count=3)


async def test_a_huge_result_does_not_poison_the_thread(running: Server, model: Endpoint) -> None:
    """Case 68: the endpoint refuses the request as too long; a smaller one follows, and then 'hello'."""
    ann = running.client("lantern", "ann")
    many = calls(*(call("orders_list", f"call_{n}", customer=f"C-000{n}", limit=50) for n in range(1, 7)))
    hello = [Turn(content="Hello.")] * 12  # the older part's summary is asked for by portions, too
    talk = await model.script(many, Turn(content="Many orders."), *hello, context_limit=2_600)
    thread = await new_thread(ann)
    messages = await ask(ann, thread, talk.says("What did they order?"), to=SUPPORT)
    assert messages[-1]["content"] == "Many orders."
    assert sum(len(m["content"]) for m in messages if m["type"] == "tool") > 9_000
    assert (await ask(ann, thread, "hello", to=SUPPORT))[-1]["content"] == "Hello."
    requests = await talk.requests()
    assert [problems(request.body["messages"]) for request in requests] == [[]] * len(requests)
    refused = [request.refused is not None for request in requests]
    assert refused[:3] == [False, True, False]
    assert "exceed" in str(requests[1].refused)
    assert (await ann.threads.get(thread))["status"] == "idle"


async def test_an_endpoint_that_demands_its_reasoning_back_gets_it(running: Server, model: Endpoint) -> None:
    """Case 84: over the tool loop, the checkpoint and the next turn, and no other field goes with it."""
    ann = running.client("lantern", "ann")
    look = call("orders_get", "call_r", number=order(running))
    talk = await model.script(
        calls(look, reasoning="Look it up first."),
        Turn(content="Delivered.", reasoning="That is all."),
        Turn(content="Yes."),
        require_reasoning=True,
        refuse_null_content=True,
    )
    thread = await new_thread(ann)
    assert (await ask(ann, thread, talk.says("Where?"), to=THINKER))[-1]["content"] == "Delivered."
    assert (await ask(ann, thread, "Sure?", to=THINKER))[-1]["content"] == "Yes."
    bodies = await all_valid(talk, count=3)
    told = [m.get("reasoning_content") for m in bodies[-1]["messages"] if m["role"] == "assistant"]
    assert told == ["Look it up first.", None]


async def test_an_endpoint_that_refuses_reasoning_is_not_sent_any(running: Server, model: Endpoint) -> None:
    """Case 84, the other way round: the thread goes on with an assistant of another endpoint."""
    ann = running.client("lantern", "ann")
    look = call("orders_get", "call_r", number=order(running))
    talk = await model.script(
        calls(look, reasoning="Look it up first."),
        Turn(content="Delivered."),
        Turn(content="Yes."),
        refuse_reasoning=True,
    )
    thread = await new_thread(ann)
    await ask(ann, thread, talk.says("Where?"), to=SPARE)
    assert (await ask(ann, thread, "Sure?", to=SUPPORT))[-1]["content"] == "Yes."
    bodies = await all_valid(talk, count=3)
    assert "Look it up first." not in json.dumps(bodies)


async def test_an_endpoint_that_reports_no_usage_is_counted_all_the_same(
    running: Server, model: Endpoint
) -> None:
    """Case 86: a streamed answer has no usage unless the endpoint sends it, and budgets would see zero."""
    ann = running.client("lantern", "ann")
    look = call("orders_get", "call_r", number=order(running))
    talk = await model.script(calls(look), Turn(content="Delivered."), no_usage=True)
    thread = await new_thread(ann)
    messages: list[Json] = []
    stream = ann.runs.stream(
        thread, SPARE, input=message(talk.says("Where?")), stream_mode=["messages-tuple", "values"]
    )
    async for event in stream:
        part: Json = event
        if part.event == "values":
            messages = part.data["messages"]
    assert [m["type"] for m in messages] == ["human", "ai", "tool", "ai"]
    for answer in (messages[1], messages[3]):
        assert answer["usage_metadata"]["input_tokens"] > 50
        assert answer["usage_metadata"]["output_tokens"] > 0
    query = "SELECT tokens_in, tokens_out, estimated FROM ledger_model_calls WHERE thread = ? ORDER BY id"
    with closing(sqlite3.connect(running.home / "signalbox.db")) as ledger:
        rows = ledger.execute(query, (thread,)).fetchall()
    counted = [answer["usage_metadata"] for answer in (messages[1], messages[3])]
    assert rows == [(one["input_tokens"], one["output_tokens"], 1) for one in counted]
    bodies = await all_valid(talk, count=2)
    assert [body["stream_options"] for body in bodies] == [{"include_usage": True}] * 2


async def test_the_spare_model_goes_on_where_the_first_one_fails(running: Server, model: Endpoint) -> None:
    """Case 87: mid-run, at once, with one retry layer, and nothing is done or said twice."""
    ann, number = running.client("lantern", "ann"), order(running)
    refund = call("orders_refund", "call_w", order=number, amount=3, reason="case eighty-seven")
    down = Turn(status=503, error="upstream exploded", headers={"retry-after": "0"})
    cut = Turn(content="half an answer that", cut_after_chunks=4)
    talk = await model.script(
        calls(refund, reasoning="hm"), cut, down, down, Turn(content="The spare one.", chunks=4)
    )
    thread = await new_thread(ann)
    texts: dict[str, str] = {}
    marks: list[Json] = []
    stream = ann.runs.stream(
        thread, SPARE, input=message(talk.says("refund")), stream_mode=["messages-tuple", "custom"]
    )
    async for event in stream:
        part: Json = event
        if part.event == "messages" and part.data[0]["type"] == "AIMessageChunk":
            texts[part.data[0]["id"]] = texts.get(part.data[0]["id"], "") + part.data[0]["content"]
        if part.event == "custom":
            marks.append(part.data)
    bodies = await all_valid(talk, count=5)
    assert [body["model"] for body in bodies] == ["scripted"] * 4 + ["spare"]
    assert refunds(running, "case eighty-seven") == [(300,)]
    state: Json = await ann.threads.get_state(thread)
    messages = state["values"]["messages"]
    assert [m["type"] for m in messages] == ["human", "ai", "tool", "ai"]
    assert texts[messages[-1]["id"]] == messages[-1]["content"] == "The spare one."
    assert [mark["type"] for mark in marks] == ["model_retry"] * 2
    assert "upstream exploded" not in json.dumps(state)


async def test_a_request_that_is_refused_is_not_repeated_elsewhere(running: Server, model: Endpoint) -> None:
    """Case 87: a 400 is nobody's bad day; it is said at once, and the thread goes on."""
    ann = running.client("lantern", "ann")
    talk = await model.script(Turn(status=400, error="no such parameter: sk-123"), Turn(content="Back."))
    thread = await new_thread(ann)
    failed = await wait(ann, thread, SPARE, talk.says("hello"), raise_error=False)
    assert "refused the request" in failed["__error__"]["message"]
    assert "sk-123" not in json.dumps(failed)
    assert len(await talk.requests()) == 1
    assert [m["type"] for m in await ask(ann, thread, "again", to=SPARE)] == ["human", "human", "ai"]


async def test_what_waits_is_told_alike_in_every_place(running: Server, model: Endpoint) -> None:
    """Case 17: thread, state, tasks, the wait's body and the search say the same of one interrupt."""
    ann = running.client("lantern", "ann")
    refund = call("orders_refund", "call_w", order=order(running), amount=100, reason="case seventeen")
    talk = await model.script(calls(refund), Turn(content="never"))
    thread = await new_thread(ann)
    body = await wait(ann, thread, SUPPORT, talk.says("refund please"))
    (waits,) = body["__interrupt__"]
    held: Json = await ann.threads.get(thread)
    state: Json = await ann.threads.get_state(thread)
    found: Json = [
        one
        for one in await ann.threads.search(status="interrupted", limit=1_000)
        if one["thread_id"] == thread
    ]
    places = [
        *held["interrupts"].values(),
        state["interrupts"],
        *(task["interrupts"] for task in state["tasks"]),
        *found[0]["interrupts"].values(),
    ]
    assert [[one["id"] for one in place] for place in places] == [[waits["id"]]] * 4
    assert [[one["value"] for one in place] for place in places] == [[waits["value"]]] * 4
    assert refunds(running, "case seventeen") == []
    await all_valid(talk, count=1)
