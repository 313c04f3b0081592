"""The texts of the kernel log that we know, read once and ready to match."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from rocdoctor.knowledge.load import load_table, words
from rocdoctor.parsers.logs.log_match import Matcher, Signature, Wording, matcher


@cache
def kernel_signatures() -> Matcher:
    """The signatures of ``log_signatures.yaml`` in its order; raises ``TableError`` when the table is damaged."""
    return matcher(_signature(entry) for entry in load_table("log_signatures")["signatures"])


def _signature(entry: Mapping[str, Any]) -> Signature:
    return Signature(
        kind=entry["kind"],
        severity=entry["severity"],
        means=entry["means"],
        wordings=tuple(_wording(text) for text in entry["texts"]),
        note=entry.get("note"),
        codes={code["code"]: (code["severity"], code["means"]) for code in entry.get("codes", ())},
    )


def _wording(text: Mapping[str, Any]) -> Wording:
    join = words(text.get("join"))
    return Wording(
        find=words(text["find"]),
        match=text.get("match"),
        constants=text.get("set", {}),
        join=join,
        alone=bool(text.get("alone", not join)),
        inherit=text.get("inherit"),
        source=text["source"],
        verified=bool(text["verified"]),
    )
