"""Loading whole catalogs: golden directories, and that nothing is loaded when anything is wrong."""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from assistants.errors import CatalogInvalid
from assistants.loader import Catalog, load
from assistants.loading.node import Place
from assistants.loading.source import parse
from tests.unit.catalog.deployment import (
    GRAPHS,
    MINIMAL,
    RINGS,
    SUPPORT,
    TENANT,
    loaded,
    registry,
    report,
    support,
    write,
)

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture(scope="module")
def good() -> Catalog:
    return load(FIXTURES / "good", registry=registry, graphs=GRAPHS)


def test_good_catalog_is_resolved_to_the_last_field(good: Catalog) -> None:
    expected = json.loads((FIXTURES / "good.json").read_text(encoding="utf-8"))
    found = {
        assistant.title: {
            "release": assistant.release.digest,
            "graph": assistant.graph,
            "description": assistant.description,
            "threads": assistant.threads.model_dump(mode="json"),
            "schedule": [entry.model_dump(mode="json") for entry in assistant.schedule],
            "rollout": assistant.rollout,
            "context": assistant.context.model_dump(mode="json", exclude={"release"}),
        }
        for assistant in good.assistants
    }
    assert list(found) == ["acme/night", "acme/support", "globex/plain"]
    assert found == expected


def test_context_names_its_release_and_has_no_stamp(good: Catalog) -> None:
    for assistant in good.assistants:
        assert assistant.context.release == assistant.release.digest
        assert assistant.context.stamp is None
        assert (assistant.context.tenant, assistant.context.assistant) == (assistant.tenant, assistant.name)


def test_report_of_a_bad_catalog_is_complete_and_sorted() -> None:
    with pytest.raises(CatalogInvalid) as caught:
        load(FIXTURES / "bad", registry=registry, graphs=GRAPHS)
    assert str(caught.value).splitlines() == (FIXTURES / "bad.txt").read_text(encoding="utf-8").splitlines()
    assert len(caught.value.problems) > 60
    places = [(problem.file, problem.line, problem.column) for problem in caught.value.problems]
    assert places == sorted(places)


def test_report_holds_no_secret_and_no_absolute_path() -> None:
    with pytest.raises(CatalogInvalid) as caught:
        load(FIXTURES / "bad", registry=registry, graphs=GRAPHS)
    text = str(caught.value)
    for secret in ("sk-live", "OPENAI_API_KEY", "user:pass", "1" * 64, "SHARED_KEY", str(FIXTURES)):
        assert secret not in text


def test_provenance_tells_file_line_and_column(good: Catalog) -> None:
    night = good.assistant("acme", "night")
    assert night is not None
    place = night.provenance.place
    assert place("graph") == Place("bases/common.yaml", 2, 8)
    assert place("prompt", "file") == Place("bases/support.yaml", 2, 16)
    assert place("model", "fallbacks", 1) == Place("tenants/acme/support.yaml", 5, 30)
    assert place("name") == Place("tenants/acme/night.yaml", 1, 7)
    assert place("schedule") == Place("tenants/acme/night.yaml", 6, 11)
    assert place("limits", "seconds") == Place("tenants/acme/tenant.yaml", 9, 12)
    assert place("limits", "usd_per_day") == Place("tenants/acme/support.yaml", 22, 75)
    for removed in (("limits", "tokens"), ("model", "base_url"), ("approvals", "orders.refund", "when")):
        assert place(*removed) is None


def test_spec_holds_the_merged_file(good: Catalog) -> None:
    support_spec = good.assistants[1].spec
    assert support_spec.extends is None
    assert support_spec.tools.allow == ("orders.refund", "orders.get", "kb.search")
    assert support_spec.limits.seconds is None
    assert support_spec.rollout == "standard"


def test_lookups(good: Catalog) -> None:
    assert sorted(good.tenants) == ["acme", "globex"]
    assert good.rings == ("early", "late")
    acme = good.tenant("acme")
    assert acme is not None
    assert (acme.name, acme.ring, acme.timezone) == ("Acme GmbH", "early", "Europe/Berlin")
    assert good.tenant("initech") is None
    plain = good.assistant("globex", "plain")
    assert plain is not None
    assert good.by_id(plain.id) is plain
    assert good.by_id(uuid.UUID(int=0)) is None
    assert good.assistant("acme", "plain") is None
    assert (good.runs_per_minute("acme"), good.runs_per_minute("globex")) == (60, None)
    assert good.runs_per_minute("initech") is None


def test_api_keys_are_found_by_their_digest_only(good: Catalog) -> None:
    office = good.api_key("2" * 64)
    assert office is not None
    assert (office.tenant, office.id, office.user) == ("acme", "backoffice", "office@acme.example")
    assert office.roles == ("approver", "user")
    assert good.api_key("3" * 64) is None
    assert good.api_key("") is None


def test_comments_key_order_and_bases_do_not_change_a_release(tmp_path: Path, good: Catalog) -> None:
    root = tmp_path / "catalog"
    shutil.copytree(FIXTURES / "good", root)
    write(
        root,
        {
            "tenants/acme/support.yaml": """\
            # The same assistant without a base, in another order and another style.
            rollout: other          # not part of a release
            threads:
              upgrade: idle>24h
              on_abort: "reask"
            memory: {recall: 0x5}
            durability: sync
            concurrency: {allow: [enqueue, reject], default: reject}
            compaction: {keep_recent: 8, max_tokens: 24000}
            limits:
              approvals: 2
              repeats: 2
              usd_per_day: 60.0
              tool_calls: 25
              model_calls: 20
              steps: 40
            approvals:
              orders.refund:
                self: true
                by: operator
                expires: 1800s
                decisions: [approve, edit, reject]
                when: amount >= 100
            tools:
              mode: shadow
              limits:
                kb.search: {query: {one_of: [delivery, returns]}}
                orders.refund: {reason: {prefix: 'order '}, amount: {maximum: 500.0, minimum: 1e-2}}
              allow: [kb.search, orders.get, orders.refund]
            prompt:
              text: |
                # Support

                You work for {{company}}. Be {{ tone }}: {"json": {}} is fine.
              vars: {tone: friendly, company: Acme}
            model:
              api_key: secret:own_models
              base_url: https://models.acme.example/v1
              max_tokens: 900
              fallbacks: ["openai:tiny", "openai:spare"]
              timeout: 30.0
              temperature: 0.0
              name: openai:small
            description: Answers customers
            graph: react
            name: support
            """,
            "tenants/acme/night.yaml": "name: night\nextends: ../../bases/common.yaml\n",
        },
    )
    changed = load(root, registry=registry, graphs=GRAPHS)
    before, after = good.assistant("acme", "support"), changed.assistant("acme", "support")
    assert before is not None
    assert after is not None
    assert after.release.text == before.release.text
    assert after.rollout != before.rollout
    assert after.schedule != before.schedule


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name: support\n",
        "name: [",
        "name: support\ngraph: react\nmodel: {name: 'openai:small'}\nlimits: {stps: 1}\n",
    ],
)
def test_one_bad_file_loads_nothing(tmp_path: Path, text: str) -> None:
    assert report(tmp_path, {"tenants/acme/other.yaml": MINIMAL.replace("support", "other")}) == []
    lines = report(tmp_path, {SUPPORT: text})
    assert lines
    assert all(line.startswith(f"{SUPPORT}:") for line in lines)


def test_two_errors_in_two_files_are_both_reported(tmp_path: Path) -> None:
    files = {
        **support("limits: {stps: 1}\n"),
        "tenants/acme/tenant.yaml": "slug: acme\nring: erly\ntimezone: UTC\n",
    }
    assert report(tmp_path, files) == [
        "tenants/acme/support.yaml:4:10: unknown key 'stps' in limits; did you mean 'steps'?",
        "tenants/acme/tenant.yaml:2:7: ring: unknown ring 'erly'; did you mean 'early'?",
    ]


def test_missing_catalog_rings_tenants_and_tenant_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(CatalogInvalid, match="the catalog's directory does not exist"):
        load(tmp_path / "nowhere", registry=registry, graphs=GRAPHS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(CatalogInvalid) as caught:
        load(tmp_path / "empty", registry=registry, graphs=GRAPHS)
    assert str(caught.value).splitlines() == [
        "rings.yaml:1:1: the file is missing; it lists the rings, such as: rings: [early, main]",
        "tenants:1:1: the catalog has no tenant; expected tenants/SLUG/tenant.yaml",
    ]
    write(tmp_path / "bare", {**RINGS, SUPPORT: MINIMAL})
    with pytest.raises(CatalogInvalid) as caught:
        load(tmp_path / "bare", registry=registry, graphs=GRAPHS)
    assert str(caught.value).splitlines() == [
        "tenants/acme/tenant.yaml:1:1: the file is missing; each tenant's folder has one"
    ]


def test_tenant_without_assistants_and_unused_sound_base_are_fine(tmp_path: Path) -> None:
    catalog = loaded(tmp_path, {"bases/x.yaml": "graph: react\nlimits: {steps: 3}\n"})
    assert list(catalog.tenants) == ["acme"]
    assert catalog.assistants == ()


def test_mistake_in_a_base_is_reported_once_at_the_base(tmp_path: Path) -> None:
    files = {
        "bases/base.yaml": "graph: react\nmodel: {name: 'openai:small'}\nlimits: {steps: '40', tokens: 0}\n",
        "tenants/acme/one.yaml": "name: one\nextends: ../../bases/base.yaml\n",
        "tenants/acme/two.yaml": "name: two\nextends: ../../bases/base.yaml\nlimits: {steps: 3}\n",
    }
    assert report(tmp_path, files) == [
        "bases/base.yaml:3:17: limits.steps: expected a whole number, got '40'",
        "bases/base.yaml:3:31: limits.tokens: expected more than 0, got 0",
    ]


def test_what_a_base_leaves_out_is_asked_of_the_assistant(tmp_path: Path) -> None:
    files = {
        "bases/base.yaml": "compaction: {max_tokens: 9}\nmodel: {temperature: 0}\nprompt: {vars: {a: b}}\n",
        "tenants/acme/one.yaml": "name: one\ngraph: react\nextends: ../../bases/base.yaml\n",
    }
    assert report(tmp_path, files) == [
        "bases/base.yaml:1:1: compaction.keep_recent is missing",
        "bases/base.yaml:2:1: model.name is missing",
        "bases/base.yaml:3:9: prompt: expected file or text",
    ]


def test_base_has_no_name(tmp_path: Path) -> None:
    files = {"bases/base.yaml": "name: base\ngraph: react\n"}
    assert report(tmp_path, files) == [
        "bases/base.yaml:1:1: name: a base has none; the files that extend it do"
    ]


def test_prompt_and_base_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    files = {
        "bases/deep/base.yaml": "graph: react\nprompt: {file: ../texts/p.md}\n",
        "bases/texts/p.md": "From the base.",
        "tenants/acme/p.md": "From the tenant.",
        "tenants/acme/one.yaml": (
            "name: one\nextends: ../../bases/deep/base.yaml\nmodel: {name: 'openai:small'}\n"
        ),
        "tenants/acme/two.yaml": "name: two\nextends: one.yaml\nprompt: {file: p.md}\n",
    }
    catalog = loaded(tmp_path, files)
    assert [assistant.context.prompt for assistant in catalog.assistants] == [
        "From the base.",
        "From the tenant.",
    ]


def test_links_in_a_catalog_are_refused_even_inside_a_handbook(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"p.md": "secret", "b.yaml": "graph: react"})
    root = write(
        tmp_path / "root", {**RINGS, **TENANT, **support("prompt: {file: p.md}\n"), "bases/x.md": "x"}
    )
    write(
        root,
        {
            "tenants/acme/handbook/a.md": "a",
            "tenants/acme/two.yaml": "name: two\nextends: ../../bases/b.yaml\n",
        },
    )
    (root / "tenants/acme/p.md").symlink_to(outside / "p.md")
    (root / "bases/b.yaml").symlink_to(outside / "b.yaml")
    (root / "tenants/acme/handbook/b.md").symlink_to(outside / "p.md")
    with pytest.raises(CatalogInvalid) as caught:
        load(root, registry=registry, graphs=GRAPHS)
    link, nothing = "1:1: is a symbolic link; put the file itself here", "symbolic links are not followed"
    assert str(caught.value).splitlines() == [
        f"bases/b.yaml:{link}",
        f"tenants/acme/handbook/b.md:{link}",
        f"tenants/acme/p.md:{link}",
        f"tenants/acme/support.yaml:4:16: prompt.file: there is no file 'p.md'; {nothing}",
        f"tenants/acme/two.yaml:2:10: extends: there is no file '../../bases/b.yaml'; {nothing}",
    ]


SCALARS: list[Any] = [None, True, -1, 2**60, 1.5, "", "x", "40", "..", "secret:own_models", "{{ x }}"]
NESTED: list[Any] = [[], {}, [[]], {"x": {}}, {"key": "a"}, [{"key": "a"}]]
WRONG: st.SearchStrategy[Any] = st.sampled_from(SCALARS + NESTED)


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value below a plain value, its own too."""
    steps: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        steps = cast("dict[str, Any]", value).items()
    elif isinstance(value, list):
        steps = enumerate(cast("list[Any]", value))
    return [path, *(below for step, child in steps for below in places_in(child, (*path, step)))]


def replaced(value: Any, path: tuple[Any, ...], new: object) -> Any:
    """The plain value with another one at `path`."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_wrong_value_anywhere_is_a_problem_or_another_release_never_a_crash(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["tenants/acme/support.yaml", "tenants/acme/tenant.yaml", "rings.yaml"]))
    tree, _ = parse((FIXTURES / "good" / name).read_text(encoding="utf-8"), file=name)
    assert tree is not None
    plain: Any = tree.plain()
    path = data.draw(st.sampled_from(places_in(plain)))
    changed = replaced(plain, path, data.draw(WRONG))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "catalog"
        shutil.copytree(FIXTURES / "good", root)
        (root / name).write_text(json.dumps(changed), encoding="utf-8")
        try:
            assistants = load(root, registry=registry, graphs=GRAPHS).assistants
        except CatalogInvalid as invalid:
            event("refused")
            lines = str(invalid).splitlines()
            assert len(lines) == len(invalid.problems) > 0  # noqa: PT017 - a sound catalog is fine too
            assert folder not in str(invalid)  # noqa: PT017
        else:
            event("accepted")
            assert len(assistants) == 3
