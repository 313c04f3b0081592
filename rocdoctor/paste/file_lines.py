"""Files of /sys and /proc whose lines stand behind their path or below it: what ``grep . FILE`` and ``head`` print."""

from __future__ import annotations

from collections.abc import Iterator

from rocdoctor.model.lazy_re import regex
from rocdoctor.paste.clean_text import Clean
from rocdoctor.paste.passage_roles import role_of_block
from rocdoctor.paste.text_part import TextPart
from rocdoctor.paste.word_index import WordIndex

# The last part of the path holds no colon, the folders above it may ("0000:03:00.0").
_LINE = regex(
    r"\s{0,12}(?P<path>/(?:sys|proc)(?:/[\w.:@+,-]{1,80}){0,14}/[\w.@+,-]{1,60}):[ \t]{0,8}(?P<rest>\S.{0,2000})\Z"
)
_HEAD = regex(r"\s{0,12}==> (?P<path>/(?:sys|proc)(?:/[\w.:@+,-]{1,80}){1,15}) <==\s{0,4}\Z")
# What a program says of a file instead of its content.
_NO_CONTENT = (
    "no such file",
    "permission denied",
    "is a directory",
    "cannot ",
    "can't ",
    "operation not permitted",
    "invalid argument",
    "input/output error",
    "no such device",
    "not found",
    "binary file",
)
_MOST = 2000  # lines


def file_lines(clean: Clean, index: WordIndex) -> Iterator[TextPart]:
    """For each file the lines that stand behind its path, or below it, as the answer to ``read PATH``."""
    found: dict[str, list[tuple[int, str]]] = {}
    for at in list(index.lines(("/sys/", "/proc/")))[:_MOST]:
        line = clean.lines[at]
        if (head := _HEAD.match(line)) is not None:
            found.setdefault(head["path"], []).extend(_below(clean, at))
        elif (match := _LINE.match(line)) is not None and not match["rest"].lower().startswith(_NO_CONTENT):
            found.setdefault(match["path"], []).append((at, match["rest"]))
    for path, rows in found.items():
        if rows and ".." not in path:
            role = role_of_block(clean, rows[0][0], rows[-1][0], setting=False)
            body = "\n".join(row for _, row in rows)
            yield TextPart(f"read {path}", body, tuple(at + 1 for at, _ in rows), role)


def _below(clean: Clean, at: int) -> Iterator[tuple[int, str]]:
    """The lines below a heading, up to an empty one or the next heading."""
    for step in range(at + 1, min(at + 40, len(clean.lines))):
        line = clean.lines[step]
        if not line.strip() or _HEAD.match(line):
            return
        yield step, line.strip()
