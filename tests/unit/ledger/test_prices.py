from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ledger import LedgerRefused, Price, price
from agent.ledger.prices import PRICES, known, read
from agent.offline.endpoint import MODEL

TOKENS = st.integers(0, 10**7)


def test_a_models_price_is_found_with_and_without_its_provider() -> None:
    assert price("gpt-5-mini") == Price(input=250_000, output=2_000_000)
    assert price("openai:gpt-5-mini") == price("gpt-5-mini")


@pytest.mark.parametrize("name", ["gpt-9", "gpt-5-mini-2025", "openai:", "azure:gpt-5-mini", ""])
def test_an_unknown_price_is_none_and_not_zero(name: str) -> None:
    assert price(name) is None


def test_the_offline_model_costs_nothing() -> None:
    assert price(f"openai:{MODEL}") == Price(0, 0)
    assert Price(0, 0).cost(tokens_in=10**9, tokens_out=10**9) == 0


def test_the_file_says_that_prices_must_be_checked_and_lists_paid_models() -> None:
    comment = json.loads(resources.files("agent.ledger").joinpath("prices.json").read_text("utf-8"))[
        "comment"
    ]
    assert "configuration" in comment
    assert "check" in comment
    paid = [entry for name, entry in PRICES.items() if name != MODEL]
    assert len(paid) >= 5
    assert all(0 < entry.input < entry.output for entry in paid)


def test_a_call_costs_its_tokens_in_micro_dollars() -> None:
    mini = Price(input=250_000, output=2_000_000)
    assert mini.cost(tokens_in=1_000_000, tokens_out=0) == 250_000
    assert mini.cost(tokens_in=1_200, tokens_out=300) == 900
    assert mini.cost(tokens_in=1, tokens_out=0) == 1, "a part of a micro-dollar is rounded up"
    assert mini.cost(tokens_in=0, tokens_out=0) == 0


@given(st.builds(Price, st.integers(0, 10**8), st.integers(0, 10**8)), TOKENS, TOKENS)
def test_a_cost_is_never_below_the_exact_one_and_less_than_one_micro_above(
    entry: Price, tokens_in: int, tokens_out: int
) -> None:
    exact = tokens_in * entry.input + tokens_out * entry.output
    assert exact <= entry.cost(tokens_in=tokens_in, tokens_out=tokens_out) * 1_000_000 < exact + 1_000_000


@pytest.mark.parametrize(
    "entry", [{"input": 1}, {"input": -1, "output": 1}, {"input": 0.5, "output": 1}, 3, None]
)
def test_a_price_that_is_no_price_is_refused_by_name(entry: object) -> None:
    with pytest.raises(LedgerRefused, match="'gpt-x'"):
        read(json.dumps({"models": {"gpt-x": entry}}))


def test_prices_cannot_be_changed_while_running() -> None:
    with pytest.raises(TypeError):
        PRICES["gpt-5"] = Price(0, 0)  # pyright: ignore[reportIndexIssue] - that is the point


@pytest.mark.parametrize("environment", [{}, {"SIGNALBOX_PRICES": ""}, {"OTHER": "x"}])
def test_without_a_file_of_its_own_a_deployment_has_the_shipped_prices(environment: dict[str, str]) -> None:
    assert known(environment)["gpt-5-mini"] == Price(input=250_000, output=2_000_000)
    assert "my-model" not in known(environment)


def test_a_deployment_s_own_prices_add_to_the_shipped_ones_and_replace_them(tmp_path: Path) -> None:
    own = {"my-model": {"input": 7, "output": 9}, "gpt-5-mini": {"input": 1, "output": 2}}
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({"models": own, "comment": "Köln"}), "utf-8")
    found = known({"SIGNALBOX_PRICES": str(file)})
    assert (found["my-model"], found["gpt-5-mini"]) == (Price(7, 9), Price(1, 2))
    shipped = known({})
    assert {name: entry for name, entry in found.items() if name not in own} == {
        name: entry for name, entry in shipped.items() if name != "gpt-5-mini"
    }
    assert shipped["gpt-5-mini"] == Price(250_000, 2_000_000)
    with pytest.raises(TypeError):
        found["free"] = Price(0, 0)  # pyright: ignore[reportIndexIssue] - that is the point


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        "null",
        "{}",
        '{"models": []}',
        '{"models": null}',
        '{"models": {"m": {"input": 1}}}',
        '{"models": {"m": {"input": -1, "output": 1}}}',
        '{"models": {"m": {"input": 0.5, "output": 1}}}',
        '{"models": {"m": {"input": "1", "output": 1}}}',
    ],
)
def test_prices_that_cannot_be_read_are_refused_and_never_zero(tmp_path: Path, text: str) -> None:
    file = tmp_path / "prices.json"
    file.write_text(text, "utf-8")
    with pytest.raises(LedgerRefused) as raised:
        known({"SIGNALBOX_PRICES": str(file)})
    assert str(tmp_path) not in str(raised.value)


def test_a_file_that_is_not_there_or_no_text_is_refused_without_its_path(tmp_path: Path) -> None:
    (tmp_path / "prices.json").write_bytes(b"\xff\xfe{")
    for name in ("prices.json", "missing.json", "."):
        with pytest.raises(LedgerRefused, match="SIGNALBOX_PRICES is not usable") as raised:
            known({"SIGNALBOX_PRICES": str(tmp_path / name)})
        assert str(tmp_path) not in str(raised.value)
