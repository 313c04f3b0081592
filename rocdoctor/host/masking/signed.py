"""Names below a greeting, who wrote a letter signs it on a line of its own, and of who gets a copy or did something.

Pure: text in, text out; every line stays at its place. Only words that begin with a capital are taken for a name.
"""

from __future__ import annotations

from collections.abc import Callable
from re import Match

from rocdoctor.host.masking.rules import sub_lines
from rocdoctor.model.lazy_re import regex

# What ends a letter and nothing else. Behind mere thanks, or "Best,", a heading may come: there a comma and two words
# are wanted.
_GREETINGS = (
    *("regards", "sincerely", "cheers", "best wishes"),
    *("viele gr", "liebe gr", "mit freundlichen", "cordialement"),
)
_WORD = r"[^\W\d_a-z][\w'\u2019-]{1,40}"
_NAME = rf"(?-i:(?:[^\W\d_a-z]\. ){{0,2}}{_WORD}(?: [^\W\d_]\.| {_WORD}){{0,3}})"
_SIGNED = regex(
    r"(?im)(?P<k>^[ \t>]{0,8}(?:(?:(?:with )?(?:kind|best|warm|many)(?:est)? )?regards|(?:yours )?sincerely(?: yours)?"
    r"|cheers|best wishes|(?:viele|liebe|freundliche|mit freundlichen) gr(?:\u00fc|ue)(?:\u00df|ss)en?|cordialement)"
    r"[,.!]?[ \t\r]{0,4}\n(?:[ \t>]{0,8}\r?\n)?[ \t>]{0,8}[-\u2013]{0,2}[ ]?)"
    rf"(?P<s>{_NAME})(?=[ \t\r]{{0,4}}(?:\n|\Z))"
)
_THANKED = regex(
    r"(?im)(?P<k>^[ \t>]{0,8}(?:(?:many )?thanks|thank you|(?:all (?:the|my) )?best)"
    r"(?: in advance| a lot| so much)?,[ \t\r]{0,4}\n[ \t>]{0,8})"
    rf"(?P<s>(?-i:{_WORD} {_WORD}))(?=[ \t\r]{{0,4}}\n?\Z)"
)
# Who signs and is nobody in particular, and what stands below a greeting without being a name.
_NOBODY = regex(
    r"(?i)\b(?:teams?|group|support|inc|gmbh|ltd|llc|rocm|amd|nvidia|ubuntu|linux|system|environment|info\w*)\b"
)

_TITLED = r"[A-Z][a-z][a-z'\u2019]{0,40}(?:-[A-Z][a-z]{1,40})?"
_PERSON = rf"(?:[A-Z]\. )?{_TITLED}(?: [A-Z]\.)?(?: {_TITLED}){{1,2}}|(?:[A-Z]\. ){{1,2}}{_TITLED}"
_END = r"(?![\w.-]*\w)(?! [A-Z]|[ ]?[=(\[]|: )"
_COPIED = regex(r"(?m)(?:^|[(>,;.]|[-*])[ \t]{0,4}(?i:cc)(?::[ \t]{0,4}|[ ])")
_EACH, _AND = regex(rf"(?:{_PERSON}){_END}"), regex(", | and | & ")
_DONE_BY = regex(
    r"(?m)(?P<k>\b(?i:(?:pulled|reported|filed|drained|flagged|noticed|spotted|escalated|swapped|reseated|opened|closed"
    r"|approved|merged|written|authored|fixed|found|debugged) by|(?:assigned|reassigned|escalated|handed over|thanks"
    r"|kudos|credits?(?: goes)?) to|courtesy of|on behalf of):? (?:Dr\. )?)"
    rf"(?P<s>{_PERSON}){_END}"
)
# Without an address behind it, which the table of places knows.
_AUTHOR = regex(
    r"(?m)(?P<k>(?:^|[ \t])(?:Author|Committer|Maintainer|Credits?):[ ]{1,12}(?:Dr\. )?)"
    rf"(?P<s>{_PERSON})(?=[ \t\r]{{0,4}}(?:\n|\Z|,|\())"
)
_DID = (
    *("ed by ", "ed by: ", "written by", "assigned to", "escalated to", "handed over to", "thanks to", "kudos to"),
    *("credit to", "credits to", "goes to", "courtesy of", "on behalf of"),
)
_LINES_DONE = (*_DID, "found by")  # words of which each match of ``_DONE_BY`` holds one
_AUTHORS = ("author: ", "committer: ", "maintainer: ", "credit: ", "credits: ")
# Programs and parts of machines are written with capitals too.
_THING = regex(
    r"(?i)\b(?:release|notes|page|allocation|failure|manag\w+|agents?|daemons?|controllers?|servers?|schedulers?|kernel|drivers?|plugins?|device|devices|engines?|"
    r"fabric|memory|total|compute|capability|graphics|librar\w+|monitor\w*|services?|operators?|pods?|nodes?|clusters?|"
    r"containers?|docker|kubernetes|slurm|prometheus|grafana|health|checks?|errors?|faults?|power|thermal|link|network|"
    r"storage|hardware|software|firmware|bios|radeon|instinct|geforce|tesla|nsight|smi|data|center|exporter|red|hat|"
    r"debian|windows|intel|mellanox|supermicro|dell|flash|attention|trainer|deep|learning|tensor|core|windows|mode|"
    r"platform|infra\w*|ops|operations|engineering|research|labs?|department|cloud|systems?|users?|customers?|"
    r"remote|host|peer|session|virtual|function|pool|queue|zone|slot|stream|thread|compiler|clang|llvm|open|source|github|"
    r"hugging|pytorch|torch|triton|community|foundation|corporation|google|microsoft|oracle|canonical|laborator\w+|"
    r"national|university|institute|max|planck|advanced|micro|parallel\w*|precision|mixed|paged?|unified|"
    r"xorg|operations|cards?|bus|express|root|port|complex|interface|process\w*|watchdog|timeout|collective|rank|world)\b"
)


def mask_signed(text: str, low: str, named: Callable[[str], str]) -> str:
    """The text with such names replaced; ``low`` is the text in lower case."""
    if any(one in low for one in _GREETINGS):
        text = _SIGNED.sub(lambda found: _replaced(found["k"], found["s"], named), text)
    if "thank" in low or "best," in low:
        text = _THANKED.sub(lambda found: _replaced(found["k"], found["s"], named), text)
    if "cc" in low:
        text = _without_copied(text, named)
    if any(one in low for one in _DID):
        text = sub_lines(_DONE_BY, lambda found: found["k"] + _person(found["s"], named), text, _LINES_DONE)
    if any(one in low for one in _AUTHORS):
        text = sub_lines(_AUTHOR, lambda found: found["k"] + _person(found["s"], named), text, _AUTHORS)
    return text


def _without_copied(text: str, named: Callable[[str], str]) -> str:
    """Without the names in a list behind ``cc``."""
    parts, at = [], 0
    for found in _COPIED.finditer(text):
        joint: Match[str] | None = found
        while joint is not None and joint.end() >= at and (one := _EACH.match(text, joint.end())):
            parts += [text[at : one.start()], _person(one[0], named)]
            at = one.end()
            joint = _AND.match(text, at)
    return "".join(parts) + text[at:]


def _person(name: str, named: Callable[[str], str]) -> str:
    return name if _THING.search(name) else _replaced("", name, named)


def _replaced(before: str, name: str, named: Callable[[str], str]) -> str:
    return before + (name if _NOBODY.search(name) else named(name))
