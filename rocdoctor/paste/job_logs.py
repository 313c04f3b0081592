"""The logs and flight recorder dumps of training jobs in a text.

A dump is megabytes of JSON on one line: it is taken out of the text before anything else looks at it. Of a log the
whole text is the answer, since the lines that explain each other (a traceback, the table of the launcher) stand apart.
"""

from __future__ import annotations

from itertools import islice

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.alike_lines import Shapes
from rocdoctor.parsers.logs.flight_recorder import dump_spans, looks_like_dump
from rocdoctor.paste.clean_text import Clean
from rocdoctor.paste.passage_roles import Role, role_of_block
from rocdoctor.paste.text_part import TextPart

LOG = "log torch"
DUMP = "dump torch"
# Of these questions several files are one answer: each rank writes its own.
MANY = (LOG, DUMP)

_SIGNS = (
    "collective operation timeout",
    "ast enqueued",
    "monitoredBarrier",
    "lagging ranks that caused",
    "lagging/dead/mismatched ranks",
    "Timed out waiting",
    "waiting for clients",
    "Detected mismatch between collectives",
    "ChildFailedError",
    "first observed failure",
    "failed (exitcode:",
    '"extraInfo"',
    "Connection closed by peer",
    "watchdog got stuck",
    "op.preamble.length <= op.nbytes",
)
_RANK = regex(r"\[(?:rank|default)\d{1,6}\]:.{0,40}Traceback")


def without_dumps(text: str) -> tuple[str, str]:
    """The text with its dumps blanked, and the text of the dumps alone; line N of both is line N of the text."""
    if not looks_like_dump(text):
        return text, ""
    spans = [(start, end) for start, end, _, _ in dump_spans(text)]
    if not spans:
        return text, ""
    rest: list[str] = []
    at = 0
    for start, end in spans:
        rest += [text[at:start], "\n" * text.count("\n", start, end)]
        at = end
    rest.append(text[at:])
    # The names of the files stand in the lines above the dumps.
    first = text.rfind("\n", 0, max(0, text.rfind("\n", 0, spans[0][0]))) + 1
    return "".join(rest), "\n" * text.count("\n", 0, first) + text[first : spans[-1][1]]


def job_parts(cleaned: Clean, dumps: str) -> list[TextPart]:
    """The parts of a text that tell of a job: its log, and the dumps that were taken out."""
    found: list[TextPart] = []
    if dumps.strip():
        lines = dumps.split("\n")
        found.append(TextPart(DUMP, dumps, tuple(range(1, len(lines) + 1))))
    different = Shapes(cleaned.alike.shapes)
    signs = [cleaned.alike.lines[at][0] for sign in _SIGNS for at in islice(different.holding(sign), 1)]
    raised = (at for at, shape in enumerate(cleaned.alike.shapes) if _RANK.match(shape))
    signs += [cleaned.alike.lines[at][0] for at in islice(raised, 1)]
    if signs:
        roles: list[Role] = [role_of_block(cleaned, line, line, setting=False) for line in signs]
        body = "\n".join("" if quote else line for line, quote in zip(cleaned.lines, cleaned.quotes, strict=True))
        role: Role = "now" if "now" in roles else roles[0]
        found.append(TextPart(LOG, body, tuple(range(1, len(cleaned.lines) + 1)), role))
    return found
