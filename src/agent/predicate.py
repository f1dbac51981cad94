"""A predicate over the arguments of one tool call: the language of `approvals: {tool: {when: …}}`.

    amount >= 100
    currency == "EUR" and not reason contains "goodwill"
    always

A comparison is an argument, an operator (`==`, `!=`, `<`, `<=`, `>`, `>=`, `contains`) and a number, a
quoted text, `true` or `false`; `and`, `or`, `not` and parentheses join comparisons, `always` and `never`.
Nothing of Python is evaluated. It errs towards asking a person: an argument that is missing or of another
type than its literal makes the whole predicate hold, also below `not`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, cast

from agent.errors import AgentError

LONGEST: Final = 1_000
"""The longest predicate, in characters."""

DEEPEST: Final = 32
"""How deep parentheses and `not` may be nested."""

Operator = Literal["==", "!=", "<", "<=", ">", ">=", "contains"]
LiteralValue = bool | int | float | str

_ORDERED: Final = ("<", "<=", ">", ">=")
_OPERATORS: Final = ("==", "!=", *_ORDERED, "contains")
_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
      | (?P<text>"(?:[^"\\]|\\.)*")
      | (?P<word>[^\W\d]\w*)
      | (?P<mark>==|!=|<=|>=|<|>|\(|\))
      | (?P<end>$)
    )""",
    re.VERBOSE,
)


class PredicateInvalid(AgentError):
    """The text is not a predicate. `position` counts characters from 1."""

    code = "predicate_invalid"

    def __init__(self, detail: str, *, position: int) -> None:
        super().__init__(f"{detail} (at character {position})")
        self.position = position


@dataclass(frozen=True, slots=True)
class Constant:
    """`always` or `never`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """One argument against one literal."""

    name: str
    operator: Operator
    literal: LiteralValue


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of one term."""

    term: Term


@dataclass(frozen=True, slots=True)
class Every:
    """Terms joined by `and`, two or more."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """Terms joined by `or`, two or more."""

    terms: tuple[Term, ...]


Term = Constant | Comparison | Not | Every | Some


@dataclass(frozen=True, slots=True)
class Predicate:
    """A parsed predicate; `str()` gives its canonical text, which parses to an equal one."""

    term: Term

    def __str__(self) -> str:
        return _text(self.term)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Every comparison, from left to right."""
        return tuple(_comparisons(self.term))

    @property
    def names(self) -> frozenset[str]:
        """The arguments that it reads."""
        return frozenset(comparison.name for comparison in self.comparisons)

    def holds(self, arguments: Mapping[str, object]) -> bool:
        """Whether it holds for these arguments.

        True too when any argument in `names` is missing or has another type than the literal it is compared
        with: a call that cannot be judged is shown to a person.
        """
        if not all(_comparable(comparison, arguments) for comparison in self.comparisons):
            return True
        return _evaluate(self.term, arguments)


def parse(text: str) -> Predicate:
    """The predicate that `text` says.

    Raises:
        PredicateInvalid: It is no predicate; `position` tells where it stops being one.
    """
    if len(text) > LONGEST:
        raise PredicateInvalid(f"a predicate has at most {LONGEST} characters", position=LONGEST + 1)
    return Predicate(_Parser(text).whole())


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while True:
        match = _TOKEN.match(text, at)
        if match is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            raise PredicateInvalid(f"cannot read {text[start : start + 12]!r}", position=start + 1)
        kind = str(match.lastgroup)
        found.append(_Token(kind, match[kind], match.start(kind) + 1))
        if kind == "end":
            return found
        at = match.end()


class _Parser:
    """Recursive descent over the tokens; `or` binds weakest, then `and`, then `not`."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._next = 0

    def whole(self) -> Term:
        term = self._some(depth=0)
        token = self._take()
        if token.kind != "end":
            raise PredicateInvalid(
                f"expected 'and', 'or' or the end, got {token.text!r}", position=token.position
            )
        return term

    def _some(self, *, depth: int) -> Term:
        terms = [self._every(depth=depth)]
        while self._skip("or"):
            terms.append(self._every(depth=depth))
        return terms[0] if len(terms) == 1 else Some(tuple(terms))

    def _every(self, *, depth: int) -> Term:
        terms = [self._single(depth=depth)]
        while self._skip("and"):
            terms.append(self._single(depth=depth))
        return terms[0] if len(terms) == 1 else Every(tuple(terms))

    def _single(self, *, depth: int) -> Term:
        token = self._take()
        if depth > DEEPEST:
            raise PredicateInvalid(f"nested more than {DEEPEST} deep", position=token.position)
        if token.text == "(":
            term = self._some(depth=depth + 1)
            self._close()
            return term
        if token.kind != "word" or token.text in ("and", "or", "contains", "true", "false"):
            found = repr(token.text) if token.text else "the end"
            raise PredicateInvalid(f"expected the name of an argument, got {found}", position=token.position)
        if token.text == "not":
            return Not(self._single(depth=depth + 1))
        if token.text in ("always", "never"):
            return Constant(token.text == "always")
        return self._comparison(token.text)

    def _comparison(self, name: str) -> Comparison:
        token = self._take()
        if token.text not in _OPERATORS:
            raise PredicateInvalid(
                f"expected an operator after {name!r}: ==, !=, <, <=, >, >= or contains",
                position=token.position,
            )
        operator = token.text
        value = self._take()
        literal = _literal(value)
        if operator in _ORDERED and (isinstance(literal, str | bool)):
            raise PredicateInvalid(f"{operator} compares numbers, got {value.text}", position=value.position)
        if operator == "contains" and not isinstance(literal, str):
            raise PredicateInvalid(
                f"contains looks for a quoted text, got {value.text}", position=value.position
            )
        return Comparison(name, operator, literal)

    def _close(self) -> None:
        token = self._take()
        if token.text != ")":
            raise PredicateInvalid("expected ')'", position=token.position)

    def _skip(self, word: str) -> bool:
        token = self._tokens[self._next]
        if token.kind == "word" and token.text == word:
            self._next += 1
            return True
        return False

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token


def _literal(token: _Token) -> LiteralValue:
    if token.kind == "word" and token.text in ("true", "false"):
        return token.text == "true"
    if token.kind == "number":
        return _number(token)
    if token.kind == "text":
        return _quoted(token)
    raise PredicateInvalid(
        'expected a number, a text in double quotes ("…"), true or false', position=token.position
    )


def _quoted(token: _Token) -> str:
    try:
        text = str(json.loads(token.text))
    except json.JSONDecodeError:
        raise PredicateInvalid("a quoted text is written as in JSON", position=token.position) from None
    if re.search("[\\0\ud800-\udfff]", text):
        raise PredicateInvalid("a quoted text has no null and no lone surrogate", position=token.position)
    return text


def _number(token: _Token) -> int | float:
    number = float(token.text)
    if not math.isfinite(number):
        raise PredicateInvalid(f"{token.text} is too large", position=token.position)
    return int(token.text) if re.fullmatch(r"-?\d+", token.text) else number


def _comparable(comparison: Comparison, arguments: Mapping[str, object]) -> bool:
    value = arguments.get(comparison.name)
    if isinstance(comparison.literal, bool):
        return isinstance(value, bool)
    if isinstance(comparison.literal, str):
        return isinstance(value, str)
    return _is_number(value)


def _is_number(value: object) -> bool:
    if isinstance(value, Decimal):
        return value.is_finite()
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _evaluate(term: Term, arguments: Mapping[str, object]) -> bool:
    match term:
        case Constant(value):
            return value
        case Not(inner):
            return not _evaluate(inner, arguments)
        case Every(terms):
            return all(_evaluate(inner, arguments) for inner in terms)
        case Some(terms):
            return any(_evaluate(inner, arguments) for inner in terms)
        case Comparison():
            return _compare(term, arguments[term.name])


def _compare(comparison: Comparison, value: object) -> bool:
    literal = comparison.literal
    if comparison.operator == "contains":
        return str(literal) in str(value)
    equal = value == literal
    if comparison.operator in ("==", "!="):
        return equal is (comparison.operator == "==")
    below = cast("float", value) < cast("float", literal)
    return {"<": below, "<=": below or equal, ">": not (below or equal), ">=": not below}[comparison.operator]


def _comparisons(term: Term) -> list[Comparison]:
    match term:
        case Constant():
            return []
        case Comparison():
            return [term]
        case Not(inner):
            return _comparisons(inner)
        case Every(terms) | Some(terms):
            return [comparison for inner in terms for comparison in _comparisons(inner)]


def _text(term: Term) -> str:
    match term:
        case Constant(value):
            return "always" if value else "never"
        case Comparison(name, operator, literal):
            return f"{name} {operator} {json.dumps(literal, ensure_ascii=False)}"
        case Not(inner):
            return f"not {_bracketed(inner, inside=(Every, Some))}"
        case Every(terms):
            return " and ".join(_bracketed(inner, inside=(Every, Some)) for inner in terms)
        case Some(terms):
            return " or ".join(_bracketed(inner, inside=(Some,)) for inner in terms)


def _bracketed(term: Term, *, inside: tuple[type, ...]) -> str:
    return f"({_text(term)})" if isinstance(term, inside) else _text(term)
