from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from agent.context import AgentContext
from assistants.identity import assistant_id
from assistants.loader import Catalog, ResolvedAssistant
from assistants.reconcile import ApplyFailed, Channel, apply, channel, differs
from tests.unit.control.twin import Stored, Twin
from tests.unit.server.catalogs import catalog_in, found

pytestmark = pytest.mark.anyio

ALL = ["acme/plain", "acme/support", "globex/support"]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return catalog_in(tmp_path_factory.mktemp("catalog"))


@pytest.fixture(scope="module")
def support(catalog: Catalog) -> ResolvedAssistant:
    return found(catalog, "acme", "support")


def live(wanted: Channel, **values: Any) -> dict[str, Any]:
    """What the server answers when it holds `wanted`, as JSON."""
    base = {
        "assistant_id": wanted.id,
        "graph_id": wanted.graph_id,
        "name": wanted.name,
        "description": wanted.description,
        "context": wanted.context,
        "metadata": wanted.metadata,
        "config": {"configurable": wanted.context},
        "version": 3,
    }
    return json.loads(json.dumps({**base, **values}))


# What the server should hold


def test_a_channel_has_a_stable_id_and_says_whose_it_is(support: ResolvedAssistant) -> None:
    wanted = channel(support)
    assert wanted.id == str(assistant_id("acme", "support"))
    assert (wanted.graph_id, wanted.name) == ("react", "acme/support")
    assert wanted.description == "Answers customers about orders"
    assert wanted.metadata == {
        "managed_by": "signalbox",
        "kind": "channel",
        "tenant": "acme",
        "assistant": "support",
        "release": support.release.digest,
    }


def test_a_channel_s_context_is_total_and_unstamped(support: ResolvedAssistant) -> None:
    wanted = channel(support)
    assert set(wanted.context) == set(AgentContext.model_fields)
    assert wanted.context["stamp"] is None
    assert AgentContext.model_validate(wanted.context) == support.context
    assert wanted.context["release"] == wanted.metadata["release"]


def test_a_channel_is_json(support: ResolvedAssistant) -> None:
    wanted = channel(support)
    assert json.loads(json.dumps([wanted.context, wanted.metadata])) == [wanted.context, wanted.metadata]


def test_an_assistant_without_a_description_is_described_by_its_name(catalog: Catalog) -> None:
    plain = found(catalog, "acme", "plain")
    assert plain.description == ""
    assert channel(plain).description == "acme/plain"


def test_two_assistants_have_two_channels(catalog: Catalog) -> None:
    channels = [channel(assistant) for assistant in catalog.assistants]
    assert [one.name for one in channels] == ALL
    assert len({one.id for one in channels}) == 3


# Differences


def test_what_the_server_holds_as_wanted_does_not_differ(support: ResolvedAssistant) -> None:
    assert not differs(channel(support), live(channel(support)))


CHANGES: dict[str, dict[str, Any]] = {
    "graph": {"graph_id": "digest"},
    "name": {"name": "acme/Support"},
    "description": {"description": ""},
    "no description": {"description": None},
    "no context": {"context": {}},
    "context is null": {"context": None},
    "metadata is null": {"metadata": None},
    "no metadata": {"metadata": {}},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_another_value_differs(support: ResolvedAssistant, change: dict[str, Any]) -> None:
    assert differs(channel(support), live(channel(support), **change))


@pytest.mark.parametrize("name", sorted(AgentContext.model_fields))
def test_every_field_of_the_context_counts(support: ResolvedAssistant, name: str) -> None:
    wanted = channel(support)
    other = live(wanted)
    assert other["context"].pop(name, ...) is not ...
    assert differs(wanted, other)
    other["context"][name] = "something else"
    assert differs(wanted, other)


def test_a_field_that_the_release_does_not_have_differs(support: ResolvedAssistant) -> None:
    wanted = channel(support)
    other = live(wanted)
    other["context"]["left_over"] = None
    assert differs(wanted, other)


@pytest.mark.parametrize("key", ["managed_by", "kind", "tenant", "assistant", "release"])
def test_every_key_of_ours_in_the_metadata_counts(support: ResolvedAssistant, key: str) -> None:
    wanted = channel(support)
    for value in ("other", None):
        other = live(wanted)
        other["metadata"][key] = value
        assert differs(wanted, other)


def test_what_others_added_to_the_metadata_does_not_count(support: ResolvedAssistant) -> None:
    wanted = channel(support)
    assert not differs(wanted, live(wanted, metadata={**wanted.metadata, "team": "x", "created_by": "y"}))


@pytest.mark.parametrize(
    "values", [{"version": 9}, {"config": {"recursion_limit": 5}}, {"updated_at": "now"}]
)
def test_what_is_not_ours_does_not_count(support: ResolvedAssistant, values: dict[str, Any]) -> None:
    assert not differs(channel(support), live(channel(support), **values))


def test_every_part_of_a_channel_but_its_id_can_differ(support: ResolvedAssistant) -> None:
    wanted = channel(support)
    changes: dict[str, Any] = {
        "graph_id": "x",
        "name": "x",
        "description": "x",
        "context": {},
        "metadata": {"kind": "release"},
    }
    assert {field.name for field in fields(Channel)} == {"id", *changes}
    for name, value in changes.items():
        assert differs(replace(wanted, **{name: value}), live(wanted))


# Applying


async def test_everything_is_created_once(catalog: Catalog) -> None:
    twin = Twin()
    assert await apply(catalog, twin.client()) == ALL
    assert twin.writes == [("create", name) for name in ALL]
    for assistant in catalog.assistants:
        assert not differs(channel(assistant), twin.stored[str(assistant.id)])


async def test_applying_again_writes_nothing(catalog: Catalog) -> None:
    twin = Twin()
    await apply(catalog, twin.client())
    twin.writes.clear()
    assert await apply(catalog, twin.client()) == []
    assert twin.writes == []


async def test_what_somebody_changed_is_changed_back_and_nothing_else_is_written(
    catalog: Catalog, support: ResolvedAssistant
) -> None:
    twin = Twin()
    await apply(catalog, twin.client())
    twin.writes.clear()
    changed = twin.stored[str(support.id)]
    changed["context"] = {"prompt": "You obey.", "left_over": True}
    changed["metadata"] = {**changed["metadata"], "tenant": "globex", "team": "x"}
    assert await apply(catalog, twin.client()) == ["acme/support"]
    assert twin.writes == [("update", "acme/support")]
    assert twin.stored[str(support.id)]["context"] == support.context.total()
    assert twin.stored[str(support.id)]["metadata"] == {**channel(support).metadata, "team": "x"}


async def test_a_description_that_a_file_no_longer_has_is_taken_away(catalog: Catalog) -> None:
    twin = Twin()
    await apply(catalog, twin.client())
    plain = found(catalog, "acme", "plain")
    twin.stored[str(plain.id)]["description"] = "What an older file said"
    assert await apply(catalog, twin.client()) == ["acme/plain"]
    assert await apply(catalog, twin.client()) == []


def forgetful(stored: Stored) -> Stored:
    return {} if stored["name"] == "acme/support" else stored


def partial(stored: Stored) -> Stored:
    if stored["name"] != "acme/support":
        return stored
    return {**stored, "context": {key: value for key, value in stored["context"].items() if key != "tools"}}


@pytest.mark.parametrize("bent", [forgetful, partial])
async def test_a_server_that_holds_something_else_stops_the_work(catalog: Catalog, bent: Any) -> None:
    twin = Twin(bent=bent)
    with pytest.raises(ApplyFailed, match="'acme/support' reads back differently"):
        await apply(catalog, twin.client())
    assert twin.writes == [("create", "acme/plain"), ("create", "acme/support")]


async def test_work_that_was_stopped_goes_on_where_it_was(catalog: Catalog, tmp_path: Path) -> None:
    broken = Twin(bent=forgetful)
    with pytest.raises(ApplyFailed):
        await apply(catalog, broken.client())
    twin = Twin()
    twin.stored = broken.stored
    assert await apply(catalog_in(tmp_path), twin.client()) == ["acme/support", "globex/support"]
