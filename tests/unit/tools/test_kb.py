"""`kb.search` gives passages that can be cited, and says so when there are none."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from pydantic import ValidationError

from agent.knowledge import Library
from agent.ledger import Ledger
from agent.shop import Shop
from agent.tools.kb import LONGEST
from agent.tools.registry import Registry
from agent.tools.shipped import build
from tests.unit.tools.invoking import call, failure, invoke

pytestmark = pytest.mark.anyio


def over(catalog: Path) -> Registry:
    ledger = Ledger("sqlite+aiosqlite:///unused.db")
    return build(shop=Shop("sqlite:///unused.db"), library=Library(catalog), ledger=ledger)


def handbook(tmp_path: Path, text: str) -> Path:
    folder = tmp_path / "tenants" / "acme" / "handbook"
    folder.mkdir(parents=True)
    (folder / "rules.md").write_text(text, encoding="utf-8")
    return tmp_path


async def test_a_passage_comes_with_its_citation(reader: Registry) -> None:
    found = await invoke(reader, "kb.search", query="exchange another colour")
    assert found["query"] == "exchange another colour"
    passage = found["passages"][0]
    assert passage["citation"] == "returns.md#exchange"
    assert passage["document"] == "returns.md"
    assert passage["heading"] == "Returns and exchange › Exchange"
    assert passage["text"].startswith("One exchange per order line is free")


async def test_a_chinese_question_gets_a_chinese_passage(reader: Registry) -> None:
    found = await invoke(reader, "kb.search", query="可以换货吗")
    assert found["passages"][0]["citation"] == "returns.zh.md#换货"


async def test_each_tenant_gets_its_own_rule(reader: Registry) -> None:
    texts = {
        tenant: (await invoke(reader, "kb.search", call(tenant), query="return period"))["passages"][0][
            "text"
        ]
        for tenant in ("acme", "globex")
    }
    assert "30 days" in texts["acme"]
    assert "60 days" in texts["globex"]


async def test_at_most_three_passages_are_given(reader: Registry) -> None:
    found = await invoke(reader, "kb.search", query="refund")
    assert len(found["passages"]) == 3


async def test_nothing_found_is_said_with_what_to_do(reader: Registry) -> None:
    said = await failure(reader, "kb.search", query="capital of France")
    assert "says nothing about 'capital of France'" in said
    assert "do not make up a rule" in said


async def test_a_tenant_without_a_handbook_has_no_rules(reader: Registry) -> None:
    assert "says nothing about 'returns'" in await failure(
        reader, "kb.search", call("umbrella"), query="returns"
    )


async def test_a_long_passage_is_cut(tmp_path: Path) -> None:
    catalog = handbook(tmp_path, "# Zebra\n\n" + "stripes " * 400)
    [passage] = (await invoke(over(catalog), "kb.search", query="zebra"))["passages"]
    assert len(passage["text"]) <= LONGEST
    assert passage["text"].endswith(" …")
    assert len(passage["text"]) > LONGEST - 10


async def test_a_passage_that_just_fits_is_whole(tmp_path: Path) -> None:
    text = "z" * LONGEST
    catalog = handbook(tmp_path, f"# Zebra\n\n{text}")
    [passage] = (await invoke(over(catalog), "kb.search", query="zebra"))["passages"]
    assert passage["text"] == text


async def test_a_handbook_that_cannot_be_read_is_no_excuse_to_guess(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = handbook(tmp_path, "# Zebra\n\nstripes")
    (catalog / "tenants" / "acme" / "handbook" / "link.md").symlink_to(catalog / "elsewhere.md")
    with caplog.at_level(logging.ERROR):
        said = await failure(over(catalog), "kb.search", query="zebra")
    assert said.startswith("The handbook cannot be read.")
    assert "link.md" not in said
    [record] = [record for record in caplog.records if record.name == "agent.tools.kb"]
    assert record.exc_info is not None
    assert "link.md" in str(record.exc_info[1])


@pytest.mark.parametrize(
    "arguments", [{"query": ""}, {"query": "x" * 401}, {}, {"query": "a", "tenant": "globex"}]
)
async def test_other_arguments_do_not_reach_the_library(
    reader: Registry, arguments: dict[str, object]
) -> None:
    with pytest.raises(ValidationError):
        await invoke(reader, "kb.search", **arguments)
