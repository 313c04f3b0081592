"""Names that the line above tells of: what ``whoami`` and ``hostname`` answered, settings of git, status of a user.

Pure: text in, text out; ``user`` and ``host`` give what a name becomes. These names are beyond doubt.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rocdoctor.host.masking.rules import line_spans, sub_at
from rocdoctor.model.lazy_re import regex

Replace = Callable[[str], str]

_NAME = r"[A-Za-z_][\w.-]{0,60}"
# A command at a prompt, as the first line, or in the trace of a shell ("+ whoami"), and the one word below it.
_AT = r"(?:^(?:[^\n]{0,80}?[$#%>\u276f\u279c][ \t]{1,4}|[+]{1,3} )|\A[ \t]{0,8})"
# Words of which the text must hold one, words of which the line must that a match begins with (in lower case; none:
# it may begin anywhere), the expression.
_ANSWERED = tuple(
    (kind, words, first, regex(pattern, re.MULTILINE))
    for kind, words, first, pattern in (
        (
            "user",
            ("whoami", "id -un", "id -nu", "logname"),
            ("whoami", "id -un", "id -nu", "logname"),
            rf"(?P<k>{_AT}(?:whoami|id -un|id -nu|logname|(?:hf auth|huggingface-cli) whoami)[ \t\r]{{0,4}}\n)"
            rf"(?P<s>{_NAME})(?=[ \t\r]{{0,4}}$)",
        ),
        (
            "host",
            ("hostname", "uname -n"),
            ("hostname", "uname -n"),
            rf"(?P<k>{_AT}(?:hostname(?: -[sfA])?|uname -n|hostnamectl hostname)[ \t\r]{{0,4}}\n)"
            rf"(?P<s>{_NAME})(?=[ \t\r]{{0,4}}$)",
        ),
        # a .netrc, whose entries may be broken over lines
        (
            "found",
            ("machine ",),
            ("machine",),
            rf"(?P<k>^machine[ \t]{{1,8}})(?P<s>{_NAME})(?=[ \t\r\n]{{1,20}}(?:login|password|account)[ \t])",
        ),
        (
            "user",
            ("machine ", "default "),
            ("machine", "default"),
            rf"(?P<k>^(?:machine[ \t]{{1,8}}[^\s]{{1,200}}|default)[ \t\r\n]{{1,20}}login[ \t]{{1,8}})(?P<s>{_NAME})"
            rf"(?=[ \t\r\n]{{1,20}}(?:password|account)[ \t])",
        ),
        ("user", ("user: ",), ("user: ",), rf"(?P<k>^user: {{1,4}})(?P<s>{_NAME})(?=\norgs:)"),
        ("user", ("Since: ",), (), rf"(?P<k>^)(?P<s>{_NAME})(?= \(\d{{1,10}}\)\n {{4,20}}Since: )"),
        # what `docker info` says of the machine (docs.docker.com/reference/cli/docker/system/info)
        (
            "found",
            ("Docker Root Dir",),
            ("name: ",),
            rf"(?P<k>^ {{0,4}}Name: )(?P<s>(?!docker-desktop\b|default\b){_NAME})(?=[ \t\r]{{0,4}}\n {{0,4}}ID: )",
        ),
        # addresses of a Kubernetes node (kubernetes.io/docs/reference/node/node-status)
        (
            "found",
            ("Hostname", "InternalDNS", "ExternalDNS"),
            ("address",),
            rf"(?P<k>^[ \t]{{0,40}}(?:- )?\"?address\"?: \"?)(?P<s>{_NAME})"
            r"(?=\"?,?[ \t\r]{0,4}\n[ \t]{1,40}\"?type\"?: \"?(?:Hostname|InternalDNS|ExternalDNS)\b)",
        ),
        (
            "person",
            ("[user]",),
            ("[user]",),
            r"(?P<k>^\[user\][ \t\r]{0,4}\n(?:[ \t]{0,8}(?!name\b)\w{1,20}[ \t]{0,4}=[^\n]{0,200}\n){0,4}"
            r"[ \t]{0,8}name[ \t]{0,4}=[ \t]{0,4}\"?)(?P<s>[^\s\"\n][^\"\n]{0,80}?)(?=\"?[ \t\r]{0,4}$)",
        ),
    )
)


def mask_shown(text: str, user: Replace, host: Replace, person: Replace, found: Replace) -> str:
    """The text with the names replaced that stand below what asked for them; lines stay at their places.

    ``found``: what a host becomes that may be one that everybody knows.
    """
    replaced = {"user": user, "host": host, "person": person, "found": found}
    for kind, words, first, pattern in _ANSWERED:
        if any(word in text for word in words):
            text = _substituted(pattern, replaced[kind], text, first)
    return text


def _substituted(pattern: re.Pattern[str], replace: Replace, text: str, first: tuple[str, ...]) -> str:
    def told(match: re.Match[str]) -> str:
        return match["k"] + replace(match["s"])

    if not first:
        return pattern.sub(told, text)
    return sub_at(pattern, told, text, (start for start, _ in line_spans(text, first)))
