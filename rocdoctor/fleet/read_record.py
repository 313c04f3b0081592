"""A line or a file as the record of a node. It is hostile input: what is not as it should be costs its own line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from rocdoctor.fleet.record import MOST_BYTES, SCHEMA, NodeRecord, SeenGpu, Sighting, Traits
from rocdoctor.model.finding import CONFIDENCES, SEVERITIES, Confidence, Severity
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.printable import one_line

T = TypeVar("T")

NODE = regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
_WORD = regex(r"[a-z0-9][a-z0-9_.-]{0,80}")
_MOST_GPUS, _MOST_FINDINGS, _MOST_NAMES, _MOST_SIGNS = 256, 512, 4096, 400
_MOST_CELLS = 16_384  # values of all GPUs: those of 256 partitions with 60 traits
_LATEST = 1 << 40
_FIGURES = (1e-12, 1e15)  # of what is measured beside these, nothing is; their sums and shares stay numbers


class RecordError(Exception):
    """Why a text is no record, in a few words."""


class RecordReader:
    """Reads records; equal sets of traits are kept once, since most nodes of a fleet have the same."""

    def __init__(self) -> None:
        self._shared: dict[object, Any] = {}

    def read(self, text: str | bytes, node: str) -> NodeRecord:
        """The record of the node, as whom the engine that brought it knows it; raises RecordError."""
        if len(text) > MOST_BYTES:
            raise RecordError(f"larger than {MOST_BYTES} bytes")
        try:
            data = json.loads(text, parse_constant=_no_number)
        except (ValueError, RecursionError):
            raise RecordError("not a JSON text") from None
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise RecordError(f"not a {SCHEMA}")
        if data.get("node") != node:
            raise RecordError("speaks for another node")
        try:
            return self._record(data, node)
        except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError) as error:  # 10**400 is no float
            raise RecordError(f"a field is missing or from another kind: {one_line(str(error))[:80]}") from None

    def _once(self, key: object, make: Callable[[], T]) -> T:
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = make()
        return cast(T, found)

    def _record(self, data: Mapping[str, Any], node: str) -> NodeRecord:
        gpus = data["gpus"]
        if len(gpus) > _MOST_GPUS or len(data["findings"]) > _MOST_FINDINGS:
            raise RecordError("more GPUs or findings than a node has")
        seen = tuple(SeenGpu(_maybe(one["bdf"]), _maybe(one["chip"]), _maybe(one["id"])) for one in gpus)
        return NodeRecord(
            node,
            _whole(data["taken_at"], _LATEST),
            _maybe(data["boot"]),
            _text(data["tool"]),
            _text(data["rules"]),
            _flag(data["complete"]),
            self._once(seen, lambda: seen) if all(one.id is None for one in seen) else seen,
            self._traits(data["traits"]),
            self._of_gpus(data["gpu_traits"], len(gpus)),
            _texts(data["tables"]),
            tuple(_sighting(one, len(gpus)) for one in data["findings"]),
            self._unknown(data["unknown"]),
            _texts(data["unanswered"]),
            {_word(name): _figures(values, len(gpus)) for name, values in _mapping(data["figures"]).items()},
            None if data["bundle"] is None else _texts(data["bundle"]),
        )

    def _traits(self, found: Mapping[str, Any]) -> Traits:
        key = tuple(_mapping(found).items())
        return self._once(("traits", key), lambda: {_text(name): _maybe(value) for name, value in key})

    def _of_gpus(self, found: Mapping[str, Any], count: int) -> tuple[Traits, ...]:
        rows = [(name, value) for name, value in _mapping(found).items()]
        if count * len(rows) > _MOST_CELLS:
            raise RecordError("more traits of GPUs than there are")
        key = (count, *((name, tuple(value) if isinstance(value, list) else value) for name, value in rows))

        def make() -> tuple[Traits, ...]:
            for _, value in rows:
                if isinstance(value, list) and len(value) != count:
                    raise RecordError("not as many values as GPUs")
            return tuple(
                {_text(name): _maybe(value[at] if isinstance(value, list) else value) for name, value in rows}
                for at in range(count)
            )

        return self._once(("gpus", key), make)

    def _unknown(self, found: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]]:
        key = tuple((why, tuple(checks)) for why, checks in _mapping(found).items())
        return self._once(
            ("unknown", key), lambda: {_text(why): tuple(_word(check) for check in checks) for why, checks in key}
        )


def _no_number(text: str) -> float:
    raise ValueError(text)


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict) or len(value) > _MOST_NAMES:
        raise RecordError("a table is missing or too long")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise RecordError("a text is from another kind")
    if len(value) > _MOST_SIGNS:
        value = value[:_MOST_SIGNS]
    return value if value.isascii() and value.isprintable() else one_line(value)


def _maybe(value: Any) -> str | None:
    return None if value is None else _text(value)


def _texts(value: Any) -> dict[str, str]:
    return {_text(name): _text(one) for name, one in _mapping(value).items()}


def _word(value: Any) -> str:
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise RecordError("a name is none")
    return value


def _whole(value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise RecordError("a number is none, or out of bounds")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise RecordError("yes or no is neither")
    return value


def _figures(values: Any, gpus: int) -> tuple[float | None, ...]:
    if not isinstance(values, list) or len(values) != gpus:
        raise RecordError("not as many figures as GPUs")
    least, most = _FIGURES
    for one in values:
        bad = isinstance(one, bool) or not isinstance(one, int | float) or (one != 0 and not least <= one <= most)
        if one is not None and bad:
            raise RecordError("a figure is not a number, or out of bounds")
    return tuple(None if one is None else float(one) for one in values)


def _sighting(one: Mapping[str, Any], gpus: int) -> Sighting:
    severity, confidence, gpu = one["severity"], one["confidence"], one["gpu"]
    if severity not in SEVERITIES or confidence not in CONFIDENCES:
        raise RecordError("a finding of no known severity or confidence")
    return Sighting(
        _word(one["check"]),
        _word(one["cause"]) if one["cause"] else "",
        cast(Severity, severity),
        cast(Confidence, confidence),
        None if gpu is None else _whole(gpu, max(gpus, 64)),
        _text(one["message"]),
        _whole(one["looks"], 1000),
        _figures([one.get("logged_s")], 1)[0],
    )


_TAGGED = regex(r"\s*([A-Za-z0-9][A-Za-z0-9._-]{0,252}):[ \t]?(?=\{)")


def tagged(line: str) -> tuple[str, str]:
    """(node, text) of a line as engines write it (``gpu0012: {...}``); raises RecordError."""
    found = _TAGGED.match(line[:300])
    if found is None:
        raise RecordError("there is no node name before the record")
    return found[1], line[found.end() :]
