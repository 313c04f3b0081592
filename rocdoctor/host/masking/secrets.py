"""Secrets in text by their form: known formats, userinfo in URLs, and the values beside names that say "secret".

Pure: text in, text out; every replacement is reported to ``note(class, value)``. Linear time: each regular expression
is bounded and each candidate is looked at once. No replacement reaches over a line end, so that lines can be masked
one by one; what does is in ``masking_blocks``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from rocdoctor.host.masking.commands import mask_commands
from rocdoctor.host.masking.rules import USERINFO_TOKEN, VALUE_TOKEN, MaskingTables, SecretRule, sub_begun, sub_lines
from rocdoctor.host.masking.telling import looks_random, placeholder
from rocdoctor.host.masking.values import mask_named_values
from rocdoctor.model.lazy_re import regex

Note = Callable[[str, str], None]

# Authority with userinfo; the second form has a slash in the password, which is not legal but happens.
_USERINFO = regex(r"://(?P<s>[^\s\"'<>/?#@]{1,300}(?:@[^\s\"'<>/?#@]{1,300}){0,4})@(?=[A-Za-z0-9\[_<$])")
_USERINFO_SLASH = regex(
    r"://(?P<s>[^\s\"'<>/?#@:]{0,100}:(?!\d{1,5}/)[^\s\"'<>]{1,300})@(?=[A-Za-z0-9][\w.-]{0,200}(?:[:/\s\"'>]|$))"
)
_HARMLESS_USERINFO = {"git", "hg", "svn", "anonymous", USERINFO_TOKEN}
_XML = regex(
    r"<(?P<k>[\w:.-]{0,40}(?:password|passwd|passphrase|secret|token|apikey|api_key|credential)[\w:.-]{0,20})"
    r"(?:[ \t][^<>\n]{0,200})?>(?:<!\[CDATA\[)?(?P<s>[^<\n]{1,4000}?)(?:\]\]>)?</",
    re.IGNORECASE,
)
_XML_KEY = regex(
    r"<[\w:.-]{1,60}[ \t][^<>\n]{0,80}?\b(?:key|name|id|property)=\"[\w.-]{0,60}(?:password|passwd|"
    r"passphrase|secret|api_?key|credential)"
    r"[\w.-]{0,10}\"[^<>\n]{0,80}>(?:<(?:value|string)>)?(?:<!\[CDATA\[)?(?P<s>[^<\n]{1,4000}?)(?:\]\]>)?</",
    re.IGNORECASE,
)

# Eight groups of six digits open a disk that BitLocker locked.
_GROUPS = regex(r"-\d{6}-\d{6}-")
_RECOVERY = regex(r"(?<![\d-])(?P<s>\d{6}(?:-\d{6}){7})(?![\d-])")

_CLOSING = "\"'`,;.)]}>"
# A quoted word directly behind what was replaced belongs to it.
_BEHIND = regex(r"(?P<k>masked-[a-z-]{1,40}[\"']?)(?P<q>[\"'`])[^\s\"'`,;)\]}:>/|&<\\=.+][^\"'`\n]{0,400}(?P=q)")


def mask_secrets(text: str, tables: MaskingTables, note: Note, present: Collection[str] | None = None) -> str:
    """The text without secrets: known formats, URL userinfo, values of secret-like names."""
    for rule in tables.rules_for(text, span=False, present=present):
        text = apply_rule(rule, text, tables.inert, note)
    if _GROUPS.search(text):
        text = _replace(_RECOVERY, text, "recovery-key", "masked-recovery-key", tables.inert, note)
    if "://" in text and "@" in text:
        for pattern in (_USERINFO, _USERINFO_SLASH):
            text = _replace(pattern, text, "url-userinfo", USERINFO_TOKEN, tables.inert | _HARMLESS_USERINFO, note)
    if "</" in text:
        text = _replace(_XML, text, "secret-value", VALUE_TOKEN, tables.inert, note)
        if "=" in text:
            text = _replace(_XML_KEY, text, "secret-value", VALUE_TOKEN, tables.inert, note)
    text = mask_commands(text, tables, note, present)
    text = mask_named_values(text, tables, note)
    return sub_lines(_BEHIND, lambda match: match["k"], text, ("masked-",)) if "masked-" in text else text


def apply_rule(rule: SecretRule, text: str, inert: Collection[str], note: Note) -> str:
    """The text with what one rule finds replaced."""
    lines = () if rule.span else rule.literals
    return _replace(rule.pattern, text, rule.id, rule.token, inert, note, rule.random, lines, rule.begins)


def _replace(
    pattern: re.Pattern[str],
    text: str,
    cls: str,
    token: str,
    inert: Collection[str],
    note: Note,
    random: bool = False,
    lines: Sequence[str] = (),
    begins: Sequence[str] = (),
) -> str:  # ``lines``: it can only stand in lines that hold one of these; ``begins``: each match begins with one
    group: str | int = "s" if "s" in pattern.groupindex else 0
    # Some alternatives of a rule have no group of their own: then the whole match is the secret.

    def one(match: re.Match[str]) -> str:
        value: str | None = match.group(group)
        at: str | int = group
        if value is None:
            value, at = match.group(), 0
        if value in inert or value.split(":", 1)[0] in inert or (cls == "secret-value" and placeholder(value)):
            return match.group()
        if value.split(" ", 1)[0] in inert or value.partition("@")[0] in inert or (random and not looks_random(value)):
            return match.group()
        if value.startswith("masked-") and value.rstrip(_CLOSING) in inert:
            return match.group()
        if cls != "secret-value" and at and placeholder(value) and not (value.isdigit() and len(value) > 3):
            return match.group()
        note(cls, value)
        start, end = match.start(at) - match.start(), match.end(at) - match.start()
        return match.group()[:start] + token + match.group()[end:]

    if begins:
        return sub_begun(pattern, one, text, begins)
    return sub_lines(pattern, one, text, lines) if lines and len(text) > 200 else pattern.sub(one, text)
