"""The control routes of script mode."""

from __future__ import annotations

import asyncio

import pytest

from agent.offline.script import SeenRequests, Turn
from tests.unit.offline.speech import user
from tests.unit.offline.stand import Stand

pytestmark = pytest.mark.anyio


async def test_put_answers_with_the_number_of_turns(stand: Stand) -> None:
    response = await stand.http.put(
        "/script/control-put", json={"turns": [{"content": "a"}, {"content": "b"}]}
    )

    assert response.status_code == 200
    assert response.json() == {"key": "control-put", "turns": 2}


async def test_put_replaces_turns_and_forgets_requests(stand: Stand) -> None:
    key = await stand.put(Turn(content="old"))
    await stand.post({"model": "m", "messages": [user(key)]})
    await stand.put(Turn(content="new"), key=key)

    seen = await stand.seen(key)
    response = await stand.post({"model": "m", "messages": [user(key)]})

    assert (seen.requests, seen.left) == ((), 1)
    assert response.json()["choices"][0]["message"]["content"] == "new"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"{", "Script 'control-bad' is not valid: Expecting property name"),
        (b'{"turns": [{"contents": "x"}]}', "turns.0.contents: Extra inputs are not permitted"),
        (b"[]", "script: Input should be a valid dictionary"),
    ],
)
async def test_invalid_script_is_refused_with_the_place(stand: Stand, content: bytes, text: str) -> None:
    response = await stand.http.put("/script/control-bad", content=content)

    assert response.status_code == 400
    assert text in response.json()["error"]["message"]
    assert (await stand.http.get("/script/control-bad/requests")).status_code == 404


async def test_deleted_script_answers_nobody(stand: Stand) -> None:
    key = await stand.put(Turn(content="x"))

    deleted = await stand.http.delete(f"/script/{key}")
    again = await stand.http.delete(f"/script/{key}")
    asked = await stand.post({"model": "m", "messages": [user(key)]})

    assert (deleted.status_code, again.status_code, asked.status_code) == (200, 404, 400)
    assert again.json()["error"]["message"] == f"There is no script '{key}'; put it with PUT /script/{key}."


async def test_key_may_be_any_text_without_a_slash(stand: Stand) -> None:
    key = await stand.put(Turn(content="好"), key="会话 7")

    response = await stand.post({"model": "m", "messages": [user("这是会话 7。")]})

    assert response.json()["choices"][0]["message"]["content"] == "好"
    assert len((await stand.seen(key)).requests) == 1


async def test_unknown_gate_is_refused_with_the_known_ones(stand: Stand) -> None:
    key = await stand.put(Turn(content="x", gate="go"))

    response = await stand.http.post(f"/script/{key}/gate/og")
    nobody = await stand.http.post("/script/control-nobody/gate/go")

    assert response.status_code == 404
    assert response.json()["error"]["message"] == f"Script '{key}' has no gate 'og', only ['go']."
    assert nobody.status_code == 404


async def test_waiting_for_requests_ends_when_they_came(stand: Stand) -> None:
    key = await stand.put(Turn(content="x"), Turn(content="y"))
    waiting = asyncio.create_task(stand.seen(key, wait_for=2))

    await stand.post({"model": "m", "messages": [user(key)]})
    after_one = waiting.done()
    await stand.post({"model": "m", "messages": [user(key)]})

    assert not after_one
    assert [request.turn for request in (await waiting).requests] == [0, 1]


async def test_waiting_in_vain_is_an_error_with_the_figures(stand: Stand) -> None:
    key = await stand.put(Turn(content="x"))

    response = await stand.http.get(f"/script/{key}/requests?wait_for=2&timeout=0.02")

    assert response.status_code == 504
    assert (
        response.json()["error"]["message"] == f"Script '{key}' saw 0 requests in 0.02 seconds, expected 2."
    )


async def test_waiting_parameters_must_be_numbers(stand: Stand) -> None:
    key = await stand.put(Turn(content="x"))

    response = await stand.http.get(f"/script/{key}/requests?wait_for=two")

    assert response.status_code == 400
    assert "'wait_for' and 'timeout' must be numbers" in response.text


async def test_all_requests_are_listed_also_those_without_a_script(stand: Stand) -> None:
    key = await stand.put(Turn(content="x"))
    await stand.post({"model": "m", "messages": [user(key)]})
    await stand.post({"model": "m", "messages": [user("stray control request")]})

    seen = SeenRequests.model_validate((await stand.http.get("/requests")).json())

    mine = [request for request in seen.requests if request.key == key]
    stray = [
        request
        for request in seen.requests
        if request.key is None and request.body["messages"] == [user("stray control request")]
    ]
    assert [request.turn for request in mine] == [0]
    assert len(stray) == 1
    assert stray[0].refused is not None
    assert "No script's key occurs" in stray[0].refused
    numbers = [request.n for request in seen.requests]
    assert numbers == sorted(set(numbers))


async def test_rules_mode_has_no_control_routes(rules: Stand) -> None:
    response = await rules.http.put("/script/x", json={"turns": []})

    assert response.status_code == 404
