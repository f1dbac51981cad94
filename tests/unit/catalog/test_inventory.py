"""The look-ups over a catalog."""

from __future__ import annotations

import dataclasses
import uuid
from pathlib import Path

import pytest

from assistants.identity import assistant_id
from assistants.inventory import ApiKey, Catalog
from tests.unit.catalog.deployment import MINIMAL, loaded

FILES = {
    "tenants/acme/two.yaml": MINIMAL.replace("support", "two"),
    "tenants/acme/one.yaml": MINIMAL.replace("support", "one"),
    "tenants/aa/tenant.yaml": (
        "slug: aa\nring: late\ntimezone: UTC\nceilings: {runs_per_minute: 7}\n"
        f'api_keys: [{{id: k, sha256: "{"a" * 64}", user: u1, roles: [operator, user]}}]\n'
    ),
    "tenants/aa/one.yaml": MINIMAL.replace("support", "one"),
}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return loaded(tmp_path, FILES)


def test_tenants_and_assistants_are_sorted(catalog: Catalog) -> None:
    assert list(catalog.tenants) == ["aa", "acme"]
    assert [assistant.title for assistant in catalog.assistants] == ["aa/one", "acme/one", "acme/two"]
    assert catalog.rings == ("early", "late")


def test_same_name_in_two_tenants_is_two_assistants(catalog: Catalog) -> None:
    own, others = catalog.assistant("acme", "one"), catalog.assistant("aa", "one")
    assert own is not None
    assert others is not None
    assert own.id != others.id
    assert own.release.digest != others.release.digest
    assert (own.tenant, others.tenant) == ("acme", "aa")


def test_assistant_is_found_by_name_and_by_id(catalog: Catalog) -> None:
    for assistant in catalog.assistants:
        assert assistant.id == assistant_id(assistant.tenant, assistant.name)
        assert catalog.by_id(assistant.id) is assistant
        assert catalog.assistant(assistant.tenant, assistant.name) is assistant
    assert len(catalog.assistants) == 3


def test_unknown_things_are_not_found(catalog: Catalog) -> None:
    assert catalog.assistant("aa", "two") is None
    assert catalog.by_id(uuid.uuid4()) is None
    assert catalog.tenant("globex") is None
    assert catalog.api_key("b" * 64) is None


def test_api_key_stands_for_a_user_of_one_tenant(catalog: Catalog) -> None:
    assert catalog.api_key("a" * 64) == ApiKey("aa", "k", "u1", ("operator", "user"))


def test_quota_is_the_tenants_own(catalog: Catalog) -> None:
    assert catalog.runs_per_minute("aa") == 7
    assert catalog.runs_per_minute("acme") is None


def test_catalog_cannot_be_changed(catalog: Catalog) -> None:
    for thing, field in ((catalog, "rings"), (catalog.assistants[0], "context")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, field, None)
