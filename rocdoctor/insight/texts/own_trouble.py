"""Where a pasted text tells of trouble that two of its values may explain: what relations of facts ask for first.

Two values that do not fit each other prove no fault: people run unsupported things that work, compare machines, ask
before they install, and tell of what is over. So a relation counts only beside a sentence that tells of present trouble
of its kind, in a text that is none of these.
"""

from __future__ import annotations

from re import Pattern

from rocdoctor.insight.texts.pasted import said
from rocdoctor.judging.check import Selector
from rocdoctor.knowledge.messages.told import MENDED, NO_REPORT, OWN_TROUBLE, TROUBLE
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.finding import NotApplicable, Selected, Subjects
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.subject import MACHINE

_TOLD = (TROUBLE, OWN_TROUBLE, "people-tell-of-crash", "people-tell-of-failure")
_OTHERWISE = (
    NO_REPORT,
    MENDED,
    "prose-is-request",
    "sign-of-wish",
    "sign-of-support-question",
    "works-in-spite-of-versions",
)
# An error of a program's own logic or data, or of a compiler, is no sign of a build, a driver or a release.
_OTHER_ERROR = regex(
    r"\b(?:Key|Value|Type|Index|Attribute|Name|FileNotFound|IsADirectory|Permission|Assertion|ZeroDivision|Syntax|"
    r"JSONDecode|UnicodeDecode|Timeout|Connection|HTTP|Validation)Error\b|\bNaN\b|"
    r":\d{1,6}: (?:fatal )?error: "
)
_SLOW = regex(r"(?i)\bslow(?:er|ly|ness)?\b|\bspeed\b")
_SENTENCE_END = regex(r"[.!?;] ")
_FAILS = regex(
    r"(?i)crash|segfault|segmentation|dump|fault|freez|hang|abort|fail|error|broken|not work|n't work|nothing|cannot"
)


def trouble(machine: Machine, about: Pattern[str] | None = None, *kinds: str) -> tuple[Message, ...]:
    """The sentences that tell of trouble here, of those the ones with words of ``about``; messages of ``kinds`` too.

    () where the text asks, wishes, tells of what is over, or says that it works in spite of the versions.
    """
    if said(machine, *_OTHERWISE):
        return ()
    found = said(machine, *_TOLD, *kinds)
    if any(_OTHER_ERROR.search(one.text) for one in found):
        return ()
    return tuple(one for one in found if one.kind in kinds or _of_this(one, about))


def _of_this(one: Message, about: Pattern[str] | None) -> bool:
    """Whether the sentence of the trouble has such words; of what people tell the text is a line, of several maybe."""
    if _SLOW.search(one.text) and not _FAILS.search(one.text):
        return False
    if about is None:
        return True
    if one.kind in (TROUBLE, OWN_TROUBLE):
        return bool(about.search(one.text))
    return any(about.search(part) and _FAILS.search(part) for part in _SENTENCE_END.split(one.text))


def when_trouble_is_told(about: Pattern[str] | None = None, *kinds: str) -> Selector[None]:
    """The machine, when a pasted text tells of trouble of it that ``trouble`` finds."""

    def select(machine: Machine) -> Subjects[None]:
        if trouble(machine, about, *kinds):
            return [Selected(MACHINE, None)]
        return NotApplicable("the evidence tells of no such trouble")

    return select
