"""Whether the writer of a text says at its end that the trouble above is over, so that it is no fault now.

Silence about a live fault is worse than a word on one that is over. So only plain forms count: "fixed it by ...", "that
was the fix", "it works now", each of the whole trouble and by the writer. What names another machine, a release that
is to come, a way around, or a colleague does not count, nor what the same sentence takes back. Behind it its writer may
only take leave.
"""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.prose.claims import Utterance
from rocdoctor.parsers.prose.statements import Account, ReportMarks

_LABELS = r"update|edit|ps|p\.s\.|solved|solution|resolved|never ?mind|ok(?:ay)?"
_START = rf"\A[\s*_>\"'(-]{{0,6}}(?:(?:{_LABELS})\b[ \d]{{0,3}}[:,.!-]{{0,3}}\s{{0,3}}){{0,2}}"
_IT = r"(?:it|this|that|the (?:problem|issue|error|trouble))"
_END = r"(?=\s{0,3}(?:[.,;:!)]|\Z)|\s(?:after|thanks|thank|and thanks)\b)"
_PLAIN = regex(
    rf"(?i)\b(?:fixed|solved|resolved) {_IT}(?=\s{{0,3}}(?:[.,;:!)]|\Z)|\s(?:by|with|after|now|for (?:me|us)|here)\b)"
    rf"|{_START}(?:fixed|solved|resolved)[*_]{{0,2}}:? (?:now[.,!]|by |with |after )"
    rf"|\b{_IT}(?: is| was| got|'s) (?:fixed|solved|resolved) (?:by|with|now|after)\b"
    r"|\bthat was (?:it(?=,? thank|!)|the (?:fix|solution|culprit|cause|problem)\b)|\bdid the trick\b"
    rf"|(?:{_START}|\b(?:it|this|everything|all|and) )(?:now |all )?works (?:now|again)(?: fine)?{_END}"
    r"|\b(?:it|this|everything) (?:has |have )?(?:been|was|is) (?:fine|stable) since\b"
    rf"|\b{_IT} is gone (?:now(?! and then)|since)\b"
)
# All of a sentence, or of its beginning: there is no word of what is over, and none is needed.
_BARE = regex(
    rf"(?i){_START}(?:fixed|solved|resolved)[*_]{{0,2}}\s{{0,2}}"
    r"(?:[,.!] {0,2}(?:many )?(?:thanks?|thx|thank you)(?: \w{1,8}){0,3})?[.!) ]{0,3}\Z"
)
# A text that announces at its beginning that something works.
_ANNOUNCED = regex(
    r"(?i)\A[\W_]{0,6}(?:\[[\w ]{1,20}\]:? ?)?(?:success(?: story| report)\b|good news\b"
    r"|(?:i )?just (?:wanted|want) to (?:report|say|share|let you know)\b[^.?\n]{0,100}"
    r"\b(?:works?|runs?|success\w*|fine)\b"
    r"|[^.?\n]{3,80}?\b(?:works|runs) (?:great|perfectly|flawlessly|out of the box)\b)"
    r"|\A# [^.?\n]{3,80}?\bworks (?:fine |well |now )?(?:with|on|in) "
)
# What such a text must not say: a doubt, a condition, or trouble that is there now.
_CLOUDED = regex(
    r"(?i)\?|```|\b(?:but|however|still|except|unfortunately|although|though|only|until|yet|while|whereas|instead|"
    r"since the|after the (?:update|upgrade)|traceback|\w{0,40}error:|can'?t|cannot|does(?: not|n'?t)|won'?t|"
    r"is(?: not|n'?t)|slow|wrong|killed|stuck|(?<!no )(?<!without )(?:OOMs?|out of memory|errors?|fails?|failing|"
    r"fail(?:ed|ure)|crash(?:es|ing)?|hangs?|freez\w{1,3}|broken|problems?|issues?))\b"
)
_STORY = 1500
# A writer who says outright that it is no report of a fault, and what came to work. What such a text tells of the way
# there is over; only live trouble of the same text speaks against it.
_NO_FAULT = regex(
    r"(?i)\b(?:this|it)(?: is|'s) (?:really |actually )?not (?:really |actually )?an? "
    r"(?:bug|issue|error|problem|fault)(?: report)?\b(?! (?:of|in|with|on) )|\bnot (?:really )?a bug report\b|"
    r"\b(?:more|rather) (?:of )?(?:a|an) (?:solution|guide|how-?to|success (?:story|report)|experience report)\b"
)
_CAME_TO_WORK = regex(
    r"(?i)\b(?:managed|was able|were able|succeeded) (?:to|in) (?:get|getting|make|making|run|running|build|building|"
    r"train|training)\b(?:[^.\n]|\.\w){0,80}\b(?:GPUs?|cards?|Radeon|RX ?\d{3,4}\w?|ROCm|gfx\d{3,4}|MI\d{2,3}\w?|"
    r"running|to run|to work|working)\b|"
    r"\bgot (?:[^.\n]|\.\w){1,60}? (?:to (?:work|run)|(?:up and )?running|working) (?:on|with) (?:the |my |an? )?"
)
_LIVE = regex(
    r"(?i)\?|\b(?:traceback|\w{0,40}error: |still|however|unfortunately|except|until (?:the|an?|last|yesterday|I)|"
    r"since the|after the (?:update|upgrade)|no longer|stopped|can'?t|cannot|does(?: not|n'?t)|won'?t|killed|stuck|"
    r"only (?:on|with|in) (?:the )?CPU|CPU (?:mode )?only|falls? back|hangs|crashes|freezes|segfaults?)\b"
)
_LONG_STORY = 4000
# What helped was to take something away.
_TAKEN_AWAY = regex(r"(?i)\b(?:by|with|after) (?:\w+ly )?(?:unsetting|removing|disabling)\b")
# It was the writer's own program, and no fault of the machine.
_CODE = (
    r"(?:(?:own|training|test|launch|python) ){0,2}(?:code|scripts?|program|model|loop|notebook|data ?loader|dataset|"
    r"(?:collate |loss |reward |cost )?function|(?:data )?sampler|optimi[sz]er|wrapper|branch|patch|fork)"
)
_OWN = regex(
    r"(?i)\b(?:(?:bug|mistake|error|typo|fault|problem|race|issue)(?: was| is)? (?:entirely |simply |just )?(?:in|of) "
    rf"(?:my|our) {_CODE}|my own (?:bug|code|script)|(?:bug|mistake) of (?:mine|ours)|"
    rf"(?:my|our) {_CODE} (?:was|is) (?:wrong|buggy|broken|the (?:cause|culprit|reason))|"
    r"nothing (?:is |was )?wrong with (?:the |my |our |this )?"
    r"(?:machine|drivers?|gpus?|cards?|hardware|cluster|nodes?|rocm|installation|setup))\b"
)
_UNSURE = regex(
    r"(?i)\?|\b(?:may|might|could|maybe|perhaps|probably|think|thought|guess|suspect\w*|assum\w*|if|unless|whether|either|"
    r"but|now|still|again|also|another|however|although|hangs?|fails?|failing|crash\w*|"
    r"not (?:a|my|our|in|the)|n't|no|without|rule[ds]? out|colleague|they|he|she|you|your|someone|somebody)\b"
)
_GOES_ON = regex(r"(?i)\?|\b(?:still|again|however|although|but (?:now|the|it|there)|remains?|another)\b")
# Somebody else's word, another thing, a release to come, a way around, or a doubt in the sentence itself.
_TAKEN_BACK = regex(
    r"(?i)\?|\A\W{0,4}(?:what|how|who|which|why|did|does|has|can|is)\b|"
    r"\b(?:but|however|though|until|unless|only|not|never(?! ?mind)|still|yet|sometimes|as long as|if|later|"
    r"back|too|you|your|old|ticket|for (?:a|some) \w+|for now|tomorrow|every|each|once more|partly|almost|half|"
    r"(?:fail|crash|hang|die|stop|com)\w* (?:back )?again|"
    r"colleagues?|friends?|somebody|someone|people|others?|users?|he|she|they|says?|said|told|wrote|heard|thought|"
    r"hoped?|AMD|NVIDIA|maintainers?|upstream|changelog|next|merged|commit|will|should|PR|pull request|work-?around|"
    r"containers?|windows|another|different|instead|sudo|root|cpu|first|second|one of)\b|"
    r"#\d|\bin (?:v|ROCm |release |version )?\d"
)
_REASONS = 2  # sentences
_AWAY = frozenset({"without"})
# All that may follow: its writer takes leave.
_LEAVE = regex(
    r"(?i)\A\W{0,4}(?:(?:many |so )?thanks|thank you|thx|cheers|(?:i am |i'm )?clos(?:ing|ed)|leaving|just documenting|"
    r"hope|(?:i am |i'm )?posting|sorry|in case|for (?:others|anyone|the record)|feel free|you can close|"
    r"can be closed)\b"
)


def mended_at(told: Account, marks: ReportMarks) -> int | None:
    """The line (from 1) on which the writer says last that the trouble above it is over; None where nobody does."""
    for at in range(len(told.claims) - 1, -1, -1):
        one = told.claims[at]
        text = one.sentence.text
        if _OWN.search(text) and not _UNSURE.search(text):
            later = told.claims[at + 1 :]
            over = len(later) <= _REASONS + 1 and all(map(_tells_why, later))
            return one.sentence.line if over and one.voice in ("tells", "past") else None
        doubted = one.names & marks.doubted - (_AWAY if _TAKEN_AWAY.search(text) else frozenset())
        bare = bool(_BARE.match(text))
        if doubted or not (bare or (one.names & marks.mended and _PLAIN.search(text))):
            continue
        compares = one.good - marks.remedies or one.bad
        if one.voice not in ("tells", "past") or compares or _TAKEN_BACK.search(text):
            return None
        later = told.claims[at + 1 :]
        over = all(_LEAVE.match(each.sentence.text) for each in later) or (bare and _only_why(later))
        return one.sentence.line if over else None
    return None


def announces_success(text: str) -> bool:
    """Whether a short text tells that something works, at its beginning or as all it is for, and no live trouble."""
    if len(text) <= _STORY and _ANNOUNCED.match(text) is not None and _CLOUDED.search(text) is None:
        return True
    told = len(text) <= _LONG_STORY and _NO_FAULT.search(text) is not None and _CAME_TO_WORK.search(text) is not None
    return told and _LIVE.search(text) is None


def _tells_why(one: Utterance) -> bool:
    """Whether a sentence behind "it was my own bug" takes leave, or tells of it without new trouble."""
    text = one.sentence.text
    told = one.voice in ("tells", "past") and "bad" not in one.outcomes and not _GOES_ON.search(text)
    return told or bool(_LEAVE.match(text))


def _only_why(later: Sequence[Utterance]) -> bool:
    """Whether one or two sentences behind a bare "Solved." tell what it was: neither trouble nor a question."""
    told = all(each.voice in ("tells", "past") and "bad" not in each.outcomes for each in later)
    return len(later) <= _REASONS and told and not any(_TAKEN_BACK.search(each.sentence.text) for each in later)
