"""Finding the error texts of programs in what a person pasted: over line ends, quote marks and wrapped lines.

The lines are joined to one text (and once more without the blanks where a terminal cut them at its width), words tell
which literals can occur at all, and each literal is then looked up by a plain search. The cost grows with the length
of the text and the number of literals whose words it holds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import add
from typing import Literal as OneOf

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.logs.literal_search import Pieces, located
from rocdoctor.parsers.logs.literal_table import Literal, Literals, literals_of, lowered
from rocdoctor.parsers.logs.log_match import Matcher, Value, Wording, compiled, values_of
from rocdoctor.parsers.logs.quoted_code import in_code, in_passed_test
from rocdoctor.parsers.logs.report_title import is_title
from rocdoctor.parsers.logs.said_behind import said_to_be_no_fault

Role = OneOf["now", "quoted", "advice"]

_MOST_LINES = 200_000
_LINES_BEFORE, _LINES_AFTER = 12, 30
_SENTENCES = 1000  # characters behind a literal in which its own sentence and the next one end
_BEFORE, _AFTER = 240, 640  # characters around a literal in which its expression must fit
_USUAL_WIDTHS = frozenset((72, 76, 78, 80, 100, 120, 132))
_EDGES = " |+-="  # what lines of tables end with
_MOST_CUTS = 500
_QUOTE = regex(r"(?:>(?!>)[ \t]?){1,8}")
_ADVICE = regex(
    r"(?i)\b(?:if (?:you|we)(?: are|'re)? (?:see|get|hit|run|running|into|experience|encounter)|in case you"
    r"|(?:if|when|whenever) (?:you|they|users?|someone|an? user|people)(?: ever| then)? "
    r"(?:sees?|gets?|says?|hits?|reports?)"
    r"|if (?:it|this|that|(?:the )?[\w.-]{2,30}) (?:prints?|says?|shows?|reports?|returns?|gives?|complains?|"
    r"(?:fails?|ends?|stops?) with)"
    r"|I(?:'ve| have)? (?:read|heard|know)(?: \w+){0,2} (?:that|about|of)"
    r"|before (?:we|you|i) (?:ever|run|hit)|never (?:ran|run|runs|hit|hits)"
    r"|(?:can|could|should|may|would) (?:i|we|one) (?:use|add|buy|get|connect)|whenever you see"
    r"|errors? (?:like|such as)|you (?:may|might) (?:see|get)|once (?:saw|got|hit)|on purpose(?=:)"
    r"|if\b[^.]{3,80}\byou (?:get|see)|asserts? that|(?:case|test)s? pass(?:es)? (?:when|if)"
    r"|expects? (?:this|the following) (?:output|errors?|messages?|lines?)"
    r"|(?:clearer|better|improve[sd]?) (?:the )?(?:texts?|errors?|wording|messages?|warnings?)(?: of| for| when| if)?"
    r"|(?:remove|drop)(?:s|d|ped)? the (?:check|error|warning|message) (?:that|which)"
    r"|(?<!it )(?<!i )(?:may|might) (?:raise|throw|print|show|report|produce|give|fail with)(?: an?)?"
    r"(?=\W{1,3}[\w.:]{0,40} ?\Z)|fix(?:es|ed)(?=[ ]{1,2}[\"\u201c`][^\"\u201d`]{0,60}\Z)"
    r"|(?:rows?|columns?|sections?|pages?|entr(?:y|ies)|meanings?|descriptions?) (?:of|for|on|about)"
    r"|(?:is|are|was) (?:it safe to )?(?:catch|handl|ignor|suppress)(?:e|ing)?"
    r"|used to (?:see|get|fail|hang|crash)|used to(?= $)|no longer (?:see|get|fails?)"
    r"|before (?:this|that|the) (?:change|commit|patch|fix|PR|pull request|release)"
    r"|(?:earlier|older|previous) (?:releases?|versions?|builds?) (?:printed|said|showed|raised|logged|reported|"
    r"ended with|failed with|stopped with)"
    r"|(?:covers?|tests?|checks?|asserts?|expects?) (?:\w+ ){0,4}(?:that|which) (?:raises?|prints?|logs?|reports?)"
    r"|no longer (?:log|print|raise|say|show|warn)s?(?=\W{1,3}[\w.:]{0,40} ?\Z)"
    r"|no longer (?:dies?|ends?|stops?|crash(?:es)?|fails?) (?:of|with)"
    r"|(?:otherwise|else),? \w{1,20} (?:says?|ends? with|stops? with|prints?)|before (?:it|that) was(?=:)"
    r"|(?:earlier|previously),? (?:i|we|it) (?:had|got|said)|(?:our|the) (?:docs?|wiki|manual|FAQ|runbook) says?"
    r"|avoids?|prevents?"
    r"|(?:expected|simulated?|injected|fake|provoked|deliberate)(?: (?:failure|error|exception|fault|warning))"
    r"|(?:is|was|are) (?:now )?(?:fixed|gone|solved)|unlike|instead of)(?!\w)"
)
# What the words right before the literal say is not there.
_ABSENT = regex(
    r"(?i)\b(?:without [\"'\u201c`]\Z|(?:there (?:is|was|are|were)|there's) (?:no|neither)"
    r"|(?:without|not getting|never (?:saw|see|get|got)|(?:don't|do not|didn't|did not) (?:see|get)) (?:any|an?|the))"
    r"(?: (?!(?:but|and|it|i|we|says?|gets?|got|then|today|now|prints?|fails?|comes?)\b)[\w'-]{1,20}){0,4}\W{0,3}\Z"
)
# Lines of release notes, answers to frequent questions and recipes: they speak of faults that are not there.
_ADVICE_LINE = regex(
    r"\s{0,8}(?:[-*+]\s{1,3}\[[ xX]\]\s|(?:[\w.]{1,20} ){0,3}(?:[Rr]elease notes?|FAQ|[Cc]hangelog):\s|"
    r"[-*+]\s{1,3}(?![^\n]*\b(?:but|still|I|we|my)\b)"
    r"(?:[*_]{0,2}(?:Fixed\b[^\n]{3,300}\b(?:being|when|where|that)|Improved)\b|"
    r"(?=[^\n]{3,380}(?:\(#\d{2,7}\)[.;]?\s*\Z|\s(?:->|=>|\u2192)\s(?:install|update|use|set|add|take|run|try)\b)))|"
    r"[-*+]\s{1,3}\[?(?:[\w./-]{1,60})?#\d{1,7}\]?(?:\(\S{1,200}\))?[: -]{1,4}[Ff]ix(?:e[sd])?\b|"
    r"(?:[-*+]\s{1,3}[*_]{0,2}(?:[Ff]ix(?:e[sd])?|[Rr]esolve[sd]|[Ii]mproved?|[Aa]void)"
    r" (?:an?|the|rare|possible|potential|bug)\b|(?:[-*+]\s{1,3})?[*_]{0,2}(?:Fix(?:e[sd])?|Changed)[*_]{0,2}:)"
    r"|[*_#>-]{0,3}\s?Q\d{0,3}[.:)].{0,300}\bA\d{0,3}[.:)]|(?:[-*+]\s{1,3})?For [^.:]{1,60}?\b(?<!I )(?<!we )"
    r"(?:try|set|pass)\b)"
)
# "If a GPU is lost, dmesg says ...", unless somebody speaks of what they did themselves.
_CONDITION = regex(
    r"(?i)\b(?:if|in case)\b(?![^.]{0,200}\b(?:i|i'm|i've|we|my|our|me)\b)[^.]{3,160}?"
    r"\b(?:says?|shows?|prints?|reports?|reads)\W{0,4}\Z"
)
# What to do follows a message that is only thought of: when the log says "...", look for ...
_THEN_DO = regex(
    r"(?i)(?:[^.\"`]{0,100}[\"`\u201d])?(?: (?:appears?|occurs?|comes(?: up)?|is (?:shown|printed|logged)))?[,;:]{1,2} "
    r"(?:then |first |please )?(?:look|check|run|set|drain|restart|reset|see|try|use|add|reboot|install|ask|open|make|"
    r"log|read|raise|lower|update|call)\b"
)
_WHEN = regex(r"(?i)\b(?:if|when|whenever|once|as soon as|in case)\b(?![^.]{0,200}\b(?:i|i'm|i've|we|my|our|me)\b)")
# Before the literal on its line: a command that searches for it, or a list that a loop goes through.
_SEARCHED = regex(
    r"(?:^|[\s;|&(])(?:(?:e|f|z|rip)?grep\s|(?:rg|awk|sed)\s(?:-\S{1,20}\s){0,4}['\"/])[^|;]{0,120}\Z"
    r"|^\s{0,12}for \w{1,30} in [\"'][^;]{0,300}\Z"
)
# Long ago, and not since: no event since June.
_NOT_SINCE = regex(
    r"(?i)[^\n]{0,240}?\b(?:(?:no|none|zero|not one|not a single)(?: (?:such|more|further|new))?"
    r"(?: (?:events?|errors?|crash(?:es)?|problems?|hangs?|xids?|issues?|resets?|messages?|faults?|cases?))?"
    r"(?: \w+){0,2} since\b|since (?:then|that|\w{3,12}) (?:there (?:was|were|is|are) (?:no|none)|"
    r"(?:it|they) (?:ha(?:s|ve) )?never|nothing|never)\b)"
)
# A literal that code compares with: "out of memory" in str(error)
_COMPARED_IN_CODE = regex(r"[\"']\s{0,2}(?:not )?in\s{1,2}(?:str|repr|e|err|error|exc|msg|message|ex)\b")
# What a test says that has provoked a failure.
_PROVOKED = regex(r"['\"]?\s{0,2}\((?:injected|simulated|expected|mocked|xfail)\)")
# What people in general are said to say, and what they say of it.
_HEARSAY = regex(
    r"(?i)\b(?:people|posts?|threads?|comments?|forums?|manuals?|documentation|reddit|google|everybody|everyone|"
    r"wikis?|blogs?|articles?|chatgpt)"
    r"(?: \w+){0,3} (?:says?|said|saying|tells?|told|telling|mention\w*|claim\w*|warn\w*|writes?|wrote)\b"
    r"|\b(?:users?(?: of [\w. ]{1,20})?|somebody|someone|(?:a|one) (?:pupil|student|speaker|customer))"
    r" (?:once )?(?:saw|had|showed|reported|got|hit)\b"
    r"|\b(?:we|docs?|it) tells? (?:our |the )?users?\b"
)
# The line above a message that leads to it, and the one below that goes on: what was meant to come.
_LED_TO = regex(
    r"(?i)\b(?:on purpose|expects? (?:this|the following)|expected (?:output|errors?|messages?)|should (?:print|fail|"
    r"raise|show|say))\b[^.\n]{0,40}:\s*\Z"
)
_GOES_ON = regex(
    r"\s*(?:(?:was|were|is|are) (?:\w+ ){0,2}(?:expected|harmless|normal|intended|ignored)\b(?! to\b)"
    r"|(?:This|That) (?:is|was) (?:on purpose|expected|wanted|"
    r"(?:printed|raised|shown) by (?:my|our|the|an?) (?:\w+ )?tests?)\b)"
)
# What leads to a text that a person tells of.
_NARRATED = regex(
    r"(?i)\b(?:i|i'm|i've|we|my|our)\b(?!:)|\b(?:says?|said|gets?|getting|got|throws?|threw|thrown|"
    r"(?:fail|crash|stop|di|exit)\w* with|complain\w*(?: about| of| that)?|errors? (?:out )?with|message|messages|"
    r"(?:shows?|prints?|reports?|reads?)(?: me)?)[\s:,'\"\u201c(]{0,4}\Z"
)
_NARRATED_AFTER = regex(r"(?i)[^.\n]{0,120}\b(?:when|whenever|if|after|as soon as|every time) (?:i|we)\b")
_FIRST_PERSON = regex(r"\b(?:I|I'm|I've|[Ww]e|my|our)\b(?!/)")
_STAMPED = regex(r"\s{0,12}(?:[\[(<{|]|\d{2,4}[-:/]|[IWEF]\d{4} |\S{1,60}:\d{1,9}[:\] ]|File \")")
# A list of what a release repairs, up to the literal.
_REPAIRED = regex(
    r"(?i)\bfix(?:es|ed)(?: in [\w. ]{1,20})?(?::| (?:an?|the|some|rare) (?:bug|hang|crash|problem|issue|rare|"
    r"regression|confusing|misleading|spurious)\b)"
    r"(?![^.]{0,400}\b(?:but|now|still|however)\b)[^.]{0,400}\Z"
)
# "If an ... error occurs", "when ... is raised": what is not said to have been.
_SUPPOSED = regex(
    r"(?i)\b(?:(?:if|in case|in case of|should)(?: (?:an?|the|any|this|that|such))?(?: \w+)?"
    r"|(?:when|whenever)(?: (?:an?|the|any))?)\W{0,3}\Z"
)
_OCCURS = regex(
    r"(?i)[\w'\"`)]{0,12}\W{0,3}(?:errors?|messages?|exceptions?)?\W{0,2}(?:occurs?|happens?|appears?|is (?:raised|"
    r"seen|shown|printed|reported|thrown))\b"
)


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """One text: its kind, the line (counted from 1) where it begins, an excerpt, its values, and who says it.

    ``role`` is "quoted" for a part of the text that is quoted while the rest is not, "advice" for source code and where
    the words before it say that it is an example, a past state or absent. ``narrated``: a sentence leads to the text
    ("I get ..."), where a program prints it alone or behind a prefix. ``column``: where its literal begins on the line
    without the blanks at its ends, ``length``: how long that is, in characters.
    """

    kind: str
    line: int
    text: str
    values: Mapping[str, Value] = field(default_factory=dict)
    role: Role = "now"
    narrated: bool = False
    column: int = 0
    length: int = 0


@dataclass(frozen=True, slots=True)
class _Flat:
    """The text as one line: ``starts`` are the offsets at which ``lines`` (numbers from 1) begin, and its end."""

    pieces: Pieces
    starts: Sequence[int]
    lines: Sequence[int]

    @property
    def text(self) -> str:
        """The whole line."""
        return self.pieces.text

    def line_at(self, offset: int) -> int:
        """The line in which an offset lies."""
        return self.lines[max(bisect_right(self.starts, offset) - 1, 0)] if self.lines else 1


def find_messages(known: Matcher | Literals, text: str) -> tuple[FoundMessage, ...]:
    """Every text of the table that occurs, by line; each kind once a line. Never raises."""
    known = known if isinstance(known, Literals) else literals_of(known)
    raw = text.split("\n", _MOST_LINES)[:_MOST_LINES]
    quoted = _quoted(raw)
    found: dict[tuple[str, int], FoundMessage] = {}
    width = max(map(len, raw), default=0)
    for flat in _flattened(raw):
        for literal, places in located(known, flat.pieces):
            for message in _occurrences(known, flat, literal, places, raw, quoted, width):
                key = (message.kind, message.line)
                if key not in found or len(message.values) > len(found[key].values):
                    found[key] = message
    return tuple(sorted(found.values(), key=lambda one: (one.line, one.kind)))


def _quoted(raw: Sequence[str]) -> frozenset[int]:
    """Numbers (from 1) of lines behind a quote mark, where not nearly everything is quoted."""
    marked = [number for number, line in enumerate(raw, 1) if line[:1] == ">" and line[:2] != ">>"]
    if not marked:
        return frozenset()
    filled = sum(1 for line in raw if line.strip())
    return frozenset(marked) if len(marked) < 0.7 * filled else frozenset()


def _unquoted(line: str) -> str:
    mark = _QUOTE.match(line)
    return line[mark.end() :].lstrip() if mark else line


def _flattened(raw: Sequence[str]) -> list[_Flat]:
    """The joined text, and others joined without blanks at lines of one width, where those may have been cut."""
    flats = [_join(raw, None, range(len(raw)))]
    for width, cut in _cuts(raw):
        # Only what stands within reach of an expression around a cut can read differently.
        near: list[int] = []
        for at in cut:
            first = max(at - _LINES_BEFORE, near[-1] + 1 if near else 0)
            near.extend(range(first, min(at + _LINES_AFTER, len(raw))))
        flats.append(_join(raw, width, near))
    return flats


def _cuts(raw: Sequence[str]) -> Iterable[tuple[int, Sequence[int]]]:
    """(width, its lines): the greatest one, and of the usual ones that at which most lines may have been cut.

    A text that was cut may hold lines that were not, such as those of another program or with tabs.
    """
    widths = list(map(len, raw))
    greatest = max(widths, default=0)
    if 60 <= greatest <= 240:
        yield greatest, [at for at, width in enumerate(widths) if width == greatest]
    by: dict[int, list[int]] = {}
    usual = _USUAL_WIDTHS - {greatest}
    for at in [at for at, width in enumerate(widths[:-1]) if width in usual]:
        if raw[at][-1] not in _EDGES and raw[at + 1][:1].strip(" |+-="):
            by.setdefault(widths[at], []).append(at)
    width, cut = max(by.items(), key=lambda one: len(one[1]), default=(0, []))
    if 2 <= len(cut) <= _MOST_CUTS:
        yield width, cut


def _join(raw: Sequence[str], width: int | None, chosen: Sequence[int]) -> _Flat:
    """Lines as one text, without blanks behind those of a width."""
    stripped = [raw[at].strip() for at in chosen]
    for place in [place for place, line in enumerate(stripped) if line[:1] == ">"]:
        stripped[place] = _unquoted(stripped[place])
    kept = [at for at, line in zip(chosen, stripped, strict=True) if line]
    parts = [line for line in stripped if line]
    lines = [at + 1 for at in kept]
    if width is None:
        pieces = Pieces(parts, bool(parts))
        return _Flat(pieces, pieces.starts, lines)
    ends = ["" if len(raw[at]) == width else "\n" for at in kept]
    joined = "".join(map(add, parts, ends))
    starts = list(accumulate(map(add, map(len, parts), map(bool, ends)), initial=0))
    return _Flat(Pieces(joined.removesuffix("\n").split("\n"), joined[-1:] == "\n"), starts, lines)


def _occurrences(
    known: Literals,
    flat: _Flat,
    literal: Literal,
    places: Iterable[int],
    raw: Sequence[str],
    quoted: frozenset[int],
    width: int,
) -> Iterable[FoundMessage]:
    length = len(literal.text)
    for at in places:
        window = flat.text[max(0, at - _BEFORE) : at + length + _AFTER]
        values = _values(known, literal.wording, window, at - max(0, at - _BEFORE), length)
        if values is not None:
            line = flat.line_at(at)
            excerpt = _excerpt(flat, at, length, raw, width)
            role = _role(flat, at, length, line, raw, quoted, literal.wording.absence)
            column = at - _line_around(flat, at)[0]
            yield FoundMessage(literal.kind, line, excerpt, values, role, _narrated(flat, at, length), column, length)


def _wrapped(flat: _Flat, place: int, raw: Sequence[str], width: int) -> bool:
    """Whether a line was broken off the one above it: that has no room for its first word."""
    above, line = flat.lines[place - 1] - 1, flat.lines[place] - 1
    room = width - len(raw[above])
    return line - above == 1 and 76 <= width <= 133 and room < 40 and room <= len(raw[line].split(" ", 1)[0])


def _excerpt(flat: _Flat, at: int, length: int, raw: Sequence[str], width: int) -> str:
    """What stands around a literal: to the end of its line, and of the next ones where a line may have been wrapped."""
    place = first = bisect_right(flat.starts, at) - 1
    while first > max(place - 3, 0) and _wrapped(flat, first, raw, width):
        first -= 1
    end = at + 240
    for step in range(place, min(place + _LINES_AFTER, len(flat.starts) - 1)):
        stop = flat.starts[step + 1]
        if stop >= end:
            break
        if stop >= at + length and not 60 <= len(raw[flat.lines[step] - 1]) <= 133:
            end = stop
    return flat.text[max(flat.starts[first], at - 200) : end].strip()


def _values(known: Literals, wording: Wording, window: str, at: int, length: int) -> dict[str, Value] | None:
    """The values of the wording where its expression takes in the literal at ``at``; None where it does not.

    What must stand, or may not stand, around the literal is looked for in the whole window.
    """
    low = lowered(window)
    if not all(known.may_be_in(one, low) and compiled(one).search(window) for one in wording.near):
        return None
    if any(known.may_be_in(one, low) and compiled(one).search(window) for one in wording.never):
        return None
    if wording.match is None:
        return values_of(wording, window)
    if not known.may_be_in(wording.match, low):
        return None
    for number, found in enumerate(compiled(wording.match).finditer(window)):
        if found.start() < at + length and found.end() > at:
            return values_of(wording, found.group())
        if found.start() > at or number > 4:
            return None
    return None


def _role(
    flat: _Flat, at: int, length: int, line: int, raw: Sequence[str], quoted: frozenset[int], absence: bool
) -> Role:
    if line in quoted:
        return "quoted"
    written = raw[line - 1]
    start, end = _line_around(flat, at)
    around = flat.text[max(start, at - 300) : at], flat.text[at + length : min(end, at + length + 200)]
    if (in_code(*around, raw, line) and not is_title(line, raw)) or _ADVICE_LINE.match(written[:400]):
        return "advice"
    if "fix" in (before := flat.text[max(0, at - 300) : at]) and _REPAIRED.search(before):
        return "advice"
    if _COMPARED_IN_CODE.match(flat.text, at + length) or _PROVOKED.match(flat.text, at + length):
        return "advice"
    place = bisect_right(flat.starts, at) - 1
    # The sentence may have begun on the line above, where a mail program wrapped it.
    if place and flat.lines[place] - flat.lines[place - 1] == 1 and 45 <= len(raw[flat.lines[place - 1] - 1]) <= 133:
        place -= 1
    before = flat.text[max(flat.starts[place], at - 90) : at].rsplit(". ", 1)[-1].rsplit("; ", 1)[-1]
    if _SUPPOSED.search(before) and _OCCURS.match(flat.text, at + length):
        return "advice"
    if _SEARCHED.search(flat.text[max(start, at - 400) : at]) or _CONDITION.search(before):
        return "advice"
    since = "since" in lowered(flat.text[at + length : at + length + _SENTENCES])
    if (since and _NOT_SINCE.match(flat.text, at + length)) or (
        _THEN_DO.match(flat.text, at + length) and _WHEN.search(before)
    ):
        return "advice"
    if (
        _ADVICE.search(before)
        or (not absence and _ABSENT.search(before))
        or (_HEARSAY.search(before) and not _FIRST_PERSON.search(before))
    ):
        return "advice"
    if (line > 1 and _LED_TO.search(raw[line - 2][-160:])) or (line < len(raw) and _GOES_ON.match(raw[line][:80])):
        return "advice"
    if in_passed_test(raw, line):
        return "advice"
    after = flat.text[at + length : at + length + 240]
    return "advice" if said_to_be_no_fault(before, after) else "now"


def _line_around(flat: _Flat, at: int) -> tuple[int, int]:
    """Where the line of an offset begins and ends."""
    place = bisect_right(flat.starts, at)
    return flat.starts[place - 1], flat.starts[place] if place < len(flat.starts) else len(flat.text)


def _narrated(flat: _Flat, at: int, length: int) -> bool:
    """Whether the words around a literal, on its line, are those of a person who tells of it."""
    start, end = _line_around(flat, at)
    if _STAMPED.match(flat.text[start : start + 80]):
        return False
    before, after = flat.text[max(start, at - 200) : at], flat.text[at + length : min(end, at + length + 160)]
    if at - 200 > start:  # the first word was cut: of "OCI runtime" an "I" may be left
        before = before.partition(" ")[2]
    return bool(_NARRATED.search(before.rsplit(". ", 1)[-1]) or _NARRATED_AFTER.match(after))
