"""`python -m agent.shop` prepares a database and says what is in it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from agent.shop import counts
from agent.shop.__main__ import main, report

pytestmark = pytest.mark.anyio


def test_a_report_has_a_line_for_each_tenant() -> None:
    assert report({"acme": {"customers": 1, "orders": 2}, "globex": {"customers": 0}}) == (
        "acme: 1 customers, 2 orders\nglobex: 0 customers"
    )
    assert report({}) == ""


async def test_it_prepares_the_tenants_that_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    assert await main(["--url", url, "--tenants", "acme, lantern,"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert [line.partition(":")[0] for line in printed.out.splitlines()] == ["acme", "lantern"]
    assert printed.out.startswith("acme: 150 customers, 60 products, 700 orders, 120 stock, ")
    assert (await counts(url))["globex"]["customers"] == 0


async def test_an_unknown_tenant_ends_it_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "shop.db"
    assert await main(["--url", f"sqlite:///{path}", "--tenants", "acme,umbrella"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "'umbrella'" in printed.err
    assert not path.exists()


async def test_a_database_that_is_not_supported_ends_it_without_its_password(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert await main(["--url", "mysql://u:hush@h/d"]) == 1
    printed = capsys.readouterr()
    assert "'mysql'" in printed.err
    assert "hush" not in printed.err


async def test_without_a_url_it_takes_the_one_of_the_environment(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "agent.shop", "--tenants", "globex"),
        env={"SIGNALBOX_HOME": str(tmp_path)},
        stdout=asyncio.subprocess.PIPE,
    )
    out, _err = await process.communicate()
    assert process.returncode == 0
    assert out.decode().startswith("globex: 150 customers")
    assert (tmp_path / "shop.db").exists()


async def test_the_help_does_not_show_the_environments_database(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIGNALBOX_SHOP_DB", "postgresql://u:hush@h/d")
    with pytest.raises(SystemExit) as ended:
        await main(["--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert "--tenants" in printed
    assert "hush" not in printed
