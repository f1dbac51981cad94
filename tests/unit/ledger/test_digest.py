from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ledger import arguments_digest

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def test_the_digest_is_that_of_the_rfc_8785_form() -> None:
    canonical = b'{"amount":150,"note":"\xc3\xa9","order":1001}'
    given_ = {"order": 1001, "note": "é", "amount": 150.0}
    assert arguments_digest(given_) == hashlib.sha256(canonical).hexdigest()


@pytest.mark.parametrize("value", [2**60, -(2**53), float("inf"), float("nan"), "half \ud800 pair"])
def test_values_beyond_rfc_8785_have_a_digest_too(value: Any) -> None:
    digest = arguments_digest({"value": value, "other": 1})
    assert len(digest) == 64
    assert arguments_digest({"other": 1, "value": value}) == digest
    assert arguments_digest({"value": json.dumps(value), "other": 1}) != digest


def test_numbers_beyond_what_a_float_holds_are_told_apart() -> None:
    assert float(2**60) == float(2**60 + 1)
    assert arguments_digest({"order": 2**60}) != arguments_digest({"order": 2**60 + 1})


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4))
def test_a_trip_through_json_and_another_order_keep_the_digest(arguments: dict[str, Any]) -> None:
    turned = dict(reversed(json.loads(json.dumps(arguments)).items()))
    assert arguments_digest(turned) == arguments_digest(arguments)


@given(
    st.dictionaries(st.text(max_size=2), VALUES, max_size=3),
    st.dictionaries(st.text(max_size=2), VALUES, max_size=3),
)
def test_different_arguments_have_different_digests(one: dict[str, Any], other: dict[str, Any]) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (arguments_digest(one) == arguments_digest(other)) is same
