"""What a person says behind a message: that it is normal, over, repaired, or printed under some condition only."""

from __future__ import annotations

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.logs.literal_table import lowered

_SHRUGGED = regex(
    r"(?i)['\"`]{0,2},? (?:\w+ ){0,2}(?:is|are|was|were) (?:\w+ ){0,2}(?:normal|expected|harmless|ok|fine|"
    r"ignored|handled|caught|a known)\b"
)
# What pages and notes say of a message between quotation marks: that something prints it, or how it has changed.
_EXPLAINED = regex(
    r"(?i)[^\"\u201d`]{0,160}[\"\u201d`],? (?:(?:errors?|messages?|warnings?) )?(?:no longer \w+|"
    r"(?:is|are) now \w+ed\b|now (?:names?|prints?|says?|tells?|shows?|raises?|ends?)\b|"
    r"is (?:an? \w+(?:error|warning) now|now an? (?:error|warning))\b)|[^\"'\u201d`\n]{0,160}[\"'\u201d`]\)?,? "
    r"(?:(?:appears?|occurs?) (?:if|where)\b|is (?:logged|printed|shown|raised) (?:if|where|when(?! i\b| we\b))\b)|"
    r"(?!.{0,160}\b(?:not|n't|never)\b)[^\n.]{0,160}\buntil (?:i|we) "
    r"(?:(?:re)?installed|set|added|removed|unset|enabled)\b|"
    r"[^\n]{0,120}?\b(?:is|are) what you(?:'d| would) (?:see|get)\b|"
    r"[^\n]{0,120}?[.\"\u201d`]{0,2} (?:is|are) what (?:"
    r"(?:\w+ ){1,3}?(?:prints?|raises?|shows?|logs?|says?) (?:on an?|if|where|for|when(?! i\b| we\b))\b|"
    r"other \w+ (?:print|raise|show|log|say)s?\b)"
)
# Of these words each expression needs one: most messages have none of them behind them.
SHRUGGED_BY = ("normal", "expected", "harmless", "ok", "fine", "ignored", "handled", "caught", "a known")
EXPLAINED_BY = (*("now", "no longer ", "appear", "occur", "logged", "printed", "shown", "raised", "until ", " what "),)
OVER_BY = (
    *("gone", "away", "history", "disappear", " what ", "no longer ", " not ", " only "),
    *("expected ", "harmless", "ignored"),
)
# What notes of a release say of a message between quotation marks.
_SAID_REPAIRED = regex(
    r"(?i)[^\"\u201d`]{0,160}[\"\u201d`](?: (?:errors?|messages?|warnings?|failures?))?,? "
    r"(?:(?:is|was|are|were|has been|have been|now) ){0,2}(?:fixed|resolved)\b(?! (?:by|with|when|after|if|once|using))"
)
# What a person says of a message that is over, or that has its conditions, without any quotation mark needed.
_SAID_OVER = regex(
    r"(?i)[^\"\u201d`\n]{0,160}[\"\u201d`](?: (?:errors?|messages?|lines?|warnings?))?,? (?:(?:is|are|was|has|have) )?"
    r"(?:now )?(?:gone|away|history|went away|disappeared)\b"
    r"|[^\n]{0,60}?\b(?:disappear\b|is what an? \w+(?: for it)? ends (?:with|in)\b)"
    r"|[^\n]{0,120}?\b(?:no longer (?:sees?(?! (?:\w+ ){0,3}(?:gpus?|cards?|devices?|radeon|geforce|[rg]tx|rx|"
    r"nvidia|amd|cuda)\b)|gets?|occurs?|appears?|happens?|shows? up)|"
    r"(?:does|do) not (?:occur|appear|happen|show up) any ?more)\b"
    r"|[^\"\u201d`\n]{0,160}[\"\u201d`] (?:\w+ ){0,5}(?:is|are|was|were) (?:\w+ ){0,2}"
    r"(?:expected and|expected here|harmless|ignored)\b|[^\n]{0,60}?\.? only (?:where|if|when (?!i\b|we\b))"
)
# The same in Chinese, before and behind the message.
_OVER_IN_CHINESE = regex(
    r"(?:\u6ca1\u6709\u518d|\u6ca1\u518d|\u4e0d\u518d|\u4e0d\u4f1a\u518d|\u518d\u4e5f\u6ca1|\u6587\u6863[\u91cc\u4e2d]|\u6559\u7a0b[\u91cc\u4e2d]|\u5982\u679c)"
    r"[^\u3002\uff01\uff1f\n]{0,20}\Z"
)
_OVER_BEHIND_IN_CHINESE = regex(
    r"[^\u3002\uff01\uff1f\n]{0,24}?(?:\u5df2\u7ecf?\u89e3\u51b3|\u89e3\u51b3\u4e86|\u6d88\u5931|\u6ca1\u4e86|\u4e0d\u518d|\u662f\u4ec0\u4e48\u610f\u601d|\u662f\u5565\u610f\u601d)"
)


def said_to_be_no_fault(before: str, after: str) -> bool:
    """Whether the words around a message, behind it for the most part, say that it is none of here and now."""
    low = lowered(after)
    if any(word in low for word in SHRUGGED_BY) and _SHRUGGED.match(after):
        return True
    if any(word in low for word in EXPLAINED_BY) and _EXPLAINED.match(after):
        return True
    if _said_over(before, after, low):
        return True
    return '"' in before and bool(_SAID_REPAIRED.match(after))


def _said_over(before: str, after: str, low: str) -> bool:
    """Whether the words behind a literal, or those around it in Chinese, say that it is over or has its conditions."""
    if any(word in low for word in OVER_BY) and _SAID_OVER.match(after):
        return True
    if before.isascii() and after.isascii():
        return False
    return bool(_OVER_IN_CHINESE.search(before) or _OVER_BEHIND_IN_CHINESE.match(after))
