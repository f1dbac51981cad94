"""`signalbox approvals`: what it refuses before it asks, and how it shows what a model wrote."""

from __future__ import annotations

from typing import Any

import httpx
import jwt
import pytest

from assistants.cli import approvals, operations
from assistants.cli.approvals import line, lines
from assistants.cli.main import main
from assistants.cli.operations import OperationRefused
from tests.support.server import SECRET

pytestmark = pytest.mark.anyio

RECORD: dict[str, Any] = {
    "id": "ab" * 32,
    "state": "pending",
    "proposal": False,
    "tenant": "acme",
    "assistant": "support",
    "release": "f" * 64,
    "thread": "t1",
    "interrupt": "i1",
    "tool": "orders.refund",
    "arguments": {"order": 1001, "amount": 150},
    "requester": "acme/ann",
    "role": "approver",
    "self_approval": False,
    "decisions": ["approve", "reject"],
    "created_at": "2026-03-01T12:00:00.000000Z",
    "expires_at": None,
    "decided_by": None,
    "decided_at": None,
    "edited": None,
    "reason": None,
    "executed_at": None,
}


@pytest.fixture
def development(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNALBOX_ENV", "dev")
    monkeypatch.setenv("SIGNALBOX_JWT_SECRET", SECRET)
    for name in ("PORT", "SIGNALBOX_URL", "SIGNALBOX_TOKEN", "SIGNALBOX_DB", "SIGNALBOX_JWKS_URL"):
        monkeypatch.setenv(name, "")


def test_an_approval_in_one_line() -> None:
    text = line(RECORD).plain
    assert text == (
        'abababababab  pending  acme/support  orders.refund {"order": 1001, "amount": 150}  acme/ann  '
        "2026-03-01 12:00"
    )


def test_a_proposal_is_called_one_until_it_is_decided() -> None:
    assert "  proposal  " in line({**RECORD, "proposal": True}).plain
    assert "  rejected  " in line({**RECORD, "proposal": True, "state": "rejected"}).plain


def test_an_approval_with_everything_that_helps_to_decide() -> None:
    found = [text.plain for text in lines({**RECORD, "reason": "too much"})]
    assert found[0] == f"id           {'ab' * 32}"
    assert 'arguments    {"order": 1001, "amount": 150}' in found
    assert 'decisions    ["approve", "reject"]' in found
    assert "reason       too much" in found
    assert not any(text.startswith(("expires at", "decided by", "edited")) for text in found)


def test_what_a_model_wrote_steers_no_terminal() -> None:
    wild = {**RECORD, "reason": "\x1b[2Jgone \u202e", "arguments": {"note": "太多\x07"}}
    for text in (line(wild), *lines(wild)):
        assert text.plain.isprintable()
    assert "太多" in line(wild).plain


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["edit", "x", "--arguments", "{", "--tenant", "acme"], "--arguments is '{'; expected a JSON object"),
        (
            ["edit", "x", "--arguments", "[]", "--tenant", "acme"],
            "--arguments is '[]'; expected a JSON object",
        ),
        (["approve", "x", "--tenant", "Acme"], "expected a lower-case tenant slug"),
    ],
)
def test_a_wrong_value_is_refused_in_words(
    words: list[str], said: str, development: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["approvals", *words]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("words", [["edit", "x"], ["approve"], ["list", "--wrong"], ["nosuch"]])
def test_wrong_usage_is_exit_code_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["approvals", *words]) == 2


def serving(monkeypatch: pytest.MonkeyPatch, *answers: httpx.Response) -> list[httpx.Request]:
    """Let a server answer the command with these, in their order; what it is asked."""
    asked: list[httpx.Request] = []
    waiting = list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return waiting.pop(0)

    class Client(httpx.AsyncClient):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings, transport=httpx.MockTransport(answer))

    monkeypatch.setattr(operations.httpx, "AsyncClient", Client)
    return asked


async def test_the_beginning_of_an_id_is_enough_where_it_is_the_only_one(
    development: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = {**RECORD, "id": "ac" * 32}
    page = httpx.Response(200, json={"approvals": [RECORD, other]})
    asked = serving(monkeypatch, page, page, page)
    assert await approvals.show("aba") == 0
    assert "ab" * 32 in capsys.readouterr().out
    assert asked[0].url.params["state"] == "all"
    for beginning, said in (("a", "More than one approval (2)"), ("ff", "No approval")):
        with pytest.raises(OperationRefused, match="begins with") as caught:
            await approvals.show(beginning)
        assert said in str(caught.value)


async def test_a_decision_is_sent_as_it_was_said(
    development: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = httpx.Response(200, json={"approval": RECORD})
    done = httpx.Response(
        200, json={"approval": {**RECORD, "state": "edited"}, "run": None, "result": "created\x1b"}
    )
    asked = serving(monkeypatch, one, done)
    code = await approvals.edit("ab" * 32, changed='{"amount": 1}', tenant="acme", reason="less")
    assert code == 0
    assert (asked[1].method, asked[1].url.path) == ("POST", f"/ops/approvals/{'ab' * 32}")
    assert asked[1].content == b'{"decision":"edit","arguments":{"amount":1},"reason":"less"}'
    printed = capsys.readouterr().out
    assert "  edited  acme/support" in printed
    assert "It was carried out: created\\x1b" in printed


async def test_in_development_the_approval_says_whose_approver_decides(
    development: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = httpx.Response(200, json={"approval": RECORD})
    done = httpx.Response(200, json={"approval": RECORD, "run": None, "result": None})
    asked = serving(monkeypatch, one, one, done)
    assert await approvals.approve("ab" * 32, user="eve") == 0
    tokens = [request.headers["Authorization"].removeprefix("Bearer ") for request in asked]
    claims = [jwt.decode(token, options={"verify_signature": False}) for token in tokens]
    assert [(claim["tenant"], claim["sub"], claim["roles"]) for claim in claims] == [
        ("platform", "cli", ["operator"]),
        ("acme", "eve", ["approver"]),
        ("acme", "eve", ["approver"]),
    ]


async def test_a_given_token_decides_in_its_own_name(
    development: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNALBOX_TOKEN", "given")
    one = httpx.Response(200, json={"approval": RECORD})
    done = httpx.Response(200, json={"approval": RECORD, "run": None, "result": None})
    asked = serving(monkeypatch, one, done)
    assert await approvals.approve("ab" * 32) == 0
    assert [request.headers["Authorization"] for request in asked] == ["Bearer given"] * 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx.Response(409, json={"detail": "It has expired."}), "409: It has expired."),
        (httpx.Response(502, text="bad gateway"), "502: it gave no reason."),
        (httpx.Response(500, json=["x"]), "500: it gave no reason."),
    ],
)
async def test_a_refusal_is_told_in_the_server_s_words(
    answer: httpx.Response, said: str, development: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving(monkeypatch, httpx.Response(200, json={"approval": RECORD}), answer)
    with pytest.raises(OperationRefused) as caught:
        await approvals.reject("ab" * 32, tenant="acme")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("state", "said"), [("pending", "Nothing waits for a decision."), ("all", "Nothing was asked for.")]
)
async def test_an_empty_list_says_so(
    state: str,
    said: str,
    development: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = serving(monkeypatch, httpx.Response(200, json={"approvals": []}))
    assert await approvals.listed(tenant="acme", every=state == "all") == 0
    assert said in capsys.readouterr().out
    assert dict(asked[0].url.params) == {"tenant": "acme", "state": state}
