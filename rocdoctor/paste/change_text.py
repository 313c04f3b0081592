"""Whether a text describes a change of a program: a pull request, a patch, the wish for another verdict of a test.

What such a text tells of failures is what the program did before it is changed, on machines of others or in a test. Its
words are marks of its own: the headings that forges ask for, a title in the form of a commit, "This PR adds ...".
"""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.model.lazy_re import regex

_LOOKED_AT = 300  # lines from the beginning
# Headings of templates of pull requests, which no template of a report has.
_HEADING = regex(
    r"(?i)\s{0,3}(?:#{1,6}\s|\*\*)\s?(?:test plan|pr (?:description|validation|checklist)|what this pr does\b.{0,40}|"
    r"type of (?:pr|change)|technical details|submission checklist|proposed changes|"
    r"does this pr introduce\b.{0,60}|how (?:was|has) this (?:been |patch |pr )?tested)[\s:?*]{0,6}\Z"
)
# A title in the form of the first line of a commit: "fix(ring): wait for both sides".
_COMMIT = regex(
    r"(?i)# (?:\[[\w .{},/-]{1,40}\] ?){0,3}(?:(?:fix|feat|chore|refactor|docs|perf)(?:\([^()\n]{1,40}\))?|"
    r"(?:build|ci|test)\([^()\n]{1,40}\))!?: \S"
)
_SAID = regex(
    r"(?i)(?:^|[.!?:]\s|\*\*\s?)\W{0,3}(?:this|the) (?:pr|pull request|merge request) (?:also |just |only |now )?"
    r"(?:add|fix|extend|restore|update|remove|make|introduce|change|correct|disable|enable|replace|revert|step|bump|"
    r"implement|improve|set|switch|let|avoid|move|resolve|address|skip|allow|split|rename|port|backport)(?:s|es)?\b"
)
_CLOSES = regex(
    r"(?i)\s{0,3}[-*]?\s?(?:fix(?:es)?(?: to)?|closes?|resolves?|backport of)(?: issue)? "
    r"(?:[\w.-]{1,40}/[\w.-]{1,60})?#\d{1,7}\b"
)
_WITHOUT = regex(r"(?i)(?:^|[.!?]\s)without (?:this|the) (?:change|fix|pr)\b")
# What a change does, as its title says it: an order to the code.
_ORDER = regex(
    r"(?i)# (?:\[[\w .{},/-]{1,40}\] ?){0,3}(?:correctly |better |properly )?(?:fix(?:ed|es)?|handle|add(?:ed|s)?|skip|"
    r"enable|disable|support|include|provide|improve|remove|replace|revert|update|use|make|avoid|allow)\b"
)
# The wish that a test or a program says something else of a machine in trouble.
_VERDICT = regex(
    r"(?i)# [^\n]{0,60}\btests?\b[^\n]{0,40}\b(?:should|must|needs? to) (?:not )?"
    r"(?:fail|error|warn|skip|pass|be skipped|report|say|exit)\b|"
    r"# \W{0,3}(?:[\w-]{1,20}: )?(?:skip|disable|mark)(?:s|ped|ping|d)? (?:[\w/-]{1,20} ){0,3}tests?\b|"
    r"# [^\n]{0,60}\btests? fail(?:s|ing)?\b[^\n]{0,80}\b(?:instead of|rather than) (?:being )?skipp"
)
# A change that names a variable of the environment is one of the machine's settings.
_SETTING = regex(r"\b[A-Z]{2,12}(?:_[A-Z0-9]{1,16}){1,6}\b")
_HUNK = regex(r"@@ -\d{1,6}(?:,\d{1,6})? \+\d{1,6}(?:,\d{1,6})? @@")
_MINE = regex(r"(?:^|[\s(])(?:my|My|our) (?:\w+ )?(?:machine|gpu|GPU|card|server|node|cluster|laptop|box|system)s?\b")


def is_change(lines: Sequence[str], blocks: Sequence[int]) -> bool:
    """Whether the text describes a change; ``blocks``: the number of the code block of each line, 0 outside."""
    title = lines[0][:300] if lines else ""
    if (_COMMIT.match(title) and not _SETTING.search(title)) or _VERDICT.match(title):
        return True
    shown = [(line[:600], block) for line, block in zip(lines[:_LOOKED_AT], blocks, strict=False)]
    prose = [line for line, block in shown if not block]
    if any(_HEADING.match(line) or _CLOSES.match(line) or _SAID.search(line) for line in prose):
        return True
    if any(_HUNK.match(line) for line, block in shown if block) and not any(_MINE.search(line) for line in prose):
        return True
    return bool(_ORDER.match(title)) and any(_WITHOUT.search(line) for line in prose)
