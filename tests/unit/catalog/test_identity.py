"""Ids follow from names and never change."""

from __future__ import annotations

import uuid

from assistants.identity import NAMESPACE, assistant_id, release_id


def test_ids_are_what_they_always_were() -> None:
    assert uuid.UUID("21d88639-9adb-4ef7-bcb4-932bd53f1b81") == NAMESPACE
    assert assistant_id("acme", "support") == uuid.UUID("16dc331c-08eb-58d5-a659-96bc03db5720")
    assert release_id("0" * 64) == uuid.UUID("ddc997f9-bb7e-5c47-b68f-18d8916b184f")


def test_namespace_is_no_other_program_s() -> None:
    assert NAMESPACE.version == 4
    assert NAMESPACE not in {uuid.NAMESPACE_DNS, uuid.NAMESPACE_URL, uuid.NAMESPACE_OID, uuid.NAMESPACE_X500}


def test_every_name_has_its_own_id() -> None:
    ids = {assistant_id(tenant, name) for tenant in ("a", "b", "a-b") for name in ("c", "b-c", "support")}
    assert len(ids) == 9
    assert release_id("a" * 64) not in ids
