from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.errors import InvalidUpdateError
from langgraph.graph import END, START, StateGraph

from agent.reducers import append_unique, counter_max, keep_best, merge_by_id, merge_by_index

Record = dict[str, Any]

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(-5, 5) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
    max_leaves=4,
)


def patches(key: str, keys: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Record]]:
    return st.lists(st.fixed_dictionaries({key: keys, "text": st.text("ab", max_size=2)}), max_size=5)


by_id = patches("id", st.sampled_from(["a", "b", "c"]))
by_index = patches("index", st.integers(0, 4))
items = st.lists(json_values, max_size=5)
scored = st.fixed_dictionaries({"score": st.integers(1, 3), "draft": json_values})


def normal(value: object) -> str:
    return json.dumps(value, sort_keys=True)


# Applying a patch twice is applying it once


@given(left=st.none() | by_id, patch=st.none() | by_id)
def test_merge_by_id_is_idempotent(left: list[Record] | None, patch: list[Record] | None) -> None:
    once = merge_by_id(left, patch)
    assert merge_by_id(once, patch) == once


@given(left=st.none() | by_index, patch=st.none() | by_index)
def test_merge_by_index_is_idempotent(left: list[Record] | None, patch: list[Record] | None) -> None:
    once = merge_by_index(left, patch)
    assert merge_by_index(once, patch) == once


@given(left=st.none() | items, patch=st.none() | items)
def test_append_unique_is_idempotent(left: list[Any] | None, patch: list[Any] | None) -> None:
    once = append_unique(left, patch)
    assert append_unique(once, patch) == once


@given(left=st.none() | st.integers(0, 9), patch=st.none() | st.integers(0, 9))
def test_counter_max_is_idempotent(left: int | None, patch: int | None) -> None:
    once = counter_max(left, patch)
    assert counter_max(once, patch) == once


@given(left=st.none() | scored, patch=st.none() | scored)
def test_keep_best_is_idempotent(left: Record | None, patch: Record | None) -> None:
    once = keep_best(left, patch)
    assert keep_best(once, patch) == once


# Nothing on either side is nothing


@given(value=by_id)
def test_merge_by_id_takes_nothing_as_nothing(value: list[Record]) -> None:
    kept = merge_by_id(value, None)
    assert kept == merge_by_id(None, value) == merge_by_id(value, [])
    assert {record["id"] for record in kept} == {record["id"] for record in value}
    assert merge_by_id(None, None) == []


@given(value=by_index)
def test_merge_by_index_takes_nothing_as_nothing(value: list[Record]) -> None:
    kept = merge_by_index(value, None)
    assert kept == merge_by_index(None, value) == merge_by_index(value, [])
    assert {record["index"] for record in kept} == {record["index"] for record in value}
    assert merge_by_index(None, None) == []


@given(value=items)
def test_append_unique_takes_nothing_as_nothing(value: list[Any]) -> None:
    kept = append_unique(value, None)
    assert kept == append_unique(None, value) == append_unique(value, [])
    assert all(item in kept for item in value)
    assert append_unique(None, None) == []


@given(value=st.integers(0, 9))
def test_counter_max_takes_nothing_as_zero(value: int) -> None:
    assert counter_max(value, None) == counter_max(None, value) == value
    assert counter_max(None, None) == 0


@given(value=scored)
def test_keep_best_takes_nothing_as_nothing(value: Record) -> None:
    assert keep_best(value, None) == keep_best(None, value) == value
    assert keep_best(None, None) is None


# The order of patches


@given(left=by_id, one=by_id, other=by_id)
def test_disjoint_ids_give_the_same_records_in_any_order(
    left: list[Record], one: list[Record], other: list[Record]
) -> None:
    taken = {record["id"] for record in one}
    apart = [record for record in other if record["id"] not in taken]
    forth = merge_by_id(merge_by_id(left, one), apart)
    back = merge_by_id(merge_by_id(left, apart), one)
    assert sorted(map(normal, forth)) == sorted(map(normal, back))


def test_conflicting_ids_depend_on_the_order() -> None:
    one, other = [{"id": "a", "text": "one"}], [{"id": "a", "text": "other"}]
    assert merge_by_id(merge_by_id(None, one), other) == other
    assert merge_by_id(merge_by_id(None, other), one) == one


@given(left=by_index, one=by_index, other=by_index)
def test_disjoint_indexes_give_the_same_list_in_any_order(
    left: list[Record], one: list[Record], other: list[Record]
) -> None:
    taken = {record["index"] for record in one}
    apart = [record for record in other if record["index"] not in taken]
    forth = merge_by_index(merge_by_index(left, one), apart)
    assert forth == merge_by_index(merge_by_index(left, apart), one)
    assert [record["index"] for record in forth] == sorted({record["index"] for record in forth})


def test_conflicting_indexes_depend_on_the_order() -> None:
    one, other = [{"index": 0, "text": "one"}], [{"index": 0, "text": "other"}]
    assert merge_by_index(one, other) == other
    assert merge_by_index(other, one) == one


@given(one=items, other=items)
def test_append_unique_has_the_same_items_in_any_order(one: list[Any], other: list[Any]) -> None:
    forth, back = append_unique(one, other), append_unique(other, one)
    assert sorted(map(normal, forth)) == sorted(map(normal, back))


def test_append_unique_has_another_sequence_in_another_order() -> None:
    assert append_unique(["a"], ["b"]) == ["a", "b"]
    assert append_unique(["b"], ["a"]) == ["b", "a"]


@given(one=st.integers(0, 9), other=st.integers(0, 9), third=st.integers(0, 9))
def test_counter_max_does_not_depend_on_the_order(one: int, other: int, third: int) -> None:
    assert counter_max(counter_max(one, other), third) == max(one, other, third)
    assert counter_max(other, one) == counter_max(one, other)


@given(one=scored, other=scored, third=scored)
def test_keep_best_does_not_depend_on_the_order(one: Record, other: Record, third: Record) -> None:
    found = {
        normal(keep_best(keep_best(first, second), last))
        for first, second, last in ((one, other, third), (third, other, one), (other, third, one))
    }
    assert len(found) == 1
    best = json.loads(found.pop())
    assert best["score"] == max(one["score"], other["score"], third["score"])
    assert normal(best) in map(normal, (one, other, third))


# What exactly comes out


def test_merge_by_id_replaces_in_place_and_appends_what_is_new() -> None:
    left = [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]
    right = [{"id": 3, "text": "c"}, {"id": 1, "text": "A"}]
    assert merge_by_id(left, right) == [
        {"id": 1, "text": "A"},
        {"id": 2, "text": "b"},
        {"id": 3, "text": "c"},
    ]


def test_merge_by_id_replaces_whole_records() -> None:
    assert merge_by_id([{"id": 1, "note": "old"}], [{"id": 1}]) == [{"id": 1}]


def test_merge_by_index_sorts_by_number_not_by_text() -> None:
    right = [{"index": 10}, {"index": 2}, {"index": 0}]
    assert merge_by_index([{"index": 1}], right) == [{"index": 0}, {"index": 1}, {"index": 2}, {"index": 10}]


def test_append_unique_takes_items_that_cannot_be_hashed() -> None:
    left: list[object] = [{"url": "a", "tags": ["x"]}, ["p"]]
    right: list[object] = [["p"], {"tags": ["x"], "url": "a"}, {"url": "b", "tags": ["x"]}]
    assert append_unique(left, right) == [{"url": "a", "tags": ["x"]}, ["p"], {"url": "b", "tags": ["x"]}]


def test_keep_best_takes_the_higher_score_from_either_side() -> None:
    low, high = {"score": 6, "draft": "a"}, {"score": 7, "draft": "z"}
    assert keep_best(low, high) == high
    assert keep_best(high, low) == high


def test_a_tie_stays_with_the_draft_that_sorts_first_from_either_side() -> None:
    first, second = {"score": 7, "draft": "a"}, {"score": 7, "draft": "b"}
    assert keep_best(first, second) == first
    assert keep_best(second, first) == first


def test_a_tie_does_not_depend_on_the_order_of_keys() -> None:
    first, second = {"draft": "a", "score": 7}, {"score": 7, "draft": "b"}
    assert keep_best(second, first) == first
    assert keep_best(first, second) == first


@pytest.mark.parametrize(
    ("reducer", "key"), [(merge_by_id, "id"), (merge_by_index, "index")], ids=["id", "index"]
)
def test_a_record_without_its_key_is_an_error(
    reducer: Callable[[list[Record] | None, list[Record] | None], object], key: str
) -> None:
    with pytest.raises(KeyError, match=key):
        reducer(None, [{"text": "lost"}])


def test_a_record_without_a_score_is_an_error() -> None:
    with pytest.raises(KeyError, match="score"):
        keep_best({"score": 1}, {"draft": "x"})


@pytest.mark.parametrize("reducer", [merge_by_id, merge_by_index, append_unique])
def test_what_was_given_is_not_changed(reducer: Callable[[list[Record], list[Record]], list[Record]]) -> None:
    left, right = [{"id": 1, "index": 1, "v": [1]}], [{"id": 1, "index": 1, "v": [2]}, {"id": 2, "index": 2}]
    before = normal([left, right])
    merged = reducer(left, right)
    merged.append({})
    assert normal([left, right]) == before


# Two nodes in one super-step


def writing(value: object) -> Callable[[object], dict[str, object]]:
    def node(_state: object) -> dict[str, object]:
        return {"value": value}

    return node


def graph_of(field: Any, writes: dict[str, Any]) -> Any:
    """A graph whose nodes, one for each entry of `writes`, run in one super-step and write `value`."""
    declare: Any = TypedDict
    graph: Any = StateGraph(declare("State", {"value": field}))
    for name, value in writes.items():
        graph.add_node(name, writing(value))
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    return graph.compile()


def test_two_nodes_that_write_one_key_without_a_reducer_are_an_error() -> None:
    with pytest.raises(InvalidUpdateError, match="value"):
        graph_of(list[str], {"one": ["a"], "other": ["b"]}).invoke({"value": []})


def test_one_node_may_write_a_key_without_a_reducer() -> None:
    assert graph_of(list[str], {"one": ["a"]}).invoke({"value": []}) == {"value": ["a"]}


@pytest.mark.parametrize(
    ("field", "start", "writes", "merged"),
    [
        (
            Annotated[list[Any], merge_by_id],
            [{"id": "a", "v": 0}],
            {"one": [{"id": "a", "v": 1}], "other": [{"id": "b", "v": 2}]},
            [{"id": "a", "v": 1}, {"id": "b", "v": 2}],
        ),
        (
            Annotated[list[Any], merge_by_index],
            [],
            {"one": [{"index": 1}], "other": [{"index": 0}]},
            [{"index": 0}, {"index": 1}],
        ),
        (Annotated[list[Any], append_unique], ["a"], {"one": ["b", "a"], "other": ["b"]}, ["a", "b"]),
        (Annotated[int, counter_max], 1, {"one": 3, "other": 2}, 3),
        (
            Annotated[Any, keep_best],
            {"score": 1},
            {"one": {"score": 5, "v": "b"}, "other": {"score": 5, "v": "a"}},
            {"score": 5, "v": "a"},
        ),
    ],
    ids=["merge_by_id", "merge_by_index", "append_unique", "counter_max", "keep_best"],
)
def test_two_nodes_that_write_one_key_are_merged_by_its_reducer(
    field: Any, start: object, writes: dict[str, object], merged: object
) -> None:
    assert len(writes) == 2
    assert graph_of(field, writes).invoke({"value": start}) == {"value": merged}
