"""Passages that speak of faults in general: questions with answers, pages of common problems, release notes.

What stands in them is no state of the machine that the text is about. A section counts by its heading, and where that
is a word that people also use in reports of their own ("Troubleshooting"), only as long as nobody says "I" in it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from rocdoctor.model.lazy_re import regex
from rocdoctor.paste.change_text import is_change

_ASKED = regex(r"[\s*_#>-]{0,8}Q(?:uestion)?\s?\d{0,3}\s?[*_]{0,2}[.:)]", re.IGNORECASE)
_ANSWERED = regex(r"(?:^|[\s*_])[\s*_#>-]{0,8}A(?:nswer)?\s?\d{0,3}\s?[*_]{0,2}[.:)][*_]{0,2}\s", re.IGNORECASE)
_HEADING = regex(
    r"\s{0,3}(?P<marks>#{1,6}\s|={1,5}\s?(?=[^=])|\*\*(?=[^*]{2,80}\*\*\s*\Z)|__(?=[^_]))?"
    r"(?P<words>[A-Z][^#=*]{2,70}?)[\s#=*_:]{0,8}\Z"
)
_ALWAYS = regex(r"\b(?:faqs?|frequently asked questions?|questions and answers|q ?& ?a)\b", re.IGNORECASE)
_NOTES = regex(
    r"^(?:bug ?fixes|fixed issues|resolved issues|known (?:issues|errors|problems|limitations)"
    r"(?: (?:of|in|with|for) .{2,40})?|common (?:issues|errors|problems|pitfalls)|"
    r"change ?log|what(?:'s| is) new|deprecat\w+|troubleshooting\b.*|"
    r".{0,40}\brelease notes|possible errors|error messages|debugging\b.*)$",
    re.IGNORECASE,
)
# Headings that a report may have too: there somebody must be told what to do.
_MAYBE = regex(r"troubleshooting|debugging", re.IGNORECASE)
_TOLD = regex(r"\byour?\b|^\s{0,3}(?:solution|work-?around|symptom)s?\b|\bset the following\b", re.IGNORECASE)
_FIRST_PERSON = regex(r"(?:^|[\s(])(?:I|I'm|I've|my|My)\b(?!/)")
_SOLUTION = regex(
    r"[\s*_>+-]{0,8}(?:solutions?|work-?arounds?|resolution|remedy|how to fix|fix)[*_]{0,2}\s?:", re.IGNORECASE
)
_SYMPTOM = regex(r"[\s*_>+-]{0,8}(?:symptoms?|problem|error message)[*_]{0,2}\s?:", re.IGNORECASE)
_TABLE = regex(
    r"\s*\|?[^|]{0,40}\b(?:messages?|errors?|problems?|symptoms?|issues?)\b[^|]{0,40}\|[^|]{0,40}\b(?:what to do|"
    r"solutions?|fix(?:es)?|actions?|meaning|causes?|remed(?:y|ies)|explanation|work-?arounds?)\b",
    re.IGNORECASE,
)
# A sentence that leads to an example of a message.
_EXAMPLE = regex(
    r"\b(?:this (?:error|message|warning)s? (?:means|indicates|happens|occurs|usually|comes (?:from|when|if))|"
    r"you (?:will|may|might|could|would|can) (?:then |also |even )?(?:see|get|find|encounter)|"
    r"(?:if|when|whenever|in case) (?:you|users?|someone|a user|they) (?:ever |then )?"
    r"(?:see|get|hit|encounter|report)s?)\b[^.!?]{0,200}\Z",
    re.IGNORECASE,
)
_CHAT = regex(r"\s{0,4}\[?\d{1,2}:\d\d(?::\d\d)?\]?\s{1,3}<(?P<who>[^<>\s]{1,40})>\s")
# A run of tests from its first line to its last: what a sound one prints are faults that the tests provoke.
_TEST_SIGNS = regex(r"\btests?\b|\bpassed\b|\bfailed\b|%\]", re.IGNORECASE)
_TESTS_BEGIN = regex(
    r"\s{0,8}(?:=+ test session starts =+|\[=+\] Running \d+ tests?\b|Test project /\S|"
    r"[.sxX]{3,200}\s{1,80}\[ {0,2}\d{1,3}%\])"
)
_TESTS_SOUND = regex(
    r"\s{0,8}(?:(?:=+ )?(?!.{0,200}\b\d+ (?:failed|errors?)\b)(?:\d+ \w+, ){0,6}\d+ passed\b.{0,200}\bin [\d.]+ ?s|"
    r"\[  PASSED  \] \d+ tests?|100% tests passed)"
)
_TESTS_FAILED = regex(
    r"\s{0,8}(?:(?:=+ )?(?:\d+ \w+, ){0,6}\d+ (?:failed|errors?)\b|\[  FAILED  \]|\d{1,3}% tests passed, [1-9])"
)
# What a test of GoogleTest quotes of a process that is to die, and a line that leads to what should have been printed.
_DEATH = "[  DEATH   ]"
_EXPECTED = regex(r"(?i)\s{0,8}(?:(?:the )?expected(?: (?:output|results?|behaviou?r))?|(?:it )?should be) ?:\s*\Z")
# What was seen instead ends it: an empty field of a form says nothing of the next one.
_SEEN = regex(
    r"(?i)\s{0,8}(?:[*#-]{1,3} ?)?(?:(?:the )?(?:observed|actual|current)(?: (?:output|results?|behaviou?r))?"
    r"|(?:but )?(?:i )?(?:got|get)|instead)\b[* ]{0,3}:"
)
# The heading of a list of changes: a version, or what kind of changes follow.
_VERSION = regex(
    r"\s{0,3}#{1,4}\s{1,3}(?:[\w.@/-]{1,40} )?\[?v?\d{1,4}(?:\.\d{1,6}){1,3}[\w.+-]{0,20}\]?(?:\([^()\s]{1,200}\))?"
    r"(?:\s{1,3}(?:[-–—/(]\s?)?(?:released? )?(?:on )?[\w., -]{4,30}\)?)?\s*\Z"
)
_CHANGES = regex(
    r"\s{0,3}#{1,4}\s{1,3}\W{0,4}(?:fix(?:es|ed)|changes|changed|added|removed|improve(?:d|ments)|highlights|"
    r"new features|features|"
    r"enhancements|breaking changes|security|upgrad(?:es|ing))\W{0,4}\Z",
    re.IGNORECASE,
)
_ITEM = regex(r"\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s")
_LINES_OF_ITEM = 3
_COMMIT = regex(r"commit [0-9a-f]{7,40}(?: \(.{1,200}\))?\s*\Z")
_TRAILER = regex(r"(?:Author|AuthorDate|Commit|CommitDate|Date|Merge): ")
_SPANS = 400
_MOST_LINES = 20_000  # longer texts are logs, whose first lines tell what they are


# What a text must hold, in lower case, to be looked at closely: few logs do.
_HINTS = (
    "faq",
    "frequently asked",
    "questions and answers",
    "bug fixes",
    "bugfixes",
    "fixed issues",
    "resolved issues",
    "known issues",
    "known errors",
    "known problems",
    "known limitations",
    "common issues",
    "common errors",
    "common problems",
    "common pitfalls",
    "changelog",
    "change log",
    "what's new",
    "what is new",
    "deprecat",
    "troubleshooting",
    "release notes",
    "possible errors",
    "error messages",
    "\ndebugging",
    "solution",
    "workaround",
    "work-around",
    "resolution:",
    "remedy:",
    "how to fix",
    "fix:",
    "you will",
    "you may",
    "you might",
    "you could",
    "you would",
    "you can",
    "this error",
    "this message",
    "this warning",
    "if you",
    "when you",
    "| what to do",
    "|meaning",
    "| meaning",
    "| fix",
    "| cause",
    "| action",
    "> ",
    "if someone",
    "a user",
)
_HINTS_OF_TESTS = ("test session starts", "running 0", "test project /", "0 passed")
_ANY_ASKED = regex(r"^[\s*_#>-]{0,8}q(?:uestion)?\s?\d{0,3}\s?[*_]{0,2}[.:)]", re.MULTILINE)


def guide_lines(lines: Sequence[str], blocks: Sequence[int], shapes: str) -> frozenset[int]:
    """The lines (indices) of all such passages; ``blocks``: the number of the code block of each line, 0 outside.

    ``shapes``: the different lines in lower case, all digits made equal.
    """
    lines, blocks = lines[:_MOST_LINES], blocks[:_MOST_LINES]
    if lines and len({block for line, block in zip(lines, blocks, strict=True) if line.strip()}) == 1:
        blocks = [0] * len(lines)  # the whole text stands in one block
    if is_change(lines, blocks):
        return frozenset(range(len(lines)))
    lowered = "\n" + shapes
    found: set[int] = set()
    spans: list[tuple[int, int]] = []
    if _ANY_ASKED.search(lowered):
        spans += _answers(lines)
    if any(hint in lowered for hint in _HINTS):
        headings = list(_headings(lines, blocks))
        spans += [*_sections(lines, blocks, headings), *_solutions(lines, blocks, headings)]
        spans += [*_tables(lines), *_examples(lines, blocks), *_chat(lines)]
    if "[  death   ]" in lowered:
        found.update(at for at, line in enumerate(lines) if line.lstrip().startswith(_DEATH))
    if "expected" in lowered or "should be" in lowered:
        spans += _expected(lines)
    if any(hint in lowered for hint in _HINTS_OF_TESTS):
        spans += _test_runs(lines)
    if "\ncommit 0" in lowered or "\ncommit " in lowered:
        spans += _commits(lines)
    if "\n#" in lowered or "\n #" in lowered:
        spans += _changes(lines, blocks)
    for first, end in spans:
        found.update(range(first, end))
    return frozenset(found)


def _answers(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Questions that have an answer: up to the next question, or to the end of the answer's paragraph."""
    asked = [at for at, line in enumerate(lines) if "q" in line[:12].lower() and _ASKED.match(line)]
    for place, at in enumerate(asked):
        limit = asked[place + 1] if place + 1 < len(asked) else len(lines)
        answer = next((step for step in range(at, min(limit, at + 20)) if _ANSWERED.search(lines[step][:400])), None)
        if answer is None:
            continue
        if place + 1 < len(asked) and limit - answer < 60:
            yield at, limit
            continue
        end = answer + 1
        while end < limit and lines[end].strip():
            end += 1
        yield at, end


def _headings(lines: Sequence[str], blocks: Sequence[int]) -> Iterator[tuple[int, int, str]]:
    """(line, level, words): marked headings, and unmarked ones whose words are known."""
    for at, line in enumerate(lines):
        if blocks[at] or not 3 < len(line) < 90:
            continue
        match = _HEADING.match(line)
        if match is None:
            continue
        marks, words = (match["marks"] or "").strip(), match["words"].strip()
        alone = (at == 0 or not lines[at - 1].strip()) and (at + 1 >= len(lines) or not lines[at + 1].strip())
        if marks.startswith("#") or (marks.startswith("=") and line.rstrip().endswith("=")):
            yield at, len(marks), words
        elif alone and (marks or _NOTES.match(words) or _ALWAYS.fullmatch(words)):
            yield at, 7, words


def _sections(
    lines: Sequence[str], blocks: Sequence[int], headings: Sequence[tuple[int, int, str]]
) -> Iterator[tuple[int, int]]:
    for place, (at, level, words) in enumerate(headings):
        always = bool(_ALWAYS.search(words))
        if not always and not _NOTES.match(words):
            continue
        following = (
            one
            for one, deep, said in headings[place + 1 :]
            if deep < level or (deep == level and not (level == 7 and always and said.endswith("?")))
        )
        end = next(following, len(lines))
        prose = [lines[step] for step in range(at, end) if not blocks[step]]
        told = not _MAYBE.match(words) or any(_TOLD.search(line) for line in prose)
        if always or (told and not any(_FIRST_PERSON.search(line) for line in prose)):
            yield at, end


def _expected(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """What should have been printed: the lines behind a line that says so, up to an empty one or the end of a block."""
    for at, line in enumerate(lines):
        if 6 < len(line) < 40 and _EXPECTED.match(line):
            end = at + 1
            while end < len(lines) and lines[end].strip() and not lines[end].lstrip().startswith("```"):
                if _SEEN.match(lines[end][:80]):
                    break
                end += 1
            yield at, end


def _test_runs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Runs of tests that ended without a failure."""
    begin: int | None = None
    for at, line in enumerate(lines):
        if not line[:60].strip("= ") or not _TEST_SIGNS.search(line[:500]):
            continue
        whole = line[:500] + " " + (lines[at + 1][:200] if at + 1 < len(lines) else "")  # it may have been wrapped
        if _TESTS_BEGIN.match(whole):
            begin = at if begin is None or "%]" not in line else begin
        elif begin is not None and _TESTS_FAILED.match(whole):
            begin = None
        elif begin is not None and (_TESTS_SOUND.match(line[:500]) or _TESTS_SOUND.match(whole)):
            yield begin, at + 1
            begin = None


def _commits(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Messages of commits, as git log and git show print them: what a change is for."""
    for at, line in enumerate(lines):
        if not _COMMIT.match(line) or not any(one.startswith("Author: ") for one in lines[at + 1 : at + 4]):
            continue
        end = at + 1
        while end < len(lines) and (
            not lines[end] or lines[end][0].isspace() or _TRAILER.match(lines[end]) or len(lines[end - 1]) >= 60
        ):
            end += 1
        yield at, end


def _changes(lines: Sequence[str], blocks: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Lists of changes below the heading of a version or of a kind of change, where nobody says "I"."""
    for at, line in enumerate(lines):
        if blocks[at] or line.lstrip()[:1] != "#" or not (_VERSION.match(line[:400]) or _CHANGES.match(line[:80])):
            continue
        end = step = at + 1
        since = 0  # lines since the last item, which may go on for a few
        while step < len(lines) and since <= _LINES_OF_ITEM:
            if lines[step].lstrip()[:1] == "#" and _HEADING.match(lines[step]):
                end = step
                break
            since = 0 if _ITEM.match(lines[step]) else since + bool(lines[step].strip())
            step += 1
            end = step if since == 0 or step == len(lines) else end
        body = [lines[step] for step in range(at + 1, end) if lines[step].strip()]
        items = sum(1 for one in body if _ITEM.match(one))
        coded = any(blocks[step] for step in range(at + 1, end))
        if 2 * items >= len(body) > 0 and items and not coded and not any(_FIRST_PERSON.search(one) for one in body):
            yield at, end


def _solutions(
    lines: Sequence[str], blocks: Sequence[int], headings: Sequence[tuple[int, int, str]]
) -> Iterator[tuple[int, int]]:
    """A remedy with the block below it; with the symptoms above it the whole section."""
    starts = [one for one, _, _ in headings]
    count = 0
    for at, line in enumerate(lines):
        if ":" not in line[:40] or blocks[at] or not _SOLUTION.match(line):
            continue
        count += 1
        if count > _SPANS:
            return
        end = at + 1
        while end < len(lines) and lines[end].strip():
            end += 1
        step = end
        while step < len(lines) and step - end < 3 and not lines[step].strip():
            step += 1
        if step < len(lines) and (blocks[step] or lines[step].startswith("    ")):
            end = step
            while end < len(lines) and (blocks[end] or lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
        place = bisect_right(starts, at)
        begin = starts[place - 1] if place else max(0, at - 60)
        above = range(max(begin, at - 60), at)
        general = any(_SYMPTOM.match(lines[one]) for one in above if not blocks[one])
        own = any(_FIRST_PERSON.search(lines[one]) for one in above if not blocks[one])
        yield (begin if general and not own else at), end


def _tables(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    for at, line in enumerate(lines):
        if "|" in line and _TABLE.match(line[:400]):
            end = at + 1
            while end < len(lines) and lines[end].strip():
                end += 1
            yield at, end


def _examples(lines: Sequence[str], blocks: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The block behind a sentence that leads to an example of a message."""
    count = 0
    for at, line in enumerate(lines):
        said = line.rstrip()
        if not 3 < len(said) < 1000 or said.startswith("    ") or blocks[at]:
            continue
        if said[-1:] != ":" and not said.lower().endswith((" like", " as")):
            continue
        begin = at
        while begin and at - begin < 2 and lines[begin - 1].strip() and not blocks[begin - 1]:
            begin -= 1
        lead = " ".join(line.strip() for line in lines[begin : at + 1])
        sentence = re.split(r"(?<=[.!?])\s", lead)[-1]
        if not _EXAMPLE.search(sentence) or _FIRST_PERSON.search(sentence):
            continue
        count += 1
        if count > _SPANS:
            return
        step = at + 1
        while step < len(lines) and step - at < 4 and not lines[step].strip():
            step += 1
        end = step
        while end < len(lines) and lines[end].strip():
            end += 1
        yield at, end


def _chat(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """What others than the first speaker say in a chat, with the lines that it was wrapped to."""
    first, foreign = "", False
    for at, line in enumerate(lines):
        said = _CHAT.match(line) if ":" in line[:8] and "<" in line[:24] else None
        if said is not None:
            first = first or said["who"]
            foreign = said["who"] != first
        elif not line.strip():
            foreign = False
        if foreign:
            yield at, at + 1
