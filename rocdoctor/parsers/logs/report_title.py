"""The title of a report, which is marked as a comment of code is: whether it tells of the writer's own trouble."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.model.lazy_re import regex

_TITLE = regex(
    r"#{1,3}\s{1,3}(?:\[[\w /-]{1,20}\]:?\s{1,3})?(?:[a-z_]\w{0,30}\.){0,4}[A-Z]\w{1,40}(?:Error|Exception): "
)
# What fails, then the words of the program: "vllm does not start: AssertionError: ..."; no title of a change.
_FAILS = regex(
    r"(?i)#{1,3}\s{1,3}(?!\W{0,3}(?:fix|feat|docs?|tests?|ci|chore|refactor|add|guard|handle|catch|improve|raise|"
    r"support|avoid|revert)\w{0,3}\b)[^\n]{3,160}?\b(?:(?:does|do|did|can|will) ?n[o']t|can't|fail(?:s|ed|ure)?|"
    r"crash(?:es|ed)?|not work\w{0,3})\b[^\n]{0,80}?:\s{0,3}(?-i:[A-Z])\w{1,40}(?-i:Error|Exception): "
)
# "However I get 'RuntimeError: ...'": the writer's own trouble, whatever stands below. Comments have a condition.
_I_GET = regex(
    r"(?i)#{1,3}\s{1,3}(?![^\n]{0,200}?\b(?:if|when|whenever|unless|until|so that|before|otherwise|because|since)\b)"
    r"[^\n]{0,200}?\b(?:i|we) (?:\w{1,12} ){0,2}?(?:get|got|see|saw|have|hit|met|face|encounter|getting|seeing)\b"
    r"[^\n]{0,30}?(?-i:[A-Z])\w{1,40}(?-i:Error|Exception): "
)
# A title that does not tell of a fault of this machine: of a change, a question, a wish, a manual, a supposition.
_NO_FAULT = regex(
    r"(?i)#{1,3}\s{1,3}(?:\[[^\]\n]{0,30}\]:?\s{0,3})?\W{0,3}(?:(?:fix|feat|docs?|documentation|tests?|ci|chore|refactor|"
    r"add|guard|handle|catch|improve|raise|support|avoid|revert|update|enable|allow|make|use|remove|document|bump|"
    r"implement|how|can|does|is|what|why|when|question|request|feature)\w{0,3}\b|[^\n]{0,280}?(?:\?\s{0,8}\Z|"
    r"\b(?:feature|request|question|support|rfc|proposal|may|might|possibl[ey]|solved|resolved|guide|tutorial|"
    r"lesson|chapter|exercise|course|slides?|notes?|explained|overview|summary|faq|works|benchmarks?)\b))"
)
_OF_A_CHANGE = regex(
    r"(?im)\bthis (?:pr|change|patch|commit)\b|^\W{0,6}(?:what|why|summary|motivation|proposal)\b|\bsigned-off-by:"
)
# A sentence below it, which a script that begins with a comment does not have.
_PROSE = regex(r"(?m)^\s{0,4}(?:[>*-] )?(?:[A-Za-z][\w',/-]{0,30} ){3,40}?[a-z]|[\u3040-\u30ff\u4e00-\u9fff]{6}")
# What no comment of a script begins with: the label of a form for reports of faults.
_LABELLED = regex(r"(?i)#\s{1,3}\[(?:bug|issue|problem)\]")
_DONE = regex(
    r"(?im)\b(?:i|we) (?:run|ran|installed|started|launch\w{0,2}|use)\b"
    r"|^\W{0,4}(?:installed|started|launched|ran) (?:with|by|as)\b"
    r"|^\W{0,4}(?:my |the )?(?:launch |start )?command\b|^\s{0,4}\$ \S|^\W{0,4}steps to reproduce\b"
)
_HAS_TROUBLE = regex(
    r"(?i)\b(?:i|we)\b[^.\n]{0,40}?\b(?:get(?:ting)?|got|see|saw|hit|met|face|facing|encounter(?:ed|ing)?|ran into)\b"
    r"[^.\n]{0,40}?\b(?:errors?|issues?|problems?|this)\b"
)
_OVER = regex(r"(?i)\b(?:solved|fixed|resolved|faq|documentation|docs|should (?:say|name|print|tell)|wording)\b")
_BELOW = 12  # lines in which the writer says so


def is_title(line: int, raw: Sequence[str]) -> bool:
    """Whether a line (from 1) is the title of a report whose writer has the trouble that it tells of."""
    if line > 1 or not raw[0].startswith("#"):
        return False
    title = raw[0][:300]
    below = "\n".join(one[:400] for one in raw[1 : 1 + _BELOW])
    if _OVER.search(below):
        return False
    if (_TITLE.match(title[:200]) and _HAS_TROUBLE.search(below)) or (_FAILS.match(title) and _DONE.search(below)):
        return True
    return (
        title.startswith("# ")
        and not _NO_FAULT.match(title)
        and not _OF_A_CHANGE.search(below)
        and bool(_LABELLED.match(title) or _I_GET.match(title) or _PROSE.search(below))
    )
