"""What a tool call's arguments are, as one digest: equal arguments, equal digest, in any key order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

import rfc8785

_BEYOND: Final = b"signalbox json beyond rfc 8785\n"


def arguments_digest(arguments: Mapping[str, Any]) -> str:
    """sha256 (hexadecimal) over the RFC 8785 form of JSON arguments.

    RFC 8785 knows no integers beyond 2^53, no infinities and no lone surrogates, but a model can write all
    of them. Such arguments are digested in Python's sorted form under a prefix of its own, so that no two
    different arguments share a digest.
    """
    try:
        return hashlib.sha256(rfc8785.dumps(dict(arguments))).hexdigest()
    except ValueError:
        text = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(_BEYOND + text.encode()).hexdigest()
