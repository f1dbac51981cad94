"""Tenants' files, and what no two tenants may share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.catalog.deployment import loaded, report

ACME = "tenants/acme/tenant.yaml"
GLOBEX = "tenants/globex/tenant.yaml"
GOOD = "slug: acme\nring: early\ntimezone: Europe/Berlin\n"
OTHER = "slug: globex\nring: late\ntimezone: UTC\n"
ONE, TWO = "1" * 64, "2" * 64


def key(sha256: str, *, id: str = "a", user: str = "u1", roles: str = "[user]") -> str:  # noqa: A002 - the file's word
    return f'{{id: {id}, sha256: "{sha256}", user: {user}, roles: {roles}}}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["1:1: ring is missing", "1:1: slug is missing", "1:1: timezone is missing"]),
        ("ring: erly\n", ["1:7: ring: unknown ring 'erly'; did you mean 'early'?"]),
        ("ring: 5\n", ["1:7: ring: expected text; quote it, got 5"]),
        ("slug: acmee\n", ["1:7: slug: expected 'acme' as the folder is called, got 'acmee'"]),
        ("timezone: Mars/Olympus\n", ["1:11: timezone: unknown time zone 'Mars/Olympus'"]),
        ("name: ''\n", ["1:7: name: expected at least 1 character, got ''"]),
        ("ceilings: {usd_per_day: 0}\n", ["1:25: ceilings.usd_per_day: expected more than 0, got 0"]),
        ("ceilings: {models: openai}\n", ["1:20: ceilings.models: expected a list, got 'openai'"]),
        ("ceilings: {model: []}\n", ["1:12: unknown key 'model' in ceilings; did you mean 'models'?"]),
        ("retention: 7d\n", ["1:1: unknown key 'retention'"]),
    ],
)
def test_tenants_file_is_strict(tmp_path: Path, text: str, expected: list[str]) -> None:
    own = text.partition(":")[0]
    rest = "".join(line for line in GOOD.splitlines(keepends=True) if line.partition(":")[0] != own)
    lines = [
        line.removeprefix(f"{ACME}:")
        for line in report(tmp_path, {ACME: text + rest if text else "name: x\n"})
    ]
    assert [line.partition("; expected one of")[0] for line in lines] == expected


def test_platform_is_no_tenant(tmp_path: Path) -> None:
    files = {"tenants/platform/tenant.yaml": "slug: platform\nring: late\ntimezone: UTC\n"}
    (line,) = report(tmp_path, files)
    assert line.endswith(
        "tenant.yaml:1:7: slug: the slug 'platform' is reserved for the platform; choose another"
    )


def test_folder_with_a_name_that_is_no_slug_cannot_be_a_tenant(tmp_path: Path) -> None:
    (line,) = report(tmp_path, {"tenants/My Co/tenant.yaml": "slug: My Co\nring: late\ntimezone: UTC\n"})
    assert line.startswith("tenants/My Co/tenant.yaml:1:7: slug: expected lower-case letters")


def test_rings_are_not_checked_against_a_damaged_list(tmp_path: Path) -> None:
    assert report(tmp_path, {"rings.yaml": "rings: [a, a]\n"}) == [
        "rings.yaml:1:12: rings[1]: expected each value once, this one is there before"
    ]
    assert report(tmp_path, {"rings.yaml": "rigns: [a]\n"}) == [
        "rings.yaml:1:1: rings is missing",
        "rings.yaml:1:1: unknown key 'rigns'; did you mean 'rings'?",
    ]
    assert report(tmp_path, {"rings.yaml": "rings: []\n"}) == [
        "rings.yaml:1:8: rings: expected at least 1 item, got a list"
    ]


def test_api_keys_are_strict(tmp_path: Path) -> None:
    wrong = f"{key(ONE, user='service', roles='[admin]')}, {key('xyz', id='B c', roles='[]')}"
    files = {ACME: f"{GOOD}api_keys: [{wrong}]\n"}
    assert [line.partition("api_keys")[2] for line in report(tmp_path, files)] == [
        "[0].user: the user 'service' is reserved for schedules; choose another",
        "[0].roles[0]: expected 'user', 'approver' or 'operator', got 'admin'",
        "[1].id: expected lower-case letters, digits and '-', at most 63, no '-' first, got 'B c'",
        "[1].sha256: expected a sha256: 64 lower-case hexadecimal digits",
        "[1].roles: expected at least 1 item, got a list",
    ]


def test_ids_of_api_keys_are_unique_within_a_tenant(tmp_path: Path) -> None:
    assert report(tmp_path, {ACME: f"{GOOD}api_keys:\n- {key(ONE)}\n- {key(TWO)}\n"}) == [
        f"{ACME}:6:8: api_keys[1].id: expected each value once, this one is there before"
    ]
    files = {ACME: f"{GOOD}api_keys: [{key(ONE)}]\n", GLOBEX: f"{OTHER}api_keys: [{key(TWO)}]\n"}
    assert report(tmp_path, files) == []


def test_api_key_stands_once_in_the_whole_catalog(tmp_path: Path) -> None:
    twice = f"{GOOD}api_keys:\n- {key(ONE)}\n- {key(ONE, id='b')}\n"
    assert report(tmp_path, {ACME: twice}) == [
        f"{ACME}:6:19: api_keys[1].sha256: this key is in the catalog already; a key stands for one user"
    ]
    files = {ACME: f"{GOOD}api_keys: [{key(ONE)}]\n", GLOBEX: f"{OTHER}api_keys: [{key(ONE)}]\n"}
    assert report(tmp_path, files) == [
        f"{GLOBEX}:4:28: api_keys[0].sha256: this key is in the catalog already; a key stands for one user"
    ]


def test_no_two_tenants_name_one_variable(tmp_path: Path) -> None:
    own = f"{GOOD}secrets: {{a: env:SHARED, b: env:SHARED}}\n"
    assert report(tmp_path, {ACME: own, GLOBEX: OTHER}) == []
    (line,) = report(tmp_path, {ACME: own, GLOBEX: f"{OTHER}secrets: {{x: env:OWN, y: env:SHARED}}\n"})
    assert line == (
        f"{GLOBEX}:4:26: secrets.y: another tenant's file names this variable; give each tenant its own"
    )
    assert "acme" not in line.removeprefix(GLOBEX)


def test_secret_values_in_a_file_are_refused_without_repeating_them(tmp_path: Path) -> None:
    lines = report(tmp_path, {ACME: f"{GOOD}secrets: {{models: sk-hunter2, Other: env:X}}\n"})
    assert [line.removeprefix(f"{ACME}:").partition(", ")[0] for line in lines] == [
        "4:19: secrets.models: expected env:NAME",
        "4:31: secrets.Other: expected a secret's name: lower-case letters",
    ]
    assert "hunter2" not in " ".join(lines)


def test_tenant_keeps_what_its_file_says(tmp_path: Path) -> None:
    catalog = loaded(tmp_path, {ACME: f"{GOOD}ceilings: {{queue_per_thread: 0, concurrent_runs: 4}}\n"})
    tenant = catalog.tenant("acme")
    assert tenant is not None
    assert (tenant.name, tenant.ceilings.queue_per_thread, tenant.ceilings.concurrent_runs) == (None, 0, 4)
    assert tenant.ceilings.models is None
