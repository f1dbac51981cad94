"""From a sound file to the context of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistants.loader import Catalog, load
from tests.unit.catalog.deployment import GRAPHS, SUPPORT, loaded, registry, support

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture(scope="module")
def good() -> Catalog:
    return load(FIXTURES / "good", registry=registry, graphs=GRAPHS)


def test_secret_is_a_reference_in_the_context_whatever_the_environment_holds(
    good: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_MODELS_KEY", "sk-really-secret")
    again = load(FIXTURES / "good", registry=registry, graphs=GRAPHS)
    assert again.assistants[1].context.model == good.assistants[1].context.model
    model = again.assistants[1].context.model
    assert model is not None
    assert model.api_key == "env:ACME_MODELS_KEY"


def test_endpoint_without_a_key_gets_none(tmp_path: Path) -> None:
    files = {
        SUPPORT: 'name: support\ngraph: react\nmodel: {name: "openai:x", base_url: "http://127.0.0.1:8000/v1"}\n'
    }
    model = loaded(tmp_path, files).assistants[0].context.model
    assert model is not None
    assert (model.base_url, model.api_key) == ("http://127.0.0.1:8000/v1", None)


def test_assistant_without_tools_has_none_and_nothing_permissive(tmp_path: Path) -> None:
    context = loaded(tmp_path, support("")).assistants[0].context
    assert context.tools == ()
    assert context.approvals == {}
    assert context.policy_mode == "enforce"
    assert context.concurrency is not None
    assert (context.concurrency.default, context.concurrency.allow) == ("interrupt", ("interrupt",))


def test_tool_brings_its_approval_unless_the_file_sets_one(tmp_path: Path) -> None:
    brought = (
        loaded(tmp_path, support("tools: {allow: [orders.refund, files.write]}\n")).assistants[0].context
    )
    assert set(brought.approvals) == {"orders.refund"}
    rule = brought.approvals["orders.refund"]
    assert (rule.when, rule.decisions, rule.expires) == ("always", ("approve", "reject"), 86_400)
    assert (rule.by, rule.self_approval) == ("approver", False)
    files = support("tools: {allow: [orders.refund]}\napprovals: {orders.refund: {when: never}}\n")
    assert loaded(tmp_path, files).assistants[0].context.approvals["orders.refund"].when == "never"


def test_assistant_that_changes_something_rejects_a_second_message_by_default(tmp_path: Path) -> None:
    context = loaded(tmp_path, support("tools: {allow: [orders.get, files.write]}\n")).assistants[0].context
    assert context.concurrency is not None
    assert (context.concurrency.default, context.concurrency.allow) == ("reject", ("reject",))


def test_default_strategy_is_allowed_also_when_the_file_does_not_list_it(tmp_path: Path) -> None:
    files = support("concurrency: {default: rollback, allow: [interrupt, reject]}\n")
    concurrency = loaded(tmp_path, files).assistants[0].context.concurrency
    assert concurrency is not None
    assert (concurrency.default, concurrency.allow) == ("rollback", ("reject", "interrupt", "rollback"))


def test_lists_that_are_sets_and_predicates_are_written_in_one_way(tmp_path: Path) -> None:
    one = """\
    tools:
      allow: [orders.refund, files.write, kb.search]
      limits: {files.write: {mode: {one_of: [new, append]}}}
    approvals: {orders.refund: {when: "(amount>=100) or order==1", decisions: [reject, edit, approve]}}
    concurrency: {default: rollback, allow: [interrupt, enqueue]}
    """
    two = """\
    tools:
      allow: [kb.search, files.write, orders.refund]
      limits: {files.write: {mode: {one_of: [append, new]}}}
    approvals: {orders.refund: {when: amount >= 100 or order == 1, decisions: [approve, edit, reject]}}
    concurrency: {default: rollback, allow: [rollback, enqueue, interrupt]}
    """
    first, second = (loaded(tmp_path, support(text)).assistants[0] for text in (one, two))
    assert first.release == second.release
    context = first.context
    assert context.tools == ("files.write", "kb.search", "orders.refund")
    assert context.tool_limits["files.write"]["mode"].one_of == ("append", "new")
    assert context.approvals["orders.refund"].when == "amount >= 100 or order == 1"
    assert context.approvals["orders.refund"].decisions == ("approve", "edit", "reject")
    assert context.concurrency is not None
    assert context.concurrency.allow == ("enqueue", "interrupt", "rollback")


def test_order_of_fallbacks_counts(tmp_path: Path) -> None:
    model = 'name: support\ngraph: react\nmodel: {name: "openai:a", fallbacks: ["openai:b", "openai:c"]}\n'
    other = model.replace('"openai:b", "openai:c"', '"openai:c", "openai:b"')
    first, second = (loaded(tmp_path, {SUPPORT: text}).assistants[0] for text in (model, other))
    assert first.context.model is not None
    assert first.context.model.fallbacks == ("openai:b", "openai:c")
    assert first.release.digest != second.release.digest


def test_schedule_and_rollout_make_no_new_release(tmp_path: Path) -> None:
    schedule = "schedule: [{key: a, cron: '0 7 * * *', input: {x: 1}}]\nrollout: slow\n"
    plain, scheduled = (loaded(tmp_path, support(text)).assistants[0] for text in ("", schedule))
    assert scheduled.schedule[0].key == "a"
    assert scheduled.rollout == "slow"
    assert plain.release == scheduled.release


def test_context_is_total(good: Catalog) -> None:
    for assistant in good.assistants:
        dumped = assistant.context.total()
        assert set(dumped) == set(type(assistant.context).model_fields)
        assert type(assistant.context).model_validate(dumped) == assistant.context
