"""Places of logs, prompts and settings that tell that a word names a person or a machine, beyond those of the table."""

from __future__ import annotations

import re

from rocdoctor.model.lazy_re import regex

_HOST = r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}"
_STAMP = r"^(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,6})?|\d{4}-\d\d-\d\d[T ][\d:.,+-]{8,24}Z?) "
# Logs have their level where the journal has the machine.
_LEVELS = "|".join(
    f"{word}|{word.upper()}"
    for word in ("trace", "debug", "info", "notice", "warn", "warning", "error", "err", "critical", "crit", "fatal")
)
LEVEL = regex(_LEVELS)
USER_PLACES = (
    (
        regex(r"(?P<k>(?<![A-Za-z0-9_])(?:USER|LOGNAME|USERNAME|SUDO_USER|LSFUSER)=[\"']?)(?P<s>[A-Za-z][\w.-]{0,40})"),
        "user",
    ),
    (regex(r"(?P<k>/run/media/|/media/)(?P<s>[a-z_][\w-]{0,40})(?=/)"), "/media/"),
    (
        regex(
            r"(?P<k>\bsession (?:opened|closed) for user |\bUSER=|\bfor user )"
            r"(?P<s>(?!(?:space|mode|code|data|input|level|land|in|on|to|of|and|with|is|or|name|id|convenience|"
            r"interaction|experience|programs?|applications?|processes|queues?|sessions?|accounts?|authentication|"
            r"management|agents?|requests?|memory|pages?|help|defined|space|buffers?|feedback|events?)\b)[a-z_][\w-]{0,40})"
        ),
        "ser",
    ),
)
SSID = regex(
    r"(?P<k>(?<![A-Za-z])e?ssid[\"']?[ \t]{0,4}[:=][ \t]{0,4})(?P<q>[\"']?)(?P<s>[^\n\"',;]{1,64})", re.IGNORECASE
)
USER_AT_HOST = regex(
    r"(?:(?<=[\s\[('\"=,])|^)(?P<u>[A-Za-z_][\w.-]{0,40})@(?P<h>[A-Za-z0-9][A-Za-z0-9.-]{0,80})"
    r"(?=:[~/]|[ \]]*[~/][^\n]{0,80}[$#%>]|\)|[$#]\s|[ ][^\s\]\[]{1,60}\][$#%])",
    re.MULTILINE,
)
SSH = regex(
    r"(?P<k>\b(?:ssh|scp|rsync|sftp|mosh)\b[^\n|;&]{0,120}?[ \t])"
    r"(?P<u>[A-Za-z_][\w.-]{0,40})@(?P<h>[A-Za-z0-9][\w.-]{0,80})"
)
# Words of such places that need not stand in the line of the name; the others are part of what is found.
BESIDE_HOSTS = frozenset(("nccl", "master"))
# A place that holds a host name: (words that must occur in lower case, pattern with the groups k and s).
HOST_PLACES = tuple(
    (word, regex(pattern, re.MULTILINE))
    for word, pattern in (
        ("hostname", rf"(?P<k>\b[Hh]ostname set to <?|[Hh]ostname:[ \t]{{0,8}}|\bHostName=)(?P<s>{_HOST})"),
        ("hostname", rf"(?P<k>name=\"HostName\" value=\"|\bNode[Hh]ost[Nn]ame=|\bHOSTNAME=[\"']?)(?P<s>{_HOST})"),
        ("linux ", r"(?P<k>(?:^|[:>] )Linux )(?P<s>(?!version\b)[A-Za-z0-9][\w.-]{0,80})(?= \d+\.\d+[^\n]{0,200}#\d)"),
        ("nccl", rf"(?P<k>(?<![\w.:/-]))(?P<s>{_HOST})(?=:\d{{1,8}}:\d{{1,8}} \[\d)"),
        ("_addr", rf"(?P<k>\bMASTER_ADDR=[\"']?)(?P<s>{_HOST})"),
        (
            "node",
            r"(?P<k>\bSLURM\w{0,8}_(?:JOB_)?NODE(?:LIST|NAME)=[\"']?|\bNode(?:Name|Addr)=)(?P<s>[A-Za-z][\w.-]{0,80})",
        ),
        ("master", rf"(?P<k>--(?:master[-_]addr|rdzv[-_]endpoint)[= ])(?P<s>{_HOST})"),
        ("endpoint", rf"(?P<k>--rdzv[-_]endpoint[= ])(?P<s>{_HOST})"),
        ("]:", rf"(?P<k>(?:connect(?:ed|ing)?|listen(?:ing)?|host|socket)[^\n\[]{{0,60}}\[)(?P<s>{_HOST})(?=\]:\d)"),
        (
            " kernel:",
            rf"(?P<k>{_STAMP})(?P<s>{_HOST})(?= kernel: )",
        ),
        ("ip-", r"(?P<k>)(?P<s>(?<![\w.-])ip(?:-\d{1,3}){4}(?:\.[a-z][a-z0-9-]{0,30}){0,4})(?![\w-])"),
        (
            ".cluster.local",
            r"(?P<k>)(?P<s>(?<![\w.-])[A-Za-z0-9][A-Za-z0-9-]{0,60}(?:\.[a-z0-9-]{1,60}){1,5}\.cluster\.local)\b(?![.(])",
        ),
        (
            ".internal",
            r"(?P<k>)(?P<s>(?<![\w.-])[A-Za-z0-9][A-Za-z0-9-]{0,60}(?:\.[a-z0-9-]{1,60}){1,5}\.internal)\b(?![.(])",
        ),
    )
)
SYSLOG_HOST = regex(
    rf"(?P<k>{_STAMP})(?P<s>(?!kernel:|(?:{_LEVELS})\b){_HOST})(?= [\w./@-]{{1,40}}(?:\(\w{{1,40}}\))?(?:\[\d+\])?: )",
    re.MULTILINE,
)
