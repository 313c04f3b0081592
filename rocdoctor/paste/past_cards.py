"""Cards that somebody had before, by the words beside their names: "upgraded from X to Y", "sold my X", "my old X".

``fate`` tells "former" for what is no longer in the machine, "new" for what came in its place, "wanted" for what may
come, "kept" for what stays although a change is spoken of, and None where the words tell of no change.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.alike_lines import alike

Fate = Literal["former", "new", "wanted", "kept"]

_FLAGS = re.IGNORECASE
# Verbs of a change. Of what is copied or moved between two cards both are there.
_CHANGE = (
    r"(?:upgrad|downgrad|replac|swapp?|exchang|trad)(?:e[ds]?|ing|ed)?(?: (?:out|up|in|over|"
    r"the (?:card|gpu)|my (?:card|gpu)|cards|gpus))?"
)
_MOVE = (
    r"(?:chang(?:e[ds]?|ing)|switch(?:e[ds]|ed|ing)?|mov(?:e[ds]?|ing)|went|going|go|migrat(?:e[ds]?|"
    r"ing)|com(?:e|ing)|came|jump(?:ed|ing)?|transition(?:ed|ing)?)"
)
_DETERMINER = (
    r"(?:(?:an?|my|our|the|this|that|one|two|his|her|their|old|older|previous|former|trusty|aging|"
    r"ageing|dying|dead|broken|used|single|AMD|NVIDIA|Radeon|GPU|card|from|of)\s){0,4}\(?"
)
_PLANNED = regex(
    r"\b(?:plan(?:s|ning|ned)? (?:to|on)|wants? to|would like to|i'd like to|going to|gonna|will|"
    r"would|should|consider\w*|"
    r"think\w* (?:of|about)|might|may|could|can i|if (?:i|we|you)|before (?:i|we)|worth|whether to|"
    r"instead of|rather than|"
    r"do i (?:need|have) to|hop(?:e|ing) to|have to|need to)\s(?:\S+\s){0,4}?"
    rf"(?:{_CHANGE}|{_MOVE}|buy\w*|sell\w*)\b",
    _FLAGS,
)
_WANTED = regex(
    rf"\b(?:{_CHANGE}|{_MOVE})\b[^.;]{{0,100}}?\s(?:to|with|for|by)\s(?:\S+\s){{0,3}}\Z|\bbuy(?:ing)?\s(?:\S+\s){{0,3}}\Z",
    _FLAGS,
)
_MINE = regex(r"\b(?:my|our|this|these|the)\s(?:\w+\s)?\Z", _FLAGS)
# "from X to": a change of the machine, where nothing but the choice of a device is meant.
_UPGRADED_FROM = regex(rf"\b(?:up|down)grad(?:e|ed|ing)\s(?:\S+\s){{0,4}}?from\s{_DETERMINER}\Z", _FLAGS)
_FROM = regex(rf"\b(?:{_CHANGE}|{_MOVE})\s(?:\S+\s){{0,4}}?from\s{_DETERMINER}\Z", _FLAGS)
_UPGRADE_FROM = regex(
    rf"\b(?:gpu|card|graphics card|hardware)? ?(?:upgrade|swap|change|"
    rf"switch)\b[^.;]{{0,30}}[ :(]\s?(?:from )?{_DETERMINER}\Z",
    _FLAGS,
)
_A_CARD = (
    r"(?:(?:an?|my|our|the|this|one|two|new|brand|brand-new|used|shiny|single)\s){0,4}"
    r"(?:AMD|NVIDIA|Intel|Radeon|GeForce|RX|RTX|GTX|Instinct|Tesla|Arc|Vega|MI-?\d|[AHLBV]\d{2,3}\b|"
    r"\d{4} ?(?:XTX?|Ti|GRE|SUPER)?\b)"
)
# "X to Y", where Y is a card: not a version, a setting or the processor.
_TO_AFTER = regex(rf"[^.;]{{0,40}}?(?:[\s)](?:to|with|for|by)\s|\s?(?:-{{1,2}}>|=>|→|➜)\s?){_A_CARD}", _FLAGS)
_ARROW_AFTER = regex(r"\s?(?:\(\S{1,30}\) ?)?(?:-{1,2}>|=>|→|➜)\s?\w", _FLAGS)
_GONE = regex(
    rf"\b(?:replac(?:ed|ing)|sold(?: off)?|got rid of|gave away|given away|ditched|retired|traded(?: in)?|exchanged|"
    rf"rma'?d|sent back|(?:i|we)(?:'ve| have)? returned|threw (?:away|out)|scrapped)\s{_DETERMINER}\Z",
    _FLAGS,
)
_SWAPPED = regex(rf"\b(?:swapp?(?:ed|ing)(?: out)?|changed|switched out|upgraded)\s{_DETERMINER}\Z", _FLAGS)
_WAS_REPLACED = regex(
    r"[\s,)]{0,3}(?:\S+\s){0,2}?(?:was|were|got|has been|have been|had been|is|died and was|(?:has |"
    r"had )?died,? so)\s(?:\w+\s){0,2}?"
    r"(?:replaced|swapped|sold|traded|exchanged|retired|rma'?d|returned|upgraded to|sent back|scrapped)\b",
    _FLAGS,
)
_IN_ITS_PLACE = regex(
    rf"\b(?:{_CHANGE}|{_MOVE}|sold|got rid of|ditched|retired|returned)\b[^.;]{{0,100}}?"
    rf"(?:\s(?:to|with|for|by|and (?:bought|got|installed|put in))\s|\s?(?:-{{1,2}}>|=>|→|➜)\s?){_DETERMINER}"
    r"(?:(?:brand )?new\s|shiny\s|second-?hand\s){0,2}(?:\w+,?\s)?\Z",
    _FLAGS,
)
_NEW = regex(
    r"\b(?:brand[ -])?new(?:er)?(?:\s(?:one|card|gpu|graphics card|video card))?(?:\s?(?:is|was|:|=|-|"
    r"\())?\s?(?:an?\s|the\s|my\s)?"
    r"(?:AMD\s|NVIDIA\s|Radeon\s)?\Z",
    _FLAGS,
)
_HAD = regex(
    r"\b(?:(?:i |we )?used to (?:have|own|use|run)|(?:i|we) (?:previously|formerly) (?:had|owned|used|ran)|"
    r"(?:previously|formerly|earlier),? (?:i|we) (?:had|owned|used|ran)|"
    r"previous(?:ly)?(?: card| gpu)?(?: (?:had|with|on|was|is|using))?:?|formerly|before (?:that|this|"
    r"it),?(?: (?:i|we) (?:had|used|ran)| it was)?|"
    r"(?:old|former|prior|last|previous)(?:\s(?:card|gpu|graphics card|one))(?: (?:was|is|were)|:|,|"
    r" \()?|back (?:when|then) (?:i|we) had)"
    r"\s?(?:an?\s|the\s|my\s)?(?:AMD\s|NVIDIA\s|Radeon\s)?\Z",
    _FLAGS,
)
_OLD = regex(r"\b(?:my|our|the)\s(?:old|previous|former|prior)\s(?:AMD\s|NVIDIA\s|Radeon\s)?\Z", _FLAGS)
# What belongs to a card may be exchanged without it, and cards may change their places.
_PART_OF_IT = regex(
    r"(?:'s?)?\s?(?:'s |card'?s? |gpu'?s? )?(?:fans?|coolers?|heat ?sink|thermal|paste|pads?|risers?|"
    r"cables?|bios|vbios|"
    r"drivers?|firmware|backplate|shroud|power|slots?|bracket|box|machine|rig|server|node|pc|laptop|instance)\b|'s\b",
    _FLAGS,
)
_PLACES = regex(
    r"\b(?:slots?|places?|positions?|order|around|cables?|ports?|(?:HIP|ROCR|CUDA)_VISIBLE_DEVICES|both|drivers?)\b",
    _FLAGS,
)


def fate(before: str, after: str) -> Fate | None:
    """What happened to the card whose name stands between two parts of its sentence."""
    before, after = before[-400:], after[:300]
    if _PLANNED.search(before):
        if _WANTED.search(before) and not _MINE.search(before):
            return "kept" if _FROM.search(before) else "wanted"
        return "kept" if _FROM.search(before) or _SWAPPED.search(before) or _GONE.search(before) else None
    if _PLACES.search(before) or _PLACES.search(after[:80]):
        return None
    if _PART_OF_IT.match(after):
        return None
    if _UPGRADED_FROM.search(before) or _GONE.search(before):
        return "former"
    if (_FROM.search(before) or _SWAPPED.search(before)) and _TO_AFTER.match(after):
        return "former"
    if _UPGRADE_FROM.search(before) and _ARROW_AFTER.match(after):
        return "former"
    if _WAS_REPLACED.match(after) or _HAD.search(before):
        return "former"
    if _IN_ITS_PLACE.search(before) or _NEW.search(before):
        return "new"
    return None


def fate_or_age(before: str, after: str) -> str | None:
    """The fate, or "old" for "my old X": the card before where the text shows a newer one, else just an aged one."""
    before, after = alike(before), alike(after)
    return _kept_fate(before, after) or ("old" if _OLD.search(before[-60:]) else None)


# Sentences of a log differ in their numbers, which no expression here looks at.
_kept_fate = lru_cache(4096)(fate)
