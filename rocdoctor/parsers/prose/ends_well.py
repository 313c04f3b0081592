"""Whether the writer of a text says at its end that the trouble above is over, so that it is no fault now.

Silence about a live fault is worse than a word on one that is over. So only plain forms count: "fixed it by ...", "that
was the fix", "it works now", each of the whole trouble and by the writer. What names another machine, a release that
is to come, a way around, or a colleague does not count, nor what is taken back in the same or any later sentence.
"""

from __future__ import annotations

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.prose.statements import Account, ReportMarks

_LABELS = r"update|edit|ps|p\.s\.|solved|solution|resolved|never ?mind|ok(?:ay)?"
_START = rf"\A[\s*_>\"'(-]{{0,6}}(?:(?:{_LABELS})\b[ \d]{{0,3}}[:,.!-]{{0,3}}\s{{0,3}}){{0,2}}"
_IT = r"(?:it|this|that|the (?:problem|issue|error|trouble))"
_END = r"(?=\s{0,3}(?:[.,;:!)]|\Z)|\s(?:after|thanks|thank|and thanks)\b)"
_PLAIN = regex(
    rf"(?i)\b(?:fixed|solved|resolved) {_IT}(?=\s{{0,3}}(?:[.,;:!)]|\Z)|\s(?:by|with|after|now|for (?:me|us)|here)\b)"
    rf"|{_START}(?:fixed|solved|resolved)[*_]{{0,2}}:? (?:now[.,!]|by |with |after )"
    rf"|\b{_IT}(?: is| was| got|'s) (?:fixed|solved|resolved) (?:by|with|now|after)\b"
    r"|\bthat was (?:it\b|the (?:fix|solution|culprit|cause|problem)\b)|\bdid the trick\b"
    rf"|(?:{_START}|\b(?:it|this|everything|all|and) )(?:now |all )?works (?:now|again)(?: fine)?{_END}"
    r"|\b(?:it|this|everything) (?:has |have )?(?:been|was|is) (?:fine|stable) since\b"
    rf"|\b{_IT} is gone (?:now|since)\b"
)
# Somebody else's word, another thing, a release to come, a way around, or a doubt in the sentence itself.
_TAKEN_BACK = regex(
    r"(?i)\?|\b(?:but|however|though|until|unless|only|not|never(?! ?mind)|still|yet|sometimes|as long as|if|later|"
    r"back|for (?:a|some) \w+|for now|tomorrow|every|each|once more|partly|almost|half|"
    r"(?:fail|crash|hang|die|stop|com)\w* (?:back )?again|"
    r"colleagues?|friends?|somebody|someone|people|others?|users?|he|she|they|says?|said|told|wrote|heard|thought|"
    r"hoped?|AMD|NVIDIA|maintainers?|upstream|changelog|next|merged|commit|will|should|PR|pull request|work-?around|"
    r"containers?|windows|another|different|instead|sudo|root|cpu|first|second|one of)\b|"
    r"#\d|\bin (?:v|ROCm |release |version )?\d"
)
# A later sentence that goes on with the trouble, unless it only takes leave.
_GOES_ON = regex(
    r"(?i)\?|\b(?:still|again|back|but|however|remains?|same|others?|second|another|not|no|never|nobody|until|unless|every|"
    r"each|daily|weekly|times|only|once more|anew|today|tonight|tomorrow|yesterday|this morning|week|month|evening|"
    r"hours?|days?|fails?|failed|errors?|crash\w*|hangs?|hung|lost)\b|\w{2,8}n't\b|\b(?:edit|update) ?\d?:"
)
_LEAVE = regex(
    r"(?i)\A\W{0,4}(?:thanks|thank you|thx|cheers|clos(?:ing|ed)|leaving|just documenting|document|hope|posting|sorry|"
    r"in case|for (?:others|anyone|the record)|feel free|you can close)\b"
)


def mended_at(told: Account, marks: ReportMarks) -> int | None:
    """The line (from 1) on which the writer says last that the trouble above it is over; None where nobody does."""
    for at in range(len(told.claims) - 1, -1, -1):
        one = told.claims[at]
        text = one.sentence.text
        if not one.names & marks.mended or one.names & marks.doubted or not _PLAIN.search(text):
            continue
        compares = one.good - marks.remedies or one.bad
        if one.voice not in ("tells", "past") or compares or _TAKEN_BACK.search(text):
            return None
        later = told.claims[at + 1 :]
        return None if any(_goes_on(each.sentence.text) for each in later) else one.sentence.line
    return None


def _goes_on(sentence: str) -> bool:
    return bool(_GOES_ON.search(sentence)) and not _LEAVE.match(sentence)
