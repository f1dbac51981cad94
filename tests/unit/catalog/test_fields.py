"""The kinds of text in catalog files."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext

import pytest
from pydantic import BaseModel

from assistants.loading import fields


@pytest.mark.parametrize(
    ("check", "texts"),
    [
        (fields.slug, ["a", "acme", "7up", "a-b-c", "a" * 63]),
        (fields.model_name, ["openai:gpt-5-mini", "openai:org/model:free", "openai:通义"]),
        (fields.profile_name, ["openai", "generic-safe", "deepseek"]),
        (fields.base_url, ["https://models.example.com/v1", "http://127.0.0.1:8000", "http://[::1]:80/v1/"]),
        (fields.secret_name, ["orders_api", "a1"]),
        (fields.secret_reference, ["secret:orders_api"]),
        (fields.variable_reference, ["env:ACME_KEY", "env:A", "env:DATABASE", "env:MY_OPENAI_KEY"]),
        (fields.digest, ["0123456789abcdef" * 4]),
        (fields.user_name, ["u1", "a.b@example.com", "web-shop", "services"]),
        (fields.time_zone, ["Europe/Berlin", "Asia/Shanghai", "UTC", "America/Argentina/Ushuaia"]),
        (fields.lifetime, ["24h", "30m"]),
        (fields.condition, ["always", "amount >= 100"]),
        (fields.timetable, ["0 7 * * 1-5"]),
        (fields.upgrade_rule, ["stay", "thread", "turn", "idle>24h", "idle>7d"]),
    ],
)
def test_good_text_is_kept_as_it_is(check: Callable[[str], str], texts: list[str]) -> None:
    assert [check(text) for text in texts] == texts


@pytest.mark.parametrize(
    ("check", "text", "words"),
    [
        (fields.slug, "", "expected lower-case letters"),
        (fields.slug, "-a", "got '-a'"),
        (fields.slug, "Acme", "got 'Acme'"),
        (fields.slug, "a_b", "got 'a_b'"),
        (fields.slug, "a" * 64, "at most 63"),
        (fields.slug, "a\n", r"got 'a\\n'"),
        (fields.slug, "../x", "got '../x'"),
        (fields.model_name, "gpt-5", "expected provider:model"),
        (fields.model_name, "openai:", "expected provider:model"),
        (fields.model_name, "openai:a b", "expected provider:model"),
        (fields.model_name, "openai:" + "x" * 200, "expected provider:model"),
        (fields.model_name, "opneai:x", "unknown provider 'opneai'; did you mean 'openai'"),
        (fields.model_name, "anthropic:x", "unknown provider 'anthropic'; expected one of openai"),
        (fields.profile_name, "depseek", "unknown profile 'depseek'; did you mean 'deepseek'"),
        (fields.profile_name, "", "unknown profile ''; expected one of compatible, deepseek, generic-safe"),
        (fields.secret_name, "Orders", "a letter first"),
        (fields.time_zone, "Europe/Berln", "unknown time zone 'Europe/Berln'; did you mean 'Europe/Berlin'"),
        (fields.time_zone, "", "unknown time zone ''"),
        (fields.time_zone, "../../etc/passwd", "unknown time zone"),
        (fields.time_zone, "Europe", "unknown time zone"),
        (fields.time_zone, "CET-1CEST,M3.5.0", "unknown time zone"),
        (fields.user_name, "service", "the user 'service' is reserved for schedules"),
        (fields.user_name, "a/b", "got 'a/b'"),
        (fields.user_name, "", "expected letters"),
        (fields.user_name, " u", "expected letters"),
        (fields.lifetime, "1w", "expected a duration such as 30m, 24h or 7d, got '1w'"),
        (fields.condition, "amount >", r"expected a number.* \(at character 9\), in 'amount >'"),
        (fields.timetable, "* * *", r"expected five fields .*, got 3, in '\* \* \*'"),
        (fields.upgrade_rule, "always", "expected stay, thread, turn or idle>DURATION"),
        (fields.upgrade_rule, "idle>", "expected a duration"),
        (fields.upgrade_rule, "idle>soon", "expected a duration"),
    ],
)
def test_bad_text_is_refused_with_what_was_expected(
    check: Callable[[str], str], text: str, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        check(text)


@pytest.mark.parametrize(
    ("check", "texts"),
    [
        (
            fields.base_url,
            [
                "hunter2",
                "ftp://hunter2.example",
                "https://",
                "https://user:hunter2@example.com",
                "https://example.com/?key=hunter2",
                "https://example.com/#hunter2",
                "https://example.com:hunter2/",
                "https://example.com:0/hunter2",
                "https://exa mple.com/hunter2",
                "https://example.com\\hunter2",
                "https://exämple.com/hunter2",
                "http://[hunter2",
                "https://example.com/\nhunter2",
            ],
        ),
        (fields.secret_reference, ["hunter2", "env:HUNTER2", "secret:", "secret:Hunter2", "secret:hunter2 "]),
        (fields.variable_reference, ["hunter2", "env:hunter2", "env:", "env:HUNTER2\n", "$HUNTER2"]),
        (fields.digest, ["hunter2", "A" * 64, "a" * 63, "a" * 65, "g" * 64]),
    ],
)
def test_what_may_be_a_secret_is_refused_without_repeating_it(
    check: Callable[[str], str], texts: list[str]
) -> None:
    for text in texts:
        with pytest.raises(ValueError, match="expected") as caught:
            check(text)
        assert "hunter2" not in str(caught.value).lower()


@pytest.mark.parametrize("prefix", fields.PLATFORM_VARIABLES)
def test_variables_of_the_platform_cannot_be_reached(prefix: str) -> None:
    with pytest.raises(ValueError, match="not one of the platform"):
        fields.variable_reference(f"env:{prefix}KEY")
    assert fields.variable_reference(f"env:ACME_{prefix}KEY")


def test_platform_variables_cover_the_server_its_stores_and_its_models() -> None:
    for name in ("SIGNALBOX_JWT_SECRET", "OPENAI_API_KEY", "DATABASE_URI", "REDIS_URI", "LANGSMITH_API_KEY"):
        assert name.startswith(fields.PLATFORM_VARIABLES)


class Kinds(BaseModel):
    slug: fields.Slug
    digest: fields.Sha256
    upgrade_rule: fields.Upgrade
    lifetime: fields.Lifetime
    secret_reference: fields.SecretReference
    variable_reference: fields.VariableReference
    user_name: fields.User


@pytest.mark.parametrize(
    ("check", "texts"),
    [
        (fields.slug, ["a-b", "A", "-a", "a" * 64]),
        (fields.digest, ["a" * 64, "a" * 63]),
        (fields.upgrade_rule, ["stay", "idle>24h", "idle>", "never"]),
        (fields.lifetime, ["24h", "0h", "h"]),
        (fields.secret_reference, ["secret:a", "a"]),
        (fields.variable_reference, ["env:A", "A"]),
        (fields.user_name, ["u1", "a/b"]),
    ],
)
def test_schema_patterns_agree_with_the_checks(check: Callable[[str], str], texts: list[str]) -> None:
    pattern = Kinds.model_json_schema()["properties"][check.__name__]["pattern"]
    found = [re.search(pattern, text) is not None for text in texts]
    assert set(found) == {True, False}
    for text, fits in zip(texts, found, strict=True):
        with nullcontext() if fits else pytest.raises(ValueError, match="expected"):
            check(text)
