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

_TOLD = (TROUBLE, OWN_TROUBLE, "people-tell-of-crash", "people-tell-of-failure", "sign-crash")
_SPOKEN = ("nvidia-driver-not-there", "packages-refused")
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
    r"\b(?:Key|Value|Type|Index|Attribute|Name|FileNotFound|ModuleNotFound|IsADirectory|Permission|Assertion|ZeroDivision|Syntax|"
    r"JSONDecode|UnicodeDecode|Timeout|Connection|HTTP|Validation)Error\b|\bNaN\b|"
    r":\d{1,6}: (?:fatal )?error: "
)
# What somebody else says of it, or a page.
_OF_OTHERS = regex(
    r"(?i)\b(?:maintainers?|developers?|docs|documentation|manual|(?:release )?notes|change ?log|readme|people|others?|"
    r"some(?:body|one)|forum|amd|nvidia|vendor|they) (?:\w{1,15} ){0,4}?"
    r"(?:say|said|tell|told|state|report|write|claim)s?\b|"
    r"\baccording to\b|\A\W{0,4}(?:docs|documentation|note|(?:release )?notes|change ?log)\W{0,3}:"
)
# Versions of one kind in sentences: a text that names several compares them, or tells of a change.
_VERSIONS: dict[str, Pattern[str]] = {
    "kernel": regex(r"(?i)\b(?:kernels?|linux)(?: \w{1,12}){0,2}?[ :=v-]{1,2}(\d{1,2}\.\d{1,3})"),
    "nvidia": regex(r"(?<![\w.])([3-9]\d\d)\.\d{2,3}(?![\w]|\.\d{3})"),
    "rocm": regex(r"(?i)\b(?:rocm|amdgpu-install)(?: \w{1,12}){0,2}?[ :=v_-]{0,2}(\d{1,2}\.\d{1,2})"),
    "torch": regex(r"(?i)\b(?:py)?torch(?: \w{1,12})?[ :=v]{1,3}(\d\.\d{1,2})"),
    "python": regex(r"(?i)\bpython(?: \w{1,12})?[ :=v]{0,2}(3\.\d{1,2})"),
}
_SLOW = regex(r"(?i)\bslow(?:er|ly|ness)?\b|\bspeed\b")
_SENTENCE_END = regex(r"[.!?;] ")
_FAILS = regex(
    r"(?i)crash|segfault|segmentation|dump|fault|freez|hang|abort|fail|error|broken|not work|n't work|nothing|cannot|"
    r"\b(?:dies|died|killed|exits)\b"
)


def trouble(machine: Machine, about: Pattern[str] | None = None, *kinds: str) -> tuple[Message, ...]:
    """The sentences that tell of trouble here, of those the ones with words of ``about``; messages of ``kinds`` too.

    () where the text asks, wishes, tells of what is over, or says that it works in spite of the versions.
    """
    if is_over_or_asked(machine):
        return ()
    found = said(machine, *_TOLD, *kinds)
    if any(_OTHER_ERROR.search(one.text) for one in found):
        return ()
    own = [one for one in found if not _OF_OTHERS.search(one.text)]
    return tuple(one for one in own if one.kind in kinds or _of_this(one, about))


def is_over_or_asked(machine: Machine) -> bool:
    """Whether the text asks, wishes, tells of what is over, or says that it works in spite of the versions."""
    return bool(said(machine, *_OTHERWISE))


def names_several(machine: Machine, *fields: str) -> bool:
    """Whether sentences name two versions of one of these (kernel, nvidia, rocm, torch, python)."""
    spoken = (*said(machine, *_TOLD, *_SPOKEN), *(one for one in machine.messages if one.narrated))
    sentences = {*machine.told.sentences, *(one.text for one in spoken)}
    found = {field: {one for text in sentences for one in _VERSIONS[field].findall(text)} for field in fields}
    return any(len(versions) > 1 for versions in found.values())


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
        return NotApplicable("the evidence mentions no such trouble")

    return select
