"""What a passage of a text is about: the machine now, something that was tried, advice, or another machine.

Decided by the words of the sentence that a value stands in, or of the lines that lead to a block. Where the words do
not tell, a text speaks of the machine that it is about.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import Literal

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.alike_lines import alike
from rocdoctor.paste.clean_text import Clean
from rocdoctor.paste.past_cards import fate

Role = Literal["now", "tried", "advice", "other"]

_MACHINE = (
    r"(?:machines?|box(?:es)?|pcs?|computers?|laptops?|desktops?|workstations?|servers?|nodes?|systems?|"
    r"rigs?|setups?|hosts?)"
)
_OTHER = regex(
    rf"\b(?:other|another|different|second|colleague's|friend's|co-?worker's|someone'?s?) (?:\w+ ){{0,2}}{_MACHINE}\b"
    rf"|\b(?:old|older|previous|former|previously used) (?:\w+ ){{0,1}}(?:{_MACHINE}|cards?|gpus?)\b"
    rf"|\bon {_MACHINE} (?:where|that|with which)\b"
    r"|\b(?:a|my|the) (?:friend|colleague|co-?worker)\b|\b(?:another|other) (?:user|person|people|guy)"
    r"s?\b|\bsomeone else\b"
    r"|^\W{0,4}@[\w-]{1,40}\b[^.]{0,60}(?:wrote|said|says|reported|mentioned)|\b(?:wrote|said|schrieb|a écrit) ?:\s*$",
    re.IGNORECASE,
)
# What came here from another machine is here now.
_BROUGHT = regex(
    rf"\b(?:mov|copi|migrat|upgrad|switch|swapp?|transferr?|carri|reus|took|taken|brought|bring)\w* "
    rf"(?:[^.:;]{{0,60}} )?from (?:my |our |the |an? )?(?:\w+ ){{0,3}}(?:{_MACHINE}|cards?|gpus?)\b",
    re.IGNORECASE,
)
_COMPARED = regex(
    r"\b(?:compared? (?:to|with)|as opposed to|unlike|in contrast (?:to|with)|rather than|instead of|versus|vs\.?|than|"
    r"similar to|same as|fall(?:s|ing)?[ -]?backs? (?:to|on)|against|(?:choosing|choose|decide|deciding) between|"
    r"equivalent (?:to|of)|pretend\w* (?:to be|it is)|spoof\w*|as if|treated as|"
    r"(?:runs?|run|override\w*) (?:as|to|it to|with)|buy\w*|bought|e\.g\.|such as|officially support\w*|"
    r"support\w* (?:for|list|gpus?|cards?|targets?)|"
    r"supports|targets?|built for|compil\w+ for)"
    r"\s(?:\S+\s){0,6}$",
    re.IGNORECASE,
)
_WORKS_BEFORE = regex(
    r"(?<!not )(?<!n't )(?<!never )(?<!only )\b(?:works?|worked|working|(?:runs?|ran) (?:fine|well|ok|"
    r"okay|correctly|without)|goes well|is fine|was "
    r"fine|were fine|succeeds?|no (?:problems?|issues?|errors?))"
    r"\b[^.;]{0,40}\b(?:on|with|in|under|using|for)\s(?:\S+\s){0,4}$",
    re.IGNORECASE,
)
_WORKS_AFTER = regex(
    r"^[\s)\]\"',-]{0,4}(?:(?!not\b|never\b|hardly\b)\w+\s){0,2}(?:works?|worked|is fine|"
    r"was fine|ran fine|runs fine|was (?:ok|okay|"
    r"good|working)|had no (?:problem|issue)|did not have|doesn't have|goes well)\b",
    re.IGNORECASE,
)
_MINE = regex(
    r"\b(?:my|our)\s(?:own\s|new\s|single\s|only\s|AMD\s|NVIDIA\s)?$|\bI (?:have|own|use|am using|got)"
    r"\s(?:\S+\s){0,4}$",
    re.IGNORECASE,
)
_ADVICE = regex(
    r"\b(?:try|please|should (?:i|we|one|it)|would (?:it )?help|might help|may help|could help|you (?:can|"
    r"could|should|need|must|may|might|have to|want|would)"
    r"|have you|did you|could you|can you|do you|if you|suggest\w*|recommend\w*|advi[sc]e[sd]?|consider|"
    r"workarounds?|work-arounds?|solutions?|the fix"
    r"|to (?:fix|solve|work around)|fixe[sd] (?:it|this|by)|make sure|ensure that|it is possible to|one "
    r"can|people (?:say|set|use)|docs? (?:say|tell)s?"
    r"|(?:posts?|threads?|comments?|forums?|wikis?|blogs?|articles?|issues?|replies|answers?|people|users|everybody|"
    r"everyone|someone|somebody|reddit|google|chatgpt|others|guides?|tutorials?|readme|faq)(?: \w+){0,2} "
    r"(?:say|tell|mention|claim|propose|point|talk)(?:s|ing|ed)?|"
    r"(?:read|heard) (?:that|of|about)|"
    r"do i (?:need|have)|is it (?:ok|safe|possible)|for example|e\.g\.|such as|"
    r"expected behaviou?r|proposed|feature request|(?:set|export) (?:the following|these)|to find out more)\b",
    re.IGNORECASE,
)
_TRIED = regex(
    r"\b(?:i|we)(?:'ve| have| had)? (?:\w+ ){0,2}(?:tried|tested|attempted|experimented|played)\b|"
    r"\b(?:tried|trying|tested with|also with)\b"
    r"|\b(?:did|does|do|had|has|have|made|makes?|changes?|helps?|helped)(?:n't| not| nothing| no)\b|"
    r"\bnot help\w*|\bno (?:luck|effect|difference|change|success|avail|improvement)\b"
    r"|\bwith or without\b|\bwithout (?:success|luck|effect|setting|the variable)\b|\bto no avail\b|"
    r"\bsame (?:error|result|problem|issue)\b|\b(?:even|also) (?:with|when|after)\b",
    re.IGNORECASE,
)
_TRIED_AFTER = regex(
    r"\W{0,3}(?:(?:this|that|it|which|but|and)\s){0,3}(?:did|does|had|has|made)(?:n't| not| no)\b", re.IGNORECASE
)
_NEGATED = regex(
    r"\b(?:without|unset(?:ting)?|not set(?:ting)?|remov\w+|removing|disabl\w+|never set|take out|taking "
    r"out|no longer (?:set|use)|isn't set|is not set)\s(?:\S+\s){0,3}$",
    re.IGNORECASE,
)
_BEFORE = regex(
    r"\b(?:before|worked|working|good|healthy|previously|used to|old kernel|older|known.good|on success|"
    r"when it works|successful|expected (?:output|result)|after (?:the )?fix|fixed)\b",
    re.IGNORECASE,
)
_OTHER_HEADING = regex(
    r"\b(?:expected|work.?arounds?|solutions?|proposed|suggest\w*|fix|how to fix|alternatives?|additional ideas)\b",
    re.IGNORECASE,
)
# Whose card it is that a sentence names: that of the author of a program or a paper, or of a guide.
_OF_SOMEBODY = regex(
    r"\b(?:authors?|maintainers?|developers?|creators?|paper|readme|tutorial|blog(?: post)?|article|guide|repo|"
    r"repository)"
    r"(?: (?:says?|said|states?|claims?|writes?|wrote|mentions?|mentioned)(?: that)?(?: (?:he|she|they|it|we))?)?"
    r" (?:\w{1,12} )?(?:uses?|used|has|had|have|trained|tested|runs?|ran|recommends?|assumes?)"
    r"(?: (?!but\b|and\b|while\b|however\b|yet\b|my\b|our\b|i\b)[^\s.;,]{1,20}){0,6}\s\Z",
    re.IGNORECASE,
)
_OLD_CARD = regex(r"\b(?:old|older|previous|former)\s(?:\w+\s)?(?:cards?|gpus?)\b", re.IGNORECASE)
_WOULD = regex(
    r"\b(?:if you (?:have|use)|should (?:i|we) (?:buy|get|use)|i would like to buy|planning to|"
    r"(?:read|heard) (?:of|about))\b",
    re.IGNORECASE,
)
# "This card or that one for ...?" is asked before either is there.
_CHOICE = regex(r"\A\W{0,4}[^.?]{0,60}\bor (?:(?:an?|one|two|three|four|the) )?\S[^.?]{0,200}\bfor\b[^.?]{0,200}\?")
_OWNER = regex(r"\b(?:my|our|i have|i own|we have|i've|i use|i run|fails?|errors?|crash\w*|hangs?)\b", re.IGNORECASE)
_ROLE_OF_FATE: dict[str, Role] = {"former": "other", "wanted": "advice"}
# Sentences of a log differ in their numbers, which no expression here looks at: what was found of one holds for all.
_KEPT = 4096
_SENTENCE_END = regex(r"[.!?](?=\s)|;(?=\s)|\s[-–—]\s")


def _of_other(text: str) -> bool:
    return bool(_OTHER.search(_BROUGHT.sub("", text)))


def sentence_around(clean: Clean, line: int, start: int, end: int) -> tuple[str, str]:
    """(text before, text after) of the columns ``start`` to ``end`` of a line (index), within their sentence.

    A sentence of prose goes on over the ends of lines of its paragraph.
    """
    text = clean.lines[line]
    before, after = text[:start], text[end:]
    prose = not clean.blocks[line] and not text.startswith(("    ", "\t")) and ":" not in text[:24]
    for step in (1, 2) if prose else ():
        if line >= step and _goes_on(clean, line - step, line - step + 1) and not _SENTENCE_END.search(before + " "):
            before = clean.lines[line - step] + " " + before
        if (
            line + step < len(clean.lines)
            and _goes_on(clean, line + step - 1, line + step)
            and not _SENTENCE_END.search(after + " ")
        ):
            after = after + " " + clean.lines[line + step]
    cuts = [match.end() for match in _SENTENCE_END.finditer(before[-600:] + " ") if match.end() <= len(before[-600:])]
    before = before[-600:][cuts[-1] :] if cuts else before[-600:]
    stop = _SENTENCE_END.search(after[:600] + " ")
    return before, after[: stop.start() + 1] if stop else after[:600]


def _goes_on(clean: Clean, upper: int, lower: int) -> bool:
    """Whether two lines are of one paragraph."""
    one, two = clean.lines[upper], clean.lines[lower]
    return bool(
        one.strip()
        and two.strip()
        and clean.blocks[upper] == clean.blocks[lower] == 0
        and clean.quotes[upper] == clean.quotes[lower]
        and not two.startswith(("    ", "\t", "- ", "* ", "#", "$", "|"))
        and not one.startswith(("    ", "\t", "#", "$", "|"))
        and ":" not in two[:24]
        and len(one) > 45
    )


def role_of_name(before: str, after: str) -> Role:
    """The role of a card, or of a version of what is installed, by its sentence."""
    return _role_of_name(alike(before), alike(after))


@lru_cache(_KEPT)
def _role_of_name(before: str, after: str) -> Role:
    whole = before + " " + after
    if _OTHER.search(whole):
        return "other"
    if _MINE.search(before):
        return "now"
    if _OF_SOMEBODY.search(before):
        return "other"
    if _COMPARED.search(before) or _WORKS_BEFORE.search(before) or _WORKS_AFTER.search(after):
        return "other"
    if _WOULD.search(whole) or (_CHOICE.search(whole) and not _OWNER.search(whole)):
        return "advice"
    return "now"


def role_of_card(before: str, after: str) -> Role:
    """The role of a card by its sentence: one that was sold or replaced is not of this machine, what replaced it is."""
    return _role_of_card(alike(before), alike(after))


@lru_cache(_KEPT)
def _role_of_card(before: str, after: str) -> Role:
    what = fate(before, after)
    if what in ("new", "kept"):
        # "My old card" names the one before, no other machine.
        return "other" if _OTHER.search(_OLD_CARD.sub("", before + " " + after)) else "now"
    return _ROLE_OF_FATE[what] if what is not None else _role_of_name(before, after)


def role_of_setting(before: str, after: str) -> Role:
    """The role of a variable's value by its sentence."""
    return _role_of_setting(alike(before), alike(after))


@lru_cache(_KEPT)
def _role_of_setting(before: str, after: str) -> Role:
    whole = before + " " + after
    if _of_other(whole):
        return "other"
    if _TRIED.search(whole) or _NEGATED.search(before):
        return "tried"
    if _ADVICE.search(whole) or whole.rstrip().endswith("?"):
        return "advice"
    if _COMPARED.search(before) or _WORKS_BEFORE.search(before) or _WORKS_AFTER.search(after):
        return "other"
    return "now"


def introduction(clean: Clean, line: int) -> str:
    """The last sentence before the block or passage that begins at a line (index); "" where there is none."""
    if line not in clean.introductions:
        clean.introductions[line] = _introduction(clean, line)
    return clean.introductions[line]


def _introduction(clean: Clean, line: int) -> str:
    block = clean.blocks[line]
    at = (clean.starts.get(block, line) if block else line) - 1
    if not block and clean.lines[line].startswith("    "):  # an indented block: what leads to it stands at the margin
        low = max(-1, line - 80)
        while at > low and (
            not clean.lines[at].strip() or (clean.lines[at].startswith("    ") and not clean.blocks[at])
        ):
            at -= 1
    low = max(-1, at - 4)
    while at > low and not clean.lines[at].strip():
        at -= 1
    if at < 0 or clean.blocks[at]:
        return ""
    text = clean.lines[at]
    if at and _goes_on(clean, at - 1, at):
        text = clean.lines[at - 1] + " " + text
    return _last_sentence(text[-600:])


@lru_cache(_KEPT)
def _last_sentence(text: str) -> str:
    pieces = [piece for piece in _SENTENCE_END.split(text) if piece.strip()]
    return pieces[-1].strip() if pieces else ""


def heading(clean: Clean, line: int) -> str:
    """The nearest heading above a line (index), within 200 lines."""
    place = bisect_right(clean.headings, line) - 1
    if place < 0 or clean.headings[place] <= line - 200:
        return ""
    return clean.lines[clean.headings[place]].strip("#*_ ")


def role_of_block(clean: Clean, first: int, last: int, setting: bool) -> Role:
    """The role of the lines ``first`` to ``last`` (indices), by what leads to them and what follows."""
    of_lead = _role_of_lead(alike(introduction(clean, first)))
    if clean.quotes[first] or of_lead == "other":
        return "other"
    if first in clean.guides:
        return "advice"
    if not setting:
        return "now"
    if _OTHER_HEADING.search(heading(clean, first)):
        return "advice"
    tail = _following(clean, last)
    return "tried" if _TRIED_AFTER.match(tail) else of_lead


@lru_cache(_KEPT)
def _role_of_lead(lead: str) -> Role:
    """The role of the settings in a block by the sentence that leads to it."""
    if _of_other(lead):
        return "other"
    if _TRIED.search(lead):
        return "tried"
    return "advice" if _ADVICE.search(lead) else "now"


def _following(clean: Clean, last: int) -> str:
    for at in range(last + 1, min(last + 5, len(clean.lines))):
        if clean.lines[at].strip() and not (clean.blocks[at] and clean.blocks[at] == clean.blocks[last]):
            return clean.lines[at].strip()[:300]
    return ""


def shows_working(clean: Clean, first: int) -> bool:
    """Whether what leads to a block says that it shows the working state, of two outputs of one program."""
    return _is_working(alike(introduction(clean, first)))


@lru_cache(_KEPT)
def _is_working(lead: str) -> bool:
    return bool(_BEFORE.search(lead)) and not re.search(r"\b(?:not|n't|after the update|now)\b", lead, re.IGNORECASE)
