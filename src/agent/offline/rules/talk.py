"""The model's own sentences, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from agent.offline.rules.choice import addressed
from agent.offline.rules.lexicon import GREETINGS, LABELS, POLITE, THANKS
from agent.offline.rules.offer import Argument, Offer
from agent.offline.rules.plan import Step
from agent.offline.rules.words import Language, identifier, language, words

_TITLE = 100  # characters of a tool's description that name it
_EXTRACT = 600  # characters of an extract
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_TRANSCRIPT = re.compile(r"<messages>(.*)</messages>", re.DOTALL)
_SENTENCES: Mapping[Language, Mapping[str, str]] = MappingProxyType(
    {
        "en": {
            "hello": "Hello!",
            "about": "I am Signalbox's offline demonstration model: I follow rules and need no key.",
            "welcome": "You're welcome.",
            "unmatched": "I am Signalbox's offline demonstration model and found no tool that fits this.",
            "able": "Here is what I can do:",
            "unable": "No tools are offered to me here, so there is little that I can do.",
            "free": "I am Signalbox's offline demonstration model and cannot write freely. "
            "What I was given, in short:",
            "need": "To go on with “{title}” I still need: {names}. Could you give me that?",
        },
        "zh": {
            "hello": "你好！",
            "about": "我是 Signalbox 的离线演示模型：按规则回答，不需要密钥。",
            "welcome": "不客气。",
            "unmatched": "我是 Signalbox 的离线演示模型，没有找到适合这个问题的工具。",
            "able": "我可以做这些事：",
            "unable": "这里没有提供任何工具，所以我能做的很少。",
            "free": "我是 Signalbox 的离线演示模型，不能自由写作。给我的内容摘要：",
            "need": "要继续“{title}”，我还需要：{names}。可以告诉我吗？",
        },
    }
)


def title(offer: Offer, *, tongue: Language) -> str:
    """What a tool does, in a few words: the first sentence of its description."""
    first = _SENTENCE.split(offer.description.strip(), maxsplit=1)[0].rstrip(".。")
    if len(first) > _TITLE:
        first = first[:_TITLE].rsplit(" ", 1)[0] + " …"
    translated = "".join(LABELS.get(part, "") for part in identifier(offer.name))
    if tongue == "zh" and translated and language(first) == "en":
        return f"{translated}（{first or offer.name}）"
    return first or " ".join(identifier(offer.name))


def small_talk(text: str, *, offers: Sequence[Offer]) -> str:
    """A greeting, thanks taken, or the admission that no tool fits, with what the tools can do."""
    say = _SENTENCES[language(text)]
    said = {word.text.lower() for word in words(text)}
    if said & THANKS and said <= THANKS | POLITE:
        return say["welcome"]
    greeted = bool(said & GREETINGS) or not text.strip()
    opening = say["about"] if greeted or addressed(text) else say["unmatched"]
    opening = f"{say['hello']} {opening}" if greeted else opening
    if not offers:
        return f"{opening} {say['unable']}"
    return "\n".join(
        [f"{opening} {say['able']}", *(f"- {title(offer, tongue=language(text))}" for offer in offers)]
    )


def question(steps: Sequence[Step], *, tongue: Language) -> str:
    """The question for the arguments that steps lack; it ends with a question mark."""
    comma = "、" if tongue == "zh" else ", "
    return "\n".join(
        _SENTENCES[tongue]["need"].format(
            title=title(step.offer, tongue=tongue),
            names=comma.join(_described(argument, tongue) for argument in step.missing),
        )
        for step in steps
    )


def written(text: str, *, instructions: str) -> str:
    """What can honestly be said where free writing is asked for: an extract of what was given."""
    transcript = _TRANSCRIPT.search(text)
    if transcript:
        return extract(transcript[1])
    return f"{_SENTENCES[language(text)]['free']} {extract(text or instructions)}"


def extract(text: str, *, limit: int = _EXTRACT) -> str:
    """The first sentence of every line, without repeats, up to `limit` characters."""
    kept: dict[str, None] = {}
    for line in text.splitlines():
        first = next((part.strip() for part in _SENTENCE.split(line) if part.strip()), "")
        if first and sum(map(len, kept)) + len(kept) + len(first) <= limit:
            kept[first] = None
    return " ".join(kept) or text.strip()[:limit]


def _described(argument: Argument, tongue: Language) -> str:
    name = argument.name.replace("_", " ")
    label = LABELS.get(argument.name, name) if tongue == "zh" else name
    description = str(argument.schema.get("description") or "").rstrip(".")
    return f"{label} ({description})" if description else label
