"""What a launcher itself says of a failure, in one line. Pure; linear in the text."""

from __future__ import annotations

import re

from rocdoctor.model.lazy_re import regex

_MAX_CHARACTERS = 300
_ROOT = "root cause (first observed failure)"
# Lines of torchrun's table that name nobody's machine and tell something.
_FIELDS = ("rank", "exitcode", "traceback")
_STATUS = "exits with return code"
_PREFIX = regex(r"^(?:[IWEF]\d{4} [\d:.]+ +\d+ [^\s\]]+\] ?|\[[^\]]{0,80}\] ?)+")
_TELLING = regex(
    r"\b\w*(?:error|exception)\b|exits with return code|\bno module named\b|\bnot found\b|\bcannot\b|\bfailed\b"
    r"|\btimed out\b|\brefused\b",
    re.IGNORECASE,
)


def root_cause(text: str) -> str:
    """torchrun's table of the first failure, else the last line that reads like an error, else nothing."""
    lines = text.splitlines()
    starts = [at for at, line in enumerate(lines) if line.lower().startswith(_ROOT)]
    if starts:
        found = [_field(line) for line in lines[starts[-1] + 1 : starts[-1] + 10]]
        table = ", ".join(filter(None, found))
        if table:
            return table[:_MAX_CHARACTERS]
    told = [line for line in (_PREFIX.sub("", line).strip() for line in lines) if _TELLING.search(line)]
    if not told:
        return ""
    # DeepSpeed puts the whole command in front.
    return told[-1][max(told[-1].find(_STATUS), 0) :][:_MAX_CHARACTERS]


def _field(line: str) -> str:
    name, colon, value = line.strip().partition(":")
    name, value = name.strip(), value.strip()
    if not colon or name not in _FIELDS or value.startswith("To enable"):
        return ""
    return value if name == "traceback" else f"{name} {value}"
