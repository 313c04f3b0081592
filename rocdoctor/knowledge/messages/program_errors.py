"""The error texts of programs that we know, read once and ready to match, with what each kind points to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from rocdoctor.knowledge.load import kept, knowledge_folder, load_table, words
from rocdoctor.parsers.logs.log_match import Matcher, Signature, Wording, matcher

if TYPE_CHECKING:
    from rocdoctor.parsers.logs.literal_table import Literals

# Other numbers make what was kept anew: of another form of ``LiteralData``, or found by other rules.
_KEPT_FORM = 2
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
    return tuple(row for name in ("messages", *others) for row in rows_of(load_table(name), "messages"))


def rows_of(table: Mapping[str, Any], key: str) -> tuple[Mapping[str, Any], ...]:
    """The rows of a table under a key, each with what the table says of all of them."""
    return tuple(_row(table, row) for row in table[key])


def _row(table: Mapping[str, Any], row: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**{key: True for key in ("fold", "absence") if table.get(key)}, **row}


@cache
def message_literals() -> Literals:
    """The literals of all messages, from their kept form where that is of these tables."""
    from rocdoctor.parsers.logs.literal_table import LiteralData, Literals, completed, data_of, literals_of

    folder = knowledge_folder()
    files = sorted([folder / "messages.yaml", *folder.glob("messages_*.yaml")])
    stamp = (_KEPT_FORM, *((one.name, (status := one.stat()).st_mtime_ns, status.st_size) for one in files))
    data = kept(folder / "messages.yaml", "literals", stamp, lambda: tuple(completed(data_of(message_signatures()))))
    return Literals(LiteralData(*data)) if data else literals_of(message_signatures())


@cache
def message_signatures() -> Matcher:
    """The signatures of all messages, in the order of ``message_rows``."""
    return signatures_of(message_rows())


def signatures_of(rows: Iterable[Mapping[str, Any]]) -> Matcher:
    """The signatures of some rows, in their order."""
    return matcher(_signature(entry) for entry in rows)


@cache
def message_kinds() -> Mapping[str, MessageKind]:
    """Every kind of text by its name."""
    return {
        entry["kind"]: MessageKind(entry["kind"], entry["means"], entry.get("cause"), entry.get("confidence", "likely"))
        for entry in message_rows()
    }


def told_by_people(kind: str) -> bool:
    """Whether a kind of text is what people say in their own words, and no program prints."""
    return kind.startswith(("prose-", "said-", "people-", "sign-", "works-as-root"))


def _signature(entry: Mapping[str, Any]) -> Signature:
    return Signature(entry["kind"], "note", entry["means"], tuple(_wording(entry, text) for text in entry["texts"]))


def _wording(entry: Mapping[str, Any], text: Mapping[str, Any]) -> Wording:
    fold = bool(entry.get("fold", False))
    return Wording(
        find=tuple(map(str.lower, words(text["find"]))) if fold else words(text["find"]),
        match=_any_case(text["match"], fold) if "match" in text else None,
        near=tuple(_any_case(one, fold) for one in words(text.get("near"))),
        never=tuple(_any_case(one, fold) for one in words(text.get("never"))),
        fold=fold,
        absence=bool(entry.get("absence", False)),
        constants=text.get("set", {}),
        source=text.get("source", entry.get("source", "")),
        verified=bool(text.get("verified", entry.get("verified", False))),
    )


def _any_case(expression: str, fold: bool) -> str:
    return "(?i)" + expression if fold and not expression.startswith("(?i)") else expression
