from __future__ import annotations

import hashlib

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from agent.ledger.identity import LENGTH, Identity, stored


@pytest.mark.parametrize("text", ["", "call_1", "acme/Ann Lee", "订单", "x" * 200])
def test_an_ordinary_id_is_stored_as_it_is(text: str) -> None:
    assert stored(text) == text


@pytest.mark.parametrize("text", ["x" * 201, "a\x00b", "line\nbreak", "half \ud800 pair"])
def test_an_id_that_a_database_refuses_is_stored_as_its_digest(text: str) -> None:
    assert stored(text) == "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=300))
def test_every_stored_id_fits_and_storing_again_changes_nothing(text: str) -> None:
    found = stored(text)
    assert len(found) <= LENGTH
    assert found.isprintable()
    found.encode()
    assert stored(found) == found


@given(st.text(max_size=300), st.text(max_size=300))
def test_different_ids_stay_different(one: str, other: str) -> None:
    assert (stored(one) == stored(other)) is (one == other)


def test_a_column_of_ids_writes_and_compares_the_stored_form() -> None:
    dialect = sa.create_engine("sqlite://").dialect
    assert Identity().process_bind_param("a\x00b", dialect) == stored("a\x00b") != "a\x00b"
    assert Identity().process_bind_param(None, dialect) is None
