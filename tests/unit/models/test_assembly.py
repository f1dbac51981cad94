from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk

from agent.models.assembly import Assembly
from agent.models.outgoing import REASONING

Piece = tuple[str | None, str | None, str | None, int | None]
"""Name, id, arguments, index."""


def chunk(*pieces: Piece, content: str = "", info: dict[str, Any] | None = None, **more: Any) -> Any:
    made = [tool_call_chunk(name=n, id=i, args=a, index=x) for n, i, a, x in pieces]
    message = AIMessageChunk(content=content, tool_call_chunks=made, **more)
    return ChatGenerationChunk(message=message, generation_info=info)


def added(assembly: Assembly, *chunks: ChatGenerationChunk) -> AIMessageChunk:
    whole = AIMessageChunk(content="")
    for one in chunks:
        whole += cast("AIMessageChunk", assembly.take(one).message)
    return whole


def calls(*pieces: Piece, taken: frozenset[str] = frozenset()) -> list[tuple[str, Any, str | None]]:
    whole = added(Assembly(taken), *(chunk(piece) for piece in pieces))
    assert whole.invalid_tool_calls == []
    return [(call["name"], call["args"], call["id"]) for call in whole.tool_calls]


def test_pieces_of_a_healthy_stream_keep_their_ids() -> None:
    assert calls(
        ("weather", "a", "", 0),
        (None, None, '{"city":', 0),
        (None, None, ' "Ulm"}', 0),
        ("time", "b", "{}", 1),
    ) == [("weather", {"city": "Ulm"}, "a"), ("time", {}, "b")]


def test_interleaved_pieces_go_to_their_own_call() -> None:
    assert calls(
        ("weather", "a", '{"x":', 0), ("time", "b", '{"y":', 1), (None, None, "1}", 0), (None, None, "2}", 1)
    ) == [("weather", {"x": 1}, "a"), ("time", {"y": 2}, "b")]


def test_without_an_index_a_name_begins_a_call() -> None:
    assert calls(
        ("weather", "a", "", None),
        (None, None, '{"x": 1}', None),
        ("time", "b", "", None),
        (None, "", "{}", None),
    ) == [("weather", {"x": 1}, "a"), ("time", {}, "b")]


def test_two_calls_under_one_index_come_apart() -> None:
    assert calls(("weather", "a", '{"x": 1}', 0), ("weather", "b", "", 0), (None, None, '{"x": 2}', 0)) == [
        ("weather", {"x": 1}, "a"),
        ("weather", {"x": 2}, "b"),
    ]


def test_an_id_that_changes_with_every_piece_is_one_call_with_the_first() -> None:
    assert calls(("weather", "a", "", 0), (None, "a-1", '{"x":', 0), (None, "a-2", " 1}", 0)) == [
        ("weather", {"x": 1}, "a")
    ]


def test_a_name_that_comes_with_every_piece_is_one_call() -> None:
    assert calls(("weather", "a", "", 0), ("weather", "a", '{"x":', 0), ("weather", "a", " 1}", 0)) == [
        ("weather", {"x": 1}, "a")
    ]


@pytest.mark.parametrize("index", [0, None])
def test_a_repeated_id_is_another_call_once_the_first_is_finished(index: int | None) -> None:
    found = calls(
        ("weather", "a", '{"x":', index),
        (None, None, " 1}", index),
        ("weather", "a", "", index),
        (None, None, '{"x": 2}', index),
    )
    assert [args for _, args, _ in found] == [{"x": 1}, {"x": 2}]
    assert found[0][2] == "a"
    assert found[1][2] not in ("a", "", None)


@pytest.mark.parametrize("empty", ["", None])
def test_missing_ids_are_filled_in(empty: str | None) -> None:
    found = calls(("weather", empty, "{}", 0), ("weather", empty, "{}", 1), ("weather", empty, "{}", None))
    assert len({identifier for _, _, identifier in found} - {"", None}) == 3


def test_an_id_of_the_history_is_not_used_again() -> None:
    ((_, _, identifier),) = calls(("weather", "call_0", "{}", 0), taken=frozenset({"call_0"}))
    assert identifier not in ("call_0", "", None)


def test_arguments_that_begin_with_nothing_are_an_unreadable_call_not_a_lost_one() -> None:
    whole = added(Assembly(), chunk((None, None, '{"x": 1}', 0)))
    assert len(whole.tool_calls) + len(whole.invalid_tool_calls) == 1


def test_usage_is_kept_back_and_the_last_one_counts() -> None:
    assembly = Assembly()
    usage = [{"input_tokens": 5, "output_tokens": n, "total_tokens": 5 + n} for n in (1, 2)]
    whole = added(assembly, *(chunk(usage_metadata=one) for one in usage), chunk())
    assert whole.usage_metadata is None
    assert assembly.usage == usage[1]


def test_the_end_is_told_once() -> None:
    assembly = Assembly()
    end = {"finish_reason": "stop", "model_name": "m", "system_fingerprint": "f"}
    assert assembly.take(chunk(content="a")).generation_info is None
    assert assembly.finish_reason is None
    assert assembly.take(chunk(info=end)).generation_info == end
    assert assembly.take(chunk(info={**end, "logprobs": {}})).generation_info == {"logprobs": {}}
    assert assembly.finish_reason == "stop"


def test_everything_that_was_written_is_known() -> None:
    assembly = Assembly()
    added(
        assembly,
        chunk(additional_kwargs={REASONING: "hm "}),
        chunk(content="It is"),
        chunk(("weather", "a", '{"x"', 0)),
        chunk((None, None, ": 1}", 0)),
    )
    assert assembly.written() == 'hm It isweather{"x": 1}'


def test_text_metadata_and_id_of_a_chunk_stay() -> None:
    given = chunk(content="a", id="m", response_metadata={"model_provider": "openai"})
    taken = Assembly().take(given).message
    assert (taken.content, taken.id, taken.response_metadata) == ("a", "m", {"model_provider": "openai"})


@settings(deadline=None)
@given(
    st.lists(st.dictionaries(st.text(max_size=5), st.integers(), max_size=2), min_size=1, max_size=4),
    st.sampled_from(["normal", "empty", "repeated", "per_piece"]),
    st.sampled_from(["normal", "missing", "same"]),
    st.integers(1, 7),
)
def test_whatever_the_habits_are_the_calls_come_whole(
    arguments: list[dict[str, int]], ids: str, index: str, size: int
) -> None:
    pieces: list[Piece] = []
    for number, value in enumerate(arguments):
        where = {"normal": number, "missing": None, "same": 0}[index]
        own = {"normal": f"c{number}", "empty": "", "repeated": "c", "per_piece": f"c{number}"}[ids]
        text = json.dumps(value)
        pieces.append(("weather", own, "", where))
        for start in range(0, len(text), size):
            again = f"{own}-{start}" if ids == "per_piece" else None
            pieces.append((None, again, text[start : start + size], where))
    found = calls(*pieces)
    assert [args for _, args, _ in found] == arguments
    assert len({identifier for _, _, identifier in found}) == len(arguments)
