"""The error texts of programs that we know, read once and ready to match, with what each kind points to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from rocdoctor.knowledge.load import knowledge_folder, load_table, words
from rocdoctor.parsers.logs.log_match import Matcher, Signature, Wording, matcher

Confidence = Literal["certain", "likely", "possible"]


@dataclass(frozen=True, slots=True)
class MessageKind:
    """What a kind of text means; ``cause`` is None where the context decides."""

    kind: str
    means: str
    cause: str | None
    confidence: Confidence


@cache
def message_rows() -> tuple[Mapping[str, Any], ...]:
    """The rows of ``messages.yaml``, then those of ``messages_*.yaml``; raises ``TableError`` for a damaged table."""
    others = sorted(path.stem for path in knowledge_folder().glob("messages_*.yaml"))
    return tuple(row for name in ("messages", *others) for row in load_table(name)["messages"])


@cache
def message_signatures() -> Matcher:
    """The signatures of all messages, in the order of ``message_rows``."""
    return matcher(_signature(entry) for entry in message_rows())


@cache
def message_kinds() -> Mapping[str, MessageKind]:
    """Every kind of text by its name."""
    return {
        entry["kind"]: MessageKind(entry["kind"], entry["means"], entry.get("cause"), entry.get("confidence", "likely"))
        for entry in message_rows()
    }


def _signature(entry: Mapping[str, Any]) -> Signature:
    return Signature(entry["kind"], "note", entry["means"], tuple(_wording(entry, text) for text in entry["texts"]))


def _wording(entry: Mapping[str, Any], text: Mapping[str, Any]) -> Wording:
    return Wording(
        find=words(text["find"]),
        match=text.get("match"),
        near=words(text.get("near")),
        never=words(text.get("never")),
        constants=text.get("set", {}),
        source=text.get("source", entry.get("source", "")),
        verified=bool(text.get("verified", entry.get("verified", False))),
    )
