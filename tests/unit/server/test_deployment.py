from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from assistants.cli.credential import development_token
from assistants.errors import CatalogInvalid, ConfigurationInvalid
from assistants.principal import Principal
from assistants.server.deployment import control_engine, deployment
from assistants.server.token import KeySet, SharedSecret
from tests.unit.server.catalogs import written

pytestmark = pytest.mark.anyio

SECRET = "q7Zk3v9Qw10f8Hc7Lr5Ty2Ux4Bn6Mp0Ea9Jd"


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The process's environment for one test, in a folder of its own; nothing of it outlives the test."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    values = {
        "SIGNALBOX_ENV": "dev",
        "SIGNALBOX_JWT_SECRET": SECRET,
        "SIGNALBOX_CATALOG": str(written(tmp_path / "catalog")),
        "SIGNALBOX_DB": f"sqlite+aiosqlite:///{tmp_path / 'control.db'}",
    }
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("SIGNALBOX_")]:
        del os.environ[name]
    os.environ.update(values)
    deployment.cache_clear()
    yield values
    os.environ.clear()
    os.environ.update(before)
    deployment.cache_clear()


def test_a_deployment_is_what_the_environment_describes() -> None:
    here = deployment()
    assert [assistant.title for assistant in here.catalog.assistants] == [
        "acme/plain",
        "acme/support",
        "globex/support",
    ]
    assert here.settings.development
    assert isinstance(here.tokens, SharedSecret)
    assert here.secret == SECRET.encode()


def test_a_deployment_is_read_once() -> None:
    first = deployment()
    os.environ["SIGNALBOX_JWT_SECRET"] = "another"
    assert deployment() is first


def test_the_stamp_s_secret_is_the_server_s_own_where_there_is_one() -> None:
    os.environ["SIGNALBOX_SERVER_SECRET"] = "own"
    here = deployment()
    assert here.secret == b"own"
    assert here.settings.server_secret == "own"


async def test_tokens_come_from_the_identity_provider_where_one_is_named() -> None:
    os.environ["SIGNALBOX_JWKS_URL"] = "http://127.0.0.1:9/jwks.json"
    assert isinstance(deployment().tokens, KeySet)


async def test_the_token_s_address_is_that_of_the_settings() -> None:
    os.environ["SIGNALBOX_JWT_AUDIENCE"] = "signalbox"
    tokens = deployment().tokens
    assert isinstance(tokens, SharedSecret)
    who = Principal("acme", "ann", frozenset({"user"}))
    assert await tokens.check(development_token(who, dict(os.environ), ttl=timedelta(hours=1))) == who


def test_a_wrong_setting_ends_the_start() -> None:
    del os.environ["SIGNALBOX_JWT_SECRET"]
    with pytest.raises(ConfigurationInvalid, match="no way to check tokens"):
        deployment()


def test_a_wrong_catalog_ends_the_start(environment: dict[str, str]) -> None:
    (Path(environment["SIGNALBOX_CATALOG"]) / "tenants/acme/support.yaml").write_text("name: other\n")
    with pytest.raises(CatalogInvalid, match=r"tenants/acme/support\.yaml"):
        deployment()


def test_the_folder_s_file_fills_what_the_environment_leaves_out() -> None:
    del os.environ["SIGNALBOX_JWT_SECRET"]
    Path(".env").write_text("SIGNALBOX_JWT_SECRET=of-the-file\nSIGNALBOX_ENV=prod\n")
    here = deployment()
    assert here.secret == b"of-the-file"
    assert here.settings.environment == "dev"


async def test_the_control_plane_s_engine_is_that_of_its_database(environment: dict[str, str]) -> None:
    engine = control_engine()
    assert control_engine() is engine
    assert str(engine.url) == environment["SIGNALBOX_DB"]
